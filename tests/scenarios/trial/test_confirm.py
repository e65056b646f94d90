"""`confirm` in a scenario: the last rounds repeat what leads, however the run was cut or spread."""

import shutil
from collections import Counter

import pytest
from studies import assert_same

from scenarios import UserError, load, run
from scenarios.study.records import Advice
from scenarios.study.study import Study

TEXT = """
name = "confirmed"
rounds = {rounds}
trials = 2
confirm = {confirm}
{more}
agents = ["d-gpucb", "gp-ucb", "random"]
[environment]
name = "{environment}"
[environment.options]
{options}
[prior]
{prior}
"""


def scenario(
    folder,
    rounds=16,
    confirm=8,
    more="",
    environment="synthetic",
    options="points = 60\nnoise_variance = 0.05",
    prior="",
):
    path = folder / f"s-{rounds}-{confirm}.toml"
    prior = prior or 'source = "environment"'
    path.write_text(
        TEXT.format(
            rounds=rounds, confirm=confirm, more=more, environment=environment, options=options, prior=prior
        )
    )
    return load(path)


def test_the_last_rounds_repeat_four_leaders_and_recommend_one_of_them(tmp_path):
    study = run(scenario(tmp_path), out=tmp_path / "a.sqlite")
    frame = study.to_dataframe()
    for (trial, agent), rounds in frame.groupby(["trial", "agent"]):
        last = [tuple(row) for row in rounds.filter(like="x_").to_numpy()[8:]]
        counts = Counter(last)
        assert sorted(counts.values()) == [1, 1, 3, 3], (trial, agent)
        (advice,) = [one for one in study.recommendations() if (one.trial, one.agent) == (trial, agent)]
        assert counts[tuple(advice.policy)] == 3 and advice.tried >= 3


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", "batch = 4"])
def test_a_run_that_was_cut_or_spread_ends_the_same(tmp_path, more):
    declared = scenario(tmp_path, more=more)
    whole = run(declared, out=tmp_path / "whole.sqlite")
    spread = run(declared, out=tmp_path / "spread.sqlite", jobs=2)
    assert_same(spread, whole)
    for cut in (5, 10, 13):
        shorter = shutil.copy(whole.path, tmp_path / f"cut-{cut}.sqlite")
        forget(shorter, cut)
        assert_same(run(declared, out=shorter, resume=True), whole)


def forget(path, cut):
    """As if the run had been stopped after some rounds of every trial."""
    import sqlite3

    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM rounds WHERE round > ?", (cut,))
        connection.execute("DELETE FROM recommendations")
    connection.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confirm": 16}, "confirm = 16; accepted: at most 15"),
        ({"confirm": 13, "more": "batch = 4"}, "confirm = 13; accepted: at most 12"),
        (
            {"environment": "weather-live", "options": "", "prior": "samples = 20"},
            "confirm: accepted only without memory",
        ),
    ],
)
def test_what_cannot_be_confirmed_is_refused(tmp_path, change, message):
    with pytest.raises(UserError, match=message):
        run(scenario(tmp_path, **change), out=tmp_path / "no.sqlite")


def test_a_study_from_before_says_nothing_of_how_often_a_policy_was_tried(tmp_path):
    study = run(scenario(tmp_path, confirm=0), out=tmp_path / "a.sqlite")
    one = study.recommendations()[0]
    columns = list(one.columns())
    columns[3] = columns[3].replace(f',"tried":{one.tried}', "")
    assert Advice.stored(columns).tried is None and Advice.stored(one.columns()).tried == one.tried
    assert isinstance(Study(tmp_path / "a.sqlite").recommendations()[0].tried, int)
