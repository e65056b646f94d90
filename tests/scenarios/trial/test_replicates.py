"""A scenario may repeat the step of every round, so often or until it is sure enough; members run apart."""

import numpy as np
import pytest
from studies import assert_same

from scenarios import load, run
from scenarios.study.study import Study

TEXT = """
name = "repeated"
rounds = {rounds}
trials = 1
seed = 3
batch = {batch}
agents = {agents}
keep_info = {keep_info}
[environment]
name = "{environment}"
{keys}
[prior]
samples = {samples}
{tail}
"""
FLU = 'options = { intervention = "vaccination", noise_variance = 1e-4 }'


@pytest.fixture
def written(tmp_path):
    def write(**changes):
        values = {"rounds": 6, "batch": 1, "agents": '["d-ei", "ei"]', "keep_info": "true"}
        values |= {"environment": "secret", "keys": "replicates = 4", "samples": 0, "tail": ""}
        (tmp_path / "s.toml").write_text(TEXT.format(**(values | changes)))
        return tmp_path / "s.toml"

    return write


def test_the_runs_and_the_pooled_covariance_are_stored(written, tmp_path):
    study = run(load(written(keep_info="false")), out=tmp_path / "s.sqlite")
    runs = {(one.agent, one.round): np.array(one.value) for one in study.details("runs")}
    assert len(runs) == 12 and {one.shape for one in runs.values()} == {(4, 2)}
    for one in study.rounds():
        np.testing.assert_allclose(one.outcomes, runs[one.agent, one.round].mean(axis=0))
        pooled = [np.cov(runs[one.agent, t].T) for t in range(1, one.round + 1)]
        if one.round == 1:
            assert one.noise_variance is None
        else:
            expected = np.diag(np.mean(pooled, axis=0)) / 4
            np.testing.assert_allclose(np.diag(one.noise_variance), expected)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("keys", ["replicates = 3", "standard_error = 0.004\nmost_replicates = 20"])
def test_a_study_goes_on_as_if_it_had_never_stopped(written, tmp_path, batch, keys):
    file = written(batch=batch, keys=keys)
    whole = run(load(file), out=tmp_path / "whole.sqlite")
    run(load(file, {"rounds": 4}), out=tmp_path / "parts.sqlite")
    parts = run(load(file), out=tmp_path / "parts.sqlite", resume=True)
    assert_same(whole, parts)
    kept = [[(one.round, one.agent, one.value) for one in study.details("runs")] for study in (whole, parts)]
    assert kept[0] == kept[1] and len(kept[0]) == 12


def test_a_standard_error_is_kept_by_every_group_that_is_named(written, tmp_path):
    keys = "standard_error = { left = 0.004 }"
    study = run(load(written(keys=keys, agents='["d-ei"]')), out=tmp_path / "s.sqlite")
    for one in study.rounds()[1:]:
        assert one.noise_variance[0][0] ** 0.5 <= 0.004 * (1 + 1e-9)  # of a run it is 0.01


def test_what_if_reads_the_noise_of_means(written, tmp_path, policyloop):
    study = run(load(written()), out=tmp_path / "s.sqlite")
    assert policyloop("what-if", study.path, "--objective", "worst-group")[0] == 0
    assert policyloop("compare", study.path)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"keys": f"replicates = 3\n{FLU}", "environment": "flu-ode"},
        {"keys": FLU, "environment": "flu-ode", "tail": "[ensemble]\nr0 = [1.3, 1.5]"},
        {"keys": f"replicates = 2\n{FLU}", "environment": "flu-ode", "tail": "[ensemble]\nr0 = [1.3, 1.5]"},
    ],
)
def test_runs_and_members_side_by_side_are_the_same_as_one_by_one(written, tmp_path, changes):
    file = written(rounds=3, agents='["d-ei"]', **changes)
    alone = run(load(file), out=tmp_path / "alone.sqlite", jobs=1)
    beside = run(load(file), out=tmp_path / "beside.sqlite", jobs=3)
    assert_same(alone, beside)
    for kind in ("runs", "info"):
        assert [one.value for one in alone.details(kind)] == [one.value for one in beside.details(kind)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"keys": "replicates = 0"}, "a whole number, 1 or more"),
        ({"keys": "replicates = 2\nstandard_error = 0.1"}, "replicates or standard_error, and not both"),
        ({"keys": "standard_error = -1"}, "a number above 0, or a table"),
        ({"keys": "standard_error = { lft = 0.1 }"}, "unknown group 'lft'"),
        ({"keys": "most_replicates = 5"}, "only with standard_error"),
        (
            {"environment": "flu-abm", "keys": "replicates = 2\noptions = { replicates = 3 }"},
            "options.replicates has the same meaning",
        ),
        ({"environment": "weather", "keys": "standard_error = 0.1"}, "different units"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(written, policyloop, changes, said):
    code, _, err = policyloop("run", written(**changes), "--quiet")
    assert code == 2 and said in err and len(err.strip().splitlines()) == 1


def test_one_replicate_is_as_if_nothing_was_said(written, tmp_path):
    once = run(load(written(keys="replicates = 1")), out=tmp_path / "once.sqlite")
    plain = run(load(written(keys="")), out=tmp_path / "plain.sqlite")
    assert_same(once, plain)
    assert not Study(once.path).details("runs")
