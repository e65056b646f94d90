"""A scenario of several objectives: agents explore the frontier between them."""

import json

import numpy as np
import pytest
from studies import assert_same

import scenarios
from scenarios import load, run
from scenarios.results.hypervolume import hypervolume, hypervolumes
from scenarios.study.study import Study

TEXT = """
name = "several"
rounds = {rounds}
trials = {trials}
seed = 3
agents = {agents}
objectives = {objectives}
{head}
[environment]
name = "{environment}"
[prior]
samples = {samples}
restarts = 0
{tail}
"""
AGENTS = '["d-gpucb", "d-ei", "d-mpi", "d-ts", "gp-ucb", "ei", "random"]'


@pytest.fixture
def written(tmp_path):
    def write(**changes):
        values = {"rounds": 9, "trials": 1, "agents": '["d-ei"]', "objectives": '["left", "right"]'}
        values |= {"head": "", "environment": "valley", "samples": 0, "tail": ""}
        (tmp_path / "s.toml").write_text(TEXT.format(**(values | changes)))
        return tmp_path / "s.toml"

    return write


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Groups (x - 0.2)^2 + 1 and (x - 0.8)^2 + 1: the frontier is x from 0.2 to 0.8."""
    folder = tmp_path_factory.mktemp("several")
    values = {"rounds": 20, "trials": 2, "agents": AGENTS, "objectives": '["left", "right"]', "head": ""}
    values |= {"environment": "valley", "samples": 0, "tail": ""}
    (folder / "s.toml").write_text(TEXT.format(**values))
    return run(load(folder / "s.toml"), out=folder / "s.sqlite")


def tried(study, label, trial=1):
    own = [one for one in study.rounds() if (one.agent, one.trial) == (label, trial)]
    return np.array([one.policy[0] for one in own])


@pytest.mark.parametrize("label", ["d-gpucb", "d-ei", "d-mpi", "d-ts", "gp-ucb", "ei"])
def test_agents_look_along_the_whole_frontier_and_seldom_beside_it(study, label):
    x = np.concatenate([tried(study, label, trial)[5:] for trial in (1, 2)])
    on = (x > 0.15) & (x < 0.85)
    assert on.mean() > 0.9
    assert np.histogram(x[on], bins=3, range=(0.15, 0.85))[0].min() >= 4


def test_the_hypervolume_of_a_study_is_that_of_its_policies(study):
    found = hypervolumes(study)
    assert found.noise_free
    corner = [found.reference["left"], found.reference["right"]]  # the worst are at the ends: 1.64 each
    np.testing.assert_allclose(corner, 1.64, atol=0.02)
    for label in study.scenario.labels:
        x = tried(study, label, 2)
        values = -np.stack([(x - 0.2) ** 2 + 1, (x - 0.8) ** 2 + 1], axis=1)
        assert found.by_agent[label][2] == pytest.approx(hypervolume(values, -np.array(corner)), abs=1e-9)


def test_compare_shows_it_and_no_regret(study, policyloop):
    code, out, _ = policyloop("compare", study.path)
    assert code == 0 and "hypervolume" in out and "reference point left 1.6" in " ".join(out.split())
    assert "cumulative" not in out
    table = json.loads(policyloop("compare", study.path, "--format", "json")[1])
    assert table["d-ei"]["cumulative_regret"]["mean"] is None
    ours, theirs = table["d-ei"]["hypervolume"]["mean"], table["random"]["hypervolume"]["mean"]
    assert ours > theirs
    against = table["gp-ucb"]["hypervolume"]["mean"]
    assert table["d-ei"]["difference"]["mean"] == pytest.approx(ours - against, abs=1e-12)
    assert table["d-ei"]["gain_percent"]["mean"] == pytest.approx(100 * (ours - against) / against)


def test_agents_of_a_trial_weigh_alike_and_go_on_as_if_they_had_never_stopped(written, tmp_path):
    several = written(agents='["d-ei", "gp-ucb"]')
    whole = run(load(several), out=tmp_path / "whole.sqlite")
    scenario = load(several, {"rounds": 7})
    run(scenario, out=tmp_path / "parts.sqlite")
    parts = run(load(several), out=tmp_path / "parts.sqlite", resume=True)
    assert_same(whole, parts)


def test_the_recommended_policy_has_most_of_all_together(study):
    for advice in study.recommendations():
        if advice.agent.startswith("d-"):
            assert advice.policy[0] == pytest.approx(0.5, abs=0.08)


def test_the_total_is_what_rounds_report_where_it_is_among_them(written, tmp_path):
    study = run(load(written(objectives='["worst-group", "total"]')), out=tmp_path / "s.sqlite")
    assert [one["name"] for one in study.environment.objectives] == ["total", "worst-group"]
    for one in study.rounds():
        assert one.expected == pytest.approx(sum(one.expected_outcomes)) and one.regret is None
    found = hypervolumes(study)
    assert set(found.reference) == {"total", "worst-group"}


def test_the_frontier_command_takes_the_study_s_objectives_and_names_the_knee(study, policyloop):
    code, out, _ = policyloop("frontier", study.path, "--points", 3, "--quiet")
    assert code == 0 and "Knee, the most of all together: x 0." in out
    (found,) = scenarios.frontier(study, [], points=3)
    assert found.objectives == ["left", "right"]


def test_three_objectives_limits_and_a_prior_of_the_groups_go_together(written, tmp_path):
    limit = '[[limits]]\ngroup = "left"\nat_most = 1.09\n'  # x from 0 to 0.5
    scenario = load(
        written(objectives='["total", "right", "group-gap"]', samples=10, tail=limit, agents='["d-gpucb"]')
    )
    study = run(scenario, out=tmp_path / "s.sqlite")
    x = tried(study, "d-gpucb")
    found = hypervolumes(study)
    kept = x[(x - 0.2) ** 2 <= 0.09 + 1e-9]
    f = np.stack([(kept - 0.2) ** 2 + 1, (kept - 0.8) ** 2 + 1], axis=1)
    values = -np.stack([f.sum(axis=1), f[:, 1], np.abs(f[:, 0] - f[:, 1])], axis=1)
    corner = -np.array([found.reference[name] for name in ("total", "right", "group-gap")])
    assert found.by_agent["d-gpucb"][1] == pytest.approx(hypervolume(values, corner), abs=1e-9)
    aggregate = load(written(objectives='["total", "right"]', tail=limit, agents='["ei"]'))
    assert len(run(aggregate, out=tmp_path / "a.sqlite").rounds()) == 9


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"objectives": '["left"]'}, "of objectives two or three different ones"),
        ({"objectives": '["left", "left"]'}, "of objectives two or three different ones"),
        ({"objectives": '["left", "lft"]'}, "objectives: objective 'lft': unknown objective"),
        ({"objectives": '["left", "f.py:g"]'}, "code can be the one objective"),
        ({"head": 'objective = "worst-group"'}, "objective or objectives, and not both"),
        ({"head": "confirm = 2"}, "confirm does not go with objectives"),
        ({"head": "weights = { left = 2.0 }"}, "weights are of the total"),
        ({"agents": '["d-ei", "gp-ucb"]', "samples": 10}, "prior.samples = 0 with objectives"),
        ({"tail": '[exploration]\npropagation = "bound"'}, "propagation 'bound' is of one objective"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(written, policyloop, changes, said):
    code, _, err = policyloop("run", written(**changes), "--quiet")
    assert code == 2 and said in err and len(err.strip().splitlines()) == 1


def test_without_noise_free_outcomes_it_is_of_those_observed(written, tmp_path):
    study = run(load(written(environment="secret")), out=tmp_path / "s.sqlite")
    found = hypervolumes(Study(study.path))
    assert not found.noise_free
    y = np.array([one.outcomes for one in study.rounds()])
    worst = y.min(axis=0)  # they are to be maximised
    assert list(found.reference.values()) == pytest.approx(worst.tolist())
    assert found.by_agent["d-ei"][1] == pytest.approx(hypervolume(y, worst), abs=1e-12)
