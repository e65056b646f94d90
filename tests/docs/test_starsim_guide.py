"""The Starsim guide runs where Starsim is installed, and its epidemic behaves like one."""

import re
from pathlib import Path

import pytest

pytest.importorskip("starsim")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "bridges" / "starsim.md"


def test_the_guide_runs_and_vaccination_prevents_illness():
    namespace = {"__name__": "guide"}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        exec(compile(block, PAGE.name, "exec"), namespace)
    season = namespace["season"]
    none, all_older = season([0, 0, 0], 1), season([0, 0, 0.9], 1)
    assert none == season([0, 0, 0], 1)
    assert all_older[2] < 0.5 * none[2]
