"""Studies of one scenario that were run apart join to the study that was run as one."""

import sqlite3

import pytest
from studies import assert_same, results

from scenarios import UserError, load, run
from scenarios.study.checksums import seal_all
from scenarios.study.merging import merge
from scenarios.study.study import Study


@pytest.fixture
def whole(scenario_file, tmp_path):
    return run(load(scenario_file(trials=3)), out=tmp_path / "whole.sqlite")


def test_shares_join_to_the_whole(scenario_file, policyloop, whole, tmp_path):
    path, parts = scenario_file(trials=3), [tmp_path / "1.sqlite", tmp_path / "2.sqlite"]
    for k, part in enumerate(parts, start=1):
        assert policyloop("run", path, "--share", f"{k}/2", "--out", part, "--quiet")[0] == 0
    assert {one.trial for one in Study(parts[0]).rounds()} == {1, 3}
    out = tmp_path / "s.sqlite"
    code, text, _ = policyloop("merge", *parts, "--out", out)
    assert code == 0 and text.strip() == str(out)
    assert_same(Study(out), whole)
    assert len(Study(out).runs) == 2
    assert policyloop("resume", out, "--quiet")[0] == 0  # nothing is left to do
    assert_same(Study(out), whole)
    assert not [one for one in tmp_path.iterdir() if "partial" in one.name or "lock" in one.name]


def test_agents_rounds_and_overlaps_join_too(scenario_file, whole, tmp_path):
    path = scenario_file(trials=3)
    one = run(load(path, {"agents": ["uniform", "gp-ucb"], "rounds": 3}), out=tmp_path / "1.sqlite")
    two = run(load(path, {"agents": ["gp-ucb", "d-gpucb"], "trials": 2}), out=tmp_path / "2.sqlite")
    joined = merge([one.path, two.path], tmp_path / "s.sqlite")
    assert (joined.scenario.rounds, joined.scenario.trials) == (4, 3)
    assert len(joined.rounds()) == len({(r.trial, r.agent, r.round) for r in joined.rounds()})
    ended = run(load(path), out=joined.path, resume=True)
    assert sorted(map(str, results(ended)[1])) == sorted(map(str, results(whole)[1]))


def test_what_does_not_belong_together_is_refused(scenario_file, policyloop, whole, tmp_path):
    out, path = tmp_path / "s.sqlite", scenario_file(trials=3)
    other = run(load(path, {"seed": 4}), out=tmp_path / "other.sqlite")
    with pytest.raises(UserError, match="another scenario than the first study: seed: 3 stored, 4 now"):
        merge([whole.path, other.path], out)
    for change, words in [
        ("UPDATE rounds SET objective = objective + 1e-15 WHERE round = 2", "round 2 of d-gpucb in trial 1"),
        ("UPDATE worlds SET value = value + 1e-12", r"world all.*--resume"),
    ]:
        changed = tmp_path / f"{len(words)}.sqlite"
        changed.write_bytes(whole.path.read_bytes())
        with sqlite3.connect(changed) as connection:
            connection.execute(change)
            seal_all(connection)
        connection.close()
        with pytest.raises(UserError, match=words):
            merge([whole.path, changed], out)
    for arguments, words in [
        ((whole.path, "--out", out), "two studies"),
        ((whole.path, other.path, "--out", whole.path), "one of the studies"),
        ((whole.path, tmp_path / "none.sqlite", "--out", out), "no such study"),
        ((whole.path, path, "--out", out), "as a study"),
    ]:
        code, text, error = policyloop("merge", *arguments)
        assert (code, text, error.count("\n")) == (2, "", 1) and words in error
    assert not out.exists()
    out.write_text("ten years of work")
    code, _, error = policyloop("merge", whole.path, whole.path, "--out", out, "--force")
    assert code == 2 and out.read_text() == "ten years of work" and "as a study" in error


@pytest.mark.parametrize("share", ["0/2", "3/2", "1/9", "half", "1/2/3"])
def test_a_share_that_is_none_is_refused(share, scenario_file, policyloop, tmp_path):
    code, _, error = policyloop("run", scenario_file(), "--share", share, "--out", tmp_path / "s.sqlite")
    assert code == 2 and "--share" in error and error.count("\n") == 1
    assert not (tmp_path / "s.sqlite").exists()


def test_a_finished_study_grows_by_its_file_alone(scenario_file, policyloop, whole, tmp_path):
    out = tmp_path / "s.sqlite"
    run(load(scenario_file(), {"trials": 1, "rounds": 2, "agents": ["uniform"]}), out=out)
    agents = "d-gpucb,gp-ucb,uniform"
    assert policyloop("resume", out, "--trials", 3, "--rounds", 4, "--agents", agents, "--quiet")[0] == 0
    assert_same(Study(out), whole)
    assert len(Study(out).runs) == 2 and "runs        2" in policyloop("show", out)[1]
    code, _, error = policyloop("resume", out, "--rounds", 3)
    assert code == 2 and "may only grow" in error


def test_a_log_is_kept_and_nothing_is_printed(scenario_file, policyloop, tmp_path):
    log = tmp_path / "run.log"
    path = scenario_file(agents='["random"]', options="fail_at = [2]")
    code, _, error = policyloop("run", path, "--out", tmp_path / "s.sqlite", "--quiet", "--log", log)
    lines = log.read_text().splitlines()
    assert "random, trial 1, round" in " ".join(lines) and "the pump broke" in " ".join(lines)
    assert lines[0].endswith(f"0 rounds are stored in {tmp_path / 's.sqlite'}")
    assert "finished with 8 rounds" in lines[-1]
    code, _, error = policyloop(
        "run", path, "--out", tmp_path / "t.sqlite", "--log", tmp_path / "none" / "x", "--quiet"
    )
    assert code == 2 and "--log" in error and error.count("\n") == 1
