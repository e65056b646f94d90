"""Another objective, other weights and limits in a scenario: what is run, charged, refused, trusted."""

import numpy as np
import pytest
from scipy.stats import norm
from studies import assert_same

import scenarios
from scenarios import load, run
from scenarios.declaration.asked import unit_of
from scenarios.declaration.code import code_of
from scenarios.study.study import Study

LIMITED = """
name = "limited"
rounds = 5
trials = 2
seed = 3
agents = ["d-ei", "gp-ucb", "random"]
{head}
[environment]
name = "{environment}"
[prior]
samples = {samples}
restarts = 0
{tail}
"""
LEFT = '[[limits]]\ngroup = "left"\nat_most = 1.04\n'  # |x - 0.2| <= 0.2: x from 0 to 0.4


@pytest.fixture
def written(tmp_path):
    def write(head="", tail="", environment="valley", samples=10, agents=None):
        text = LIMITED.format(head=head, tail=tail, environment=environment, samples=samples)
        if agents:
            text = text.replace('["d-ei", "gp-ucb", "random"]', agents)
        (tmp_path / "s.toml").write_text(text)
        return tmp_path / "s.toml"

    return write


def test_regret_is_charged_against_the_best_within_the_limits(written, tmp_path):
    """Left is (x - 0.2)^2 + 1, right (x - 0.8)^2 + 1; within the limit 0.4 is best, 0 worst."""
    study = run(load(written(tail=LEFT)), out=tmp_path / "s.sqlite")
    best, worst = 0.04 + 0.16 + 2, 0.04 + 0.64 + 2
    assert study.optimum(1).value == pytest.approx(best, abs=1e-6)
    broken = 0
    for one in study.rounds():
        x = one.policy[0]
        breaks = (x - 0.2) ** 2 > 0.04 + 1e-9
        broken += breaks
        value = worst if breaks else (x - 0.2) ** 2 + (x - 0.8) ** 2 + 2
        assert one.regret == pytest.approx(value - best, abs=1e-5)
    assert broken > 0
    for advice in study.recommendations():
        if advice.agent != "random":
            assert advice.simple_regret < 0.05 and advice.policy[0] <= 0.4 + 1e-3


def test_a_study_of_limits_goes_on_bit_for_bit(written, tmp_path):
    file = written(tail=LEFT)
    whole = run(load(file), out=tmp_path / "whole.sqlite")
    text = file.read_text()
    file.write_text(text.replace("rounds = 5", "rounds = 2"))
    run(load(file), out=tmp_path / "part.sqlite")
    file.write_text(text)
    assert_same(run(load(file), out=tmp_path / "part.sqlite", resume=True), whole)


@pytest.mark.slow
def test_two_processes_run_the_same_as_one(tmp_path):
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 3\ntrials = 2\nobjective = "worst-group"\nagents = ["d-ei"]\n[environment]\n'
        'name = "flu-ode"\noptions = { days = 60 }\n[prior]\nsamples = 8\nrestarts = 0\n'
        '[[limits]]\ngroup = "70+"\nat_most = 0.5\n'
    )
    one = run(load(tmp_path / "s.toml"), out=tmp_path / "one.sqlite")
    assert_same(run(load(tmp_path / "s.toml"), out=tmp_path / "two.sqlite", jobs=2), one)


def test_weights_take_the_place_of_the_environment_s(written, tmp_path):
    study = run(load(written(head="weights = { right = 3.0 }")), out=tmp_path / "s.sqlite")
    assert study.environment.composition == {"weights": [1.0, 3.0], "offset": 0.0}
    for one in study.rounds():
        assert one.objective == pytest.approx(one.outcomes[0] + 3 * one.outcomes[1])
    assert study.optimum(1).policy[0] == pytest.approx((0.2 + 3 * 0.8) / 4, abs=1e-5)


@pytest.mark.parametrize(
    ("objective", "best", "sense"),
    [("worst-group", 0.5, "minimize"), ("group-gap", 0.5, "minimize"), ("cvar:0.5", 0.5, "minimize")],
)
def test_objectives_by_name_are_charged_by_their_own_optimum(objective, best, sense, written, tmp_path):
    file = written(head=f'objective = "{objective}"', agents='["d-ei"]')
    study = run(load(file), out=tmp_path / "s.sqlite")
    assert study.optimum(1).policy[0] == pytest.approx(best, abs=1e-3)
    assert study.environment.sense == sense and study.environment.objective_unit == "points"
    f = np.array([one.outcomes for one in study.rounds()])
    g = f.max(axis=1) - f.min(axis=1) if objective == "group-gap" else f.max(axis=1)
    np.testing.assert_allclose([one.objective for one in study.rounds()], g)


def test_a_count_is_in_groups_and_made_small_of_what_is_worse(written, tmp_path):
    """`secret` is to be maximised: worse is smaller. -f_j > -1.2 where |x - c_j| < 0.447: both at 0.5."""
    file = written(head='objective = "count:-1.2"', environment="secret", agents='["random"]')
    study = run(load(file), out=tmp_path / "s.sqlite")
    assert study.environment.objective_unit == "groups"
    assert study.environment.sense == "minimize" and study.environment.group_sense == "maximize"
    for one in study.rounds():
        assert one.objective == sum(y < -1.2 for y in one.outcomes)


def test_what_if_counts_the_groups_that_the_study_counted(written, tmp_path):
    """By the normal distribution of each group at the answer: P(f_j < -1.2), for smaller is worse."""
    file = written(head='objective = "count:-1.2"', environment="secret", agents='["d-ei"]', samples=0)
    study = run(load(file), out=tmp_path / "s.sqlite")
    for objective in ("", "count:-1.2"):
        (answer,) = scenarios.what_if(study, objective=objective)
        expected = 0.0
        for one in answer.best.groups.values():
            expected += norm.cdf(-1.2, one.mean, (one.high - one.low) / 2 / 1.959963984540054)
        assert answer.best.objective.mean == pytest.approx(expected, abs=0.03)
        assert answer.sense == "minimize" and answer.unit == "groups"
    (answer,) = scenarios.what_if(study, objective="worst-group")
    assert answer.sense == "maximize"
    assert answer.best.objective.mean <= min(one.mean for one in answer.best.groups.values()) + 1e-6


# Mistakes


@pytest.mark.parametrize(
    ("head", "tail", "words"),
    [
        ("", '[[limits]]\ngroup = "lefd"\nat_most = 1.0', "'lefd'"),
        ("", "[[limits]]\nweights = { lefd = 1.0 }\nat_most = 1.0", "'lefd'"),
        ("weights = { lefd = 1.0 }", "", "'lefd'"),
        ("weights = { left = -1.0 }", "", "0 or more"),
        ("weights = { left = nan }", "", "finite number"),
        ("", '[[limits]]\ngroup = "left"\nweights = { right = 1.0 }\nat_most = 1.0', "one of group, weights"),
        ("", "[[limits]]\nat_most = 1.0", "one of group, weights and function"),
        ("", '[[limits]]\ngroup = "left"', "at_most, at_least, or both"),
        (
            "",
            '[[limits]]\ngroup = "left"\nat_most = 1.0\nat_least = 2.0',
            "at_least = 2 is above at_most = 1",
        ),
        ("", '[[limits]]\ngroup = "left"\nat_most = inf', "numbers finite"),
        ("confirm = 1", LEFT, "confirm does not go with limits"),
        ('objective = "worst-grop"', "", "worst-group"),
        ('objective = "cvar"', "", "needs its level"),
        ('objective = "cvar:1.5"', "", "level = 1.5"),
        ('objective = "worst-group:2"', "", "has no number"),
        ('objective = "count:many"', "", "no finite number"),
        ('objective = "worst-group"\nweights = { left = 2.0 }', "", "weights are of the weighted sum"),
        ('objective = "missing.py:g"', "", "missing.py"),
        ("", '[[limits]]\nfunction = "missing.py:g"\nat_most = 1.0', "missing.py"),
        ("limit_probability = 1.0", LEFT, "between 0 and 1"),
        ('objective = "worst-group"', LEFT, "gp-ucb cannot compose the prior of its limits"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(head, tail, words, written, policyloop, tmp_path):
    code, _, error = policyloop("run", written(head, tail), "--out", tmp_path / "s.sqlite")
    assert code == 2 and words in error and error.count("\n") == 1 and error.count("s.toml") == 1, error
    assert not (tmp_path / "s.sqlite").exists() or not Study(tmp_path / "s.sqlite").rounds()


def test_groups_of_different_units_are_not_compared(policyloop, tmp_path):
    (tmp_path / "w.toml").write_text(
        'name = "w"\nrounds = 2\ntrials = 1\nobjective = "worst-group"\nagents = ["random"]\n'
        '[environment]\nname = "weather"\n[prior]\nsamples = 0\n'
    )
    code, _, error = policyloop("run", tmp_path / "w.toml", "--out", tmp_path / "w.sqlite")
    assert code == 2 and "different units" in error and error.count("\n") == 1


# Code


MARK = """
import pathlib
pathlib.Path(__file__).with_name("was-run").write_text("yes")
def g(outcomes, policies=None):
    return outcomes[..., 0] ** 2 + outcomes[..., 1]
"""


@pytest.fixture
def own(written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MARK)
    return written


def test_functions_of_files_are_code_and_named_objectives_are_none(own):
    assert code_of(load(own(head='objective = "cvar:0.5"', tail=LEFT))) == []
    assert code_of(load(own(head='objective = "weighted-sum"'))) == []
    (objective,) = code_of(load(own(head='objective = "mine.py:g"')))
    assert objective.named.endswith("mine.py:g") and len(objective.files) == 1
    (limit,) = code_of(load(own(tail='[[limits]]\nfunction = "mine.py:g"\nat_most = 3.0')))
    assert limit.named.endswith("mine.py:g") and limit.files == objective.files


def test_a_function_of_a_file_is_the_objective(own, tmp_path):
    study = run(load(own(head='objective = "mine.py:g"', agents='["d-ei"]')), out=tmp_path / "s.sqlite")
    for one in study.rounds():
        assert one.objective == pytest.approx(one.outcomes[0] ** 2 + one.outcomes[1])


def test_who_reads_a_study_runs_no_code_of_its_objective(own, policyloop, tmp_path, monkeypatch):
    out = tmp_path / "s.sqlite"
    run(load(own(head='objective = "mine.py:g"', agents='["d-ei", "random"]')), out=out)
    (tmp_path / "was-run").unlink()
    monkeypatch.setattr("scenarios.commands.trust._agreed", lambda *asked: False)
    for command in ("show", "compare", "what-if"):
        code, _, error = policyloop(command, out)
        assert code in (0, 2) and error.count("\n") <= 2
        assert not (tmp_path / "was-run").exists(), command
    code, _, error = policyloop("what-if", out)
    assert code == 2 and "--objective" in error
    code, _, _ = policyloop("what-if", out, "--objective", "worst-group")
    assert code == 0 and not (tmp_path / "was-run").exists()


def test_a_limit_of_a_function_cannot_be_asked_of_a_study(own, policyloop, tmp_path):
    out = tmp_path / "s.sqlite"
    tail = '[[limits]]\nfunction = "mine.py:g"\nat_most = 4.0'
    run(load(own(tail=tail, agents='["d-ei"]')), out=out)
    (tmp_path / "was-run").unlink()
    code, _, error = policyloop("what-if", out)
    assert code == 2 and "function" in error and error.count("\n") == 1
    assert not (tmp_path / "was-run").exists()
    with pytest.raises(scenarios.UserError):
        scenarios.what_if(out)


def test_limits_of_a_world_that_lives_are_refused(tmp_path):
    path = tmp_path / "live.toml"
    path.write_text(
        'name = "live"\nrounds = 3\ntrials = 1\nagents = ["random"]\n'
        '[[limits]]\ngroup = "wind"\nat_most = 3.0\n'
        '[environment]\nname = "weather-live"\n[prior]\nsamples = 0\n'
    )
    with pytest.raises(scenarios.UserError, match="limits: accepted only where the world does not live"):
        run(load(path), out=tmp_path / "live.sqlite")


def test_a_count_is_of_groups_and_a_file_whose_name_begins_like_it_is_none():

    assert unit_of("count:0.5", ["points"] * 2) == "groups"
    assert unit_of("counter.py:g", ["points"] * 2) == "points"
    assert unit_of("worst-group", ["points", "days"]) == "" and unit_of("", ["points"]) is None
