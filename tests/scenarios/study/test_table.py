import datetime
import math

import pytest

from scenarios.declaration.schema import plain_options


def test_options_that_a_study_can_store_stay_as_they_are():
    options = {"policy": {"x": [0, 1.5]}, "f": "a.py:f", "whole": ["x"], "on": True}
    assert plain_options(options) is options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups": ["a"], "policy": {"x": [0, math.nan]}}, "finite numbers.*; policy.x\\[1\\] is nan$"),
        ({"budget": math.inf}, "; budget is inf$"),
        ({"table": [{"day": datetime.date(2026, 1, 2)}]}, "; table\\[0\\].day is 2026-01-02$"),
    ],
)
def test_what_a_study_cannot_store_is_named_by_its_key(options, words):
    with pytest.raises(ValueError, match=words):
        plain_options(options)
