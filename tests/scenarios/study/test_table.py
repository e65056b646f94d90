import datetime
import math

import pytest

from scenarios.declaration.table import NotStorable, plain_options


def test_options_that_a_study_can_store_stay_as_they_are():
    options = {"policy": {"x": [0, 1.5]}, "f": "a.py:f", "whole": ["x"], "on": True}
    assert plain_options(options) is options


@pytest.mark.parametrize(
    ("options", "key", "value"),
    [
        ({"groups": ["a"], "policy": {"x": [0, math.inf]}}, "policy.x[1]", math.inf),
        ({"budget": -math.inf}, "budget", -math.inf),
        ({"table": [{"day": datetime.date(2026, 1, 2)}]}, "table[0].day", datetime.date(2026, 1, 2)),
    ],
)
def test_what_a_study_cannot_store_is_named_by_its_key(options, key, value):
    with pytest.raises(NotStorable, match="text, a finite number, true, false") as refusal:
        plain_options(options)
    assert (refusal.value.key, refusal.value.value) == (key, value)
