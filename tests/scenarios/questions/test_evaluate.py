"""`evaluate` simulates named policies on common random numbers, and says how certain their order is."""

import json

import numpy as np
import pytest
from scipy import stats

import scenarios
from optimizer.composition.outcome_limits import OutcomeLimits
from scenarios.questions.evaluation import certainty, mean_of
from scenarios.questions.policies import policy_of


@pytest.fixture
def valley(scenario_file):
    return scenario_file(agents='["random"]', samples=0)


def test_means_and_paired_differences_are_those_of_the_steps(valley):
    found = scenarios.evaluate(scenarios.load(valley), ["0.5", "0.2"], seeds=12)
    first, second = found.policies
    # The noise of a seed is the same for both: what is left is the difference of the noise-free outcomes.
    assert second.group_differences["left"].mean == pytest.approx(0.0 - 0.09, abs=1e-12)
    assert second.group_differences["right"].mean == pytest.approx(0.36 - 0.09, abs=1e-12)
    assert second.difference.high - second.difference.low < 1e-12
    assert first.objective.mean == pytest.approx(2.18, abs=0.02)
    assert 0.005 < first.objective.high - first.objective.low < 0.06
    assert [one.name for one in found.ranking] == ["0.5", "0.2"]
    assert first.probability_best == 1 and second.probability_best == 0


def test_an_interval_is_students(valley):
    values = np.random.default_rng(0).normal(size=9)
    low, high = stats.t.interval(0.95, 8, values.mean(), stats.sem(values))
    found = mean_of(values)
    assert (found.mean, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert np.isnan(mean_of(values[:1]).low)


def test_the_probability_to_be_best_is_that_of_the_mean_difference():
    """By the Bayesian bootstrap near the normal's: Phi(mean / standard error) of the paired difference."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=200)
    b = a + rng.normal(0.05, 1.0, 200)
    best, keeps = certainty(np.array([a, b]), np.zeros((2, 200, 1)), 1.0, None)
    expected = stats.norm.cdf((b - a).mean() / stats.sem(b - a))
    assert best[1] == pytest.approx(expected, abs=0.02) and best.sum() == pytest.approx(1)
    assert certainty(np.array([a, b]), np.zeros((2, 200, 1)), -1.0, None)[0][1] == pytest.approx(best[0])
    assert keeps.tolist() == [1, 1]


def test_a_policy_that_breaks_a_limit_is_not_the_best():
    objective = np.array([np.full(5, 1.0), np.full(5, 2.0)])
    outcomes = np.array([np.full((5, 1), 3.0), np.full((5, 1), 0.0)])
    best, keeps = certainty(objective, outcomes, -1.0, OutcomeLimits([[1.0]], [-np.inf], [1.0]))
    assert best.tolist() == [0, 1] and keeps.tolist() == [0, 1]


def test_worlds_weigh_alike_and_share_their_seeds(valley):
    found = scenarios.evaluate(scenarios.load(valley), ["0.5"], seeds=6, worlds=["seed=0,7"])
    (one,) = found.policies
    assert found.worlds == ["seed = 0", "seed = 7"]
    both = [one.worlds[name].mean for name in found.worlds]
    assert one.objective.mean == pytest.approx(np.mean(both)) and both[0] != both[1]


def test_the_result_does_not_depend_on_processes(tmp_path, policyloop):
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 2\ntrials = 1\nagents = ["random"]\n[environment]\nname = "flu-ode"\n'
        "options = { days = 60 }\n[prior]\nsamples = 0\n"
    )
    words = ["evaluate", tmp_path / "s.toml", "--policy", "current", "--policy", "0.2,0.2,0.2,0.2,0.2"]
    words += ["--seeds", 3, "--format", "json"]
    outputs = {policyloop(*words, "--jobs", jobs)[1] for jobs in (1, 2)}
    assert len(outputs) == 1
    found = json.loads(outputs.pop())
    assert found["ranking"] == ["current", "0.2,0.2,0.2,0.2,0.2"] and found["policies"][1]["failed"] == 0


def test_policies_are_named_in_four_ways(valley, tmp_path):
    study = scenarios.run(scenarios.load(valley), out=tmp_path / "s.sqlite")
    environment = scenarios.trial.building.build_environment(study.scenario, 1)
    assert policy_of("0.25", environment).tolist() == [0.25]
    assert policy_of("x=0.25", environment).tolist() == [0.25]
    advice = scenarios.results.statistics.typical_advice(study, "random")
    assert policy_of(f"{study.path}:random", environment).tolist() == advice.policy


def test_failing_steps_cost_themselves_and_the_exit_code_says_so(scenario_file, policyloop):
    path = scenario_file(agents='["random"]', samples=0, options="fail_at = [2]")
    code, out, err = policyloop("evaluate", path, "--policy", "0.5", "--policy", "0.4", "--seeds", 4)
    assert code == 1 and "1 steps failed" in err and "the pump broke" in err and "Traceback" not in err
    assert "failed steps" in out


def test_it_prints_a_table_csv_and_a_figure(valley, policyloop, tmp_path):
    words = ["evaluate", valley, "--policy", "0.5", "--policy", "0.1", "--seeds", 4]
    code, out, _ = policyloop(*words, "--figure", tmp_path / "f")
    assert code == 0 and "probability to be best" in out and "minus 0.5's" in out
    assert {one.name for one in tmp_path.glob("f.*")} == {"f.png", "f.svg"}
    assert policyloop(*words, "--figure", tmp_path / "f")[0] == 2  # it is there
    csv = policyloop(*words, "--format", "csv")[1].splitlines()
    assert csv[0].startswith("policy,x_x,objective,objective_low") and len(csv) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--policy", "0.5,0.5"], "1 entries are needed (x), and it has 2"),
        (["--policy", "curent"], "did you mean 'current'?"),
        (["--policy", "y=0.5"], "lever"),
        (["--policy", "2"], "policy '2'"),
        (["--policy", "current"], "names no practice of today"),
        (["--policy", "nowhere.sqlite:random"], "nowhere.sqlite"),
        (["--policy", "0.5", "--seeds", "0"], "seeds = 0"),
        (["--policy", "0.5", "--worlds", "sed=1"], "did you mean 'seed'"),
        (["--policy", "0.5", "--worlds", "seed"], "OPTION=VALUE"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(valley, policyloop, words, said):
    code, _, err = policyloop("evaluate", valley, "--quiet", *words)
    assert code == 2 and said in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("words", [["--jobs", 0], ["--seeds", 10**21], ["--seeds", 10**8]])
def test_more_than_can_be_done_is_refused_at_once(valley, policyloop, words):
    code, _, err = policyloop("evaluate", valley, "--quiet", "--policy", "0.5", *words)
    assert code == 2 and "accepted: a whole number" in err and len(err.strip().splitlines()) == 1


def test_a_composition_that_fails_costs_its_steps_only(tmp_path, policyloop):
    (tmp_path / "mine.py").write_text(
        "def g(outcomes, policies):\n"
        "    if (policies[..., 0] > 0.6).any():\n"
        "        raise ValueError('not beyond')\n"
        "    return outcomes.sum(axis=-1)\n"
    )
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 2\ntrials = 1\nagents = ["random"]\nobjective = "mine.py:g"\n'
        '[environment]\nname = "valley"\n[prior]\nsamples = 0\n'
    )
    words = ["evaluate", tmp_path / "s.toml", "--trust", "--seeds", 5, "--format", "json"]
    code, out, err = policyloop(*words, "--policy", "0.5", "--policy", "0.7")
    first, second = json.loads(out)["policies"]
    assert code == 1 and "not beyond" in err and (first["failed"], second["failed"]) == (0, 5)
    assert first["objective"]["mean"] == pytest.approx(2.18, abs=0.05) and second["objective"]["mean"] is None


def test_the_table_says_that_the_noise_of_seeds_is_in_its_intervals(valley, policyloop):
    code, out, _ = policyloop("evaluate", valley, "--policy", "0.5", "--policy", "0.2", "--seeds", "6")
    assert code == 0
    said = " ".join(out.split())
    assert "means over seeds with their noise, 95 % intervals of the means" in said
    assert "a single simulation may lie further off" in said
