"""Whatever moment a run is killed at, no stored round is lost, and the end is the same."""

import random
from pathlib import Path

import pytest
from killed import killed
from studies import FLU, assert_same

from scenarios import load, run
from scenarios.study.study import Study


def stored(path: Path) -> set[str]:
    return {f"{one.trial}/{one.agent}/{one.round}" for one in Study(path).rounds()}


@pytest.mark.slow
@pytest.mark.parametrize(("least", "studies"), [(4, 1), (50, 2)])
def test_kills_lose_no_round_and_change_nothing(least, studies, tmp_path):
    """Killed again and again: while it starts or learns, or some moments after it told of a round."""
    (tmp_path / "flu-small.toml").write_text(FLU)
    scenario = load(tmp_path / "flu-small.toml")
    undisturbed = run(scenario, out=tmp_path / "undisturbed.sqlite")
    moments, kills, ended = random.Random(7), 0, 0
    while kills < least or ended < studies:
        out, known, done, patience = tmp_path / f"{ended}.sqlite", set(), False, 1.0
        while not done:
            lived, told = killed(scenario, out, moments.uniform(0, patience))
            if not told - known:  # a busy machine needs longer to begin
                patience *= 1.5
            done, kills = not lived, kills + lived
            known |= told
            if known:
                assert known <= stored(out)
        assert_same(Study(out), undisturbed)
        ended += 1
    assert not list(tmp_path.glob("*-wal"))
