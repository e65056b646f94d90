"""Our agents as a sampler of the real Optuna."""

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import simulators

optuna = pytest.importorskip("optuna")
from bridges.exports.optuna_sampler import AgentSampler, DGPUCBSampler, report_outcomes  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.CRITICAL)
GROUPS = ["low", "high"]
FLOAT = optuna.distributions.FloatDistribution
SPACE = {"x": FLOAT(0, 1), "y": FLOAT(0, 1)}


def outcomes(x, y):
    return {"high": (x - 0.3) ** 2, "low": (y - 0.6) ** 2}


def objective(trial):
    found = outcomes(trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1))
    report_outcomes(trial, found)
    return sum(found.values())


def optimized(sampler, n=16, function=objective, direction="minimize", **options):
    study = optuna.create_study(sampler=sampler, direction=direction, storage=options.pop("storage", None))
    study.optimize(function, n_trials=n, **options)
    return study


@pytest.mark.parametrize("agent", ["d-gpucb", "d-ei", "gp-ucb", "ei"])
def test_agents_find_the_best_parameters(agent):
    study = optimized(AgentSampler(GROUPS, SPACE, agent=agent))
    assert study.best_value < 0.01


def test_maximizing_is_minimizing_the_negative():
    def negative(trial):
        found = outcomes(trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1))
        report_outcomes(trial, {group: -value for group, value in found.items()})
        return -sum(found.values())

    assert optimized(DGPUCBSampler(GROUPS, SPACE), function=negative, direction="maximize").best_value > -0.01


def test_equal_seeds_give_equal_trials():
    first, second = (optimized(DGPUCBSampler(GROUPS, SPACE, seed=4), 9) for _ in range(2))
    assert [t.params for t in first.trials] == [t.params for t in second.trials]


@pytest.mark.slow
def test_a_study_goes_on_from_storage_with_a_pickled_sampler_as_if_it_had_never_stopped(tmp_path):
    whole = optimized(DGPUCBSampler(GROUPS, SPACE), 12)
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    begun = optimized(DGPUCBSampler(GROUPS, SPACE), 8, storage=storage)
    sampler = pickle.loads(pickle.dumps(begun.sampler))
    again = optuna.load_study(study_name=begun.study_name, storage=storage, sampler=sampler)
    again.optimize(objective, n_trials=4)
    assert [t.params for t in again.trials] == [t.params for t in whole.trials]


def test_trials_side_by_side_differ(tmp_path):
    study = optimized(
        DGPUCBSampler(GROUPS, SPACE), 16, n_jobs=4, storage=f"sqlite:///{tmp_path / 'study.db'}"
    )
    assert len({tuple(t.params.values()) for t in study.trials}) == 16
    study = optuna.create_study(sampler=DGPUCBSampler(GROUPS, SPACE))
    study.optimize(objective, n_trials=6)
    asked = [study.ask(SPACE).params for _ in range(3)]  # none of them told yet
    assert len({tuple(a.values()) for a in asked}) == 3


def test_failed_trials_teach_nothing_and_pruned_ones_what_they_reported():
    def faulty(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        found = outcomes(x, y)
        if trial.number == 2:
            report_outcomes(trial, {"low": 1e9, "high": 1e9})
            raise RuntimeError("broken")
        if trial.number == 3:
            report_outcomes(trial, {"low": found["low"], "high": None})
            raise optuna.TrialPruned
        report_outcomes(trial, found)
        return sum(found.values())

    sampler = DGPUCBSampler(GROUPS, SPACE)
    study = optimized(sampler, 16, faulty, catch=(RuntimeError,))
    assert study.best_value < 0.01
    told = sampler._learner.belief.history.Y
    assert np.isnan(told[2]).all() and np.isnan(told[3]).tolist() == [False, True]


@pytest.mark.filterwarnings("error:parameter")
def test_without_a_search_space_it_is_that_of_the_trials_and_integers_and_logs_keep_their_form():
    def mixed(trial):
        rate, n = trial.suggest_float("rate", 1e-3, 1, log=True), trial.suggest_int("n", 1, 9)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        found = [np.log10(rate / 0.05) ** 2, (n - 6) ** 2 + (kind == "b")]
        report_outcomes(trial, found)
        return sum(found)

    study = optimized(DGPUCBSampler(GROUPS), 25, mixed)
    assert study.best_params["n"] == 6 and 0.01 < study.best_params["rate"] < 0.3
    assert all(isinstance(t.params["n"], int) for t in study.trials)


def test_a_constraint_is_kept():
    sampler = DGPUCBSampler(GROUPS, SPACE, constraint=LinearConstraint([1, 1], -np.inf, 0.7))
    study = optimized(sampler, 12)
    assert all(sum(t.params.values()) <= 0.7 + 1e-9 for t in study.trials)


def test_the_policies_of_an_environment_are_sampled_within_its_budget():
    environment = simulators.make("flu-ode")
    sampler = DGPUCBSampler.of(environment)

    def season(trial):
        bounds = environment.policy_space.bounds
        limits = zip(environment.policy_space.labels, bounds.lb, bounds.ub, strict=True)
        policy = [trial.suggest_float(label, low, high) for label, low, high in limits]
        environment.reset(trial.number)
        seen = environment.step(policy)
        report_outcomes(trial, seen.values)
        return float(environment.compose(seen.values, policy))

    study = optimized(sampler, 4, season, environment.sense)
    assert {t.state.name for t in study.trials} == {"COMPLETE"}
    with pytest.raises(ValueError, match="direction='maximize' of the study"):
        optimized(DGPUCBSampler.of(environment), 1, season, "maximize")


def test_a_general_composition_is_learned():
    def worst(trial):
        found = outcomes(trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1))
        report_outcomes(trial, found)
        return max(found.values())

    sampler = DGPUCBSampler(GROUPS, SPACE, compose=lambda y, x: np.max(y, axis=-1))
    assert optimized(sampler, 16, worst).best_value < 0.02


def reporting(report, value=None):
    def function(trial):
        found = outcomes(trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1))
        report(trial, found)
        return sum(found.values()) if value is None else value

    return function


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (reporting(lambda trial, found: None), "trial 0 reported no outcomes: .*report_outcomes.*low, high"),
        (reporting(lambda trial, found: report_outcomes(trial, {"low": 1.0})), "has no group high"),
        (reporting(lambda trial, found: report_outcomes(trial, [1.0])), "1 values for the 2 groups"),
        (
            reporting(lambda trial, found: report_outcomes(trial, {"low": "text", "high": 1})),
            "outcome of 'low' is 'text'; accepted: a number, nan or None",
        ),
        (
            reporting(lambda trial, found: report_outcomes(trial, [1.0, [2, 3]])),
            r"outcome 1 is \[2, 3\]; acc",
        ),
        (reporting(lambda trial, found: report_outcomes(trial, 3)), "outcomes=3 must be one number a group"),
        (
            reporting(lambda trial, found: report_outcomes(trial, found, {"low": 1, "high": "much"})),
            "noise_variance of 'high' is 'much'",
        ),
        (reporting(report_outcomes, value=7.0), "returned 7, but its outcomes compose to .*weights"),
    ],
)
def test_an_objective_that_reports_wrongly_is_told_so_in_one_line(function, words):
    with pytest.raises(ValueError, match=words) as told:
        optimized(DGPUCBSampler(GROUPS, SPACE), 1, function)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"agent": "gp"}, "agent='gp'; accepted: gp-ucb"),
        ({"constraint": LinearConstraint([1, 1], 0, 1), "search_space": None}, "only with a search_space"),
        (
            {
                "constraint": LinearConstraint([1, 1], 0, 1),
                "search_space": {
                    "x": FLOAT(0, 1),
                    "kind": optuna.distributions.CategoricalDistribution("ab"),
                },
            },
            "constraint: 'kind' is CategoricalDistribution.*has no size there; accepted: the weight 0",
        ),
        (
            {
                "constraint": LinearConstraint([1, 1], 0, 1),
                "search_space": {"x": FLOAT(0, 1), "n": optuna.distributions.IntDistribution(1, 9, log=True)},
            },
            "constraint: 'n' is IntDistribution.*has no size there",
        ),
        ({"groups": []}, r"groups=\[\] must be a list of names, at least one"),
        ({"groups": None}, "groups=None must be a list of names"),
        ({"groups": ["a", "a"]}, "must differ from each other"),
        ({"weights": [1, 2, 3]}, "weights must be 2 numbers"),
    ],
)
def test_impossible_samplers_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        AgentSampler(**(copy.copy({"groups": GROUPS, "search_space": SPACE}) | options))


@pytest.mark.parametrize("space", [SPACE, None])
def test_a_study_with_two_directions_is_refused_before_anything_is_sampled(space):
    study = optuna.create_study(sampler=DGPUCBSampler(GROUPS, space), directions=["minimize", "maximize"])
    with pytest.raises(ValueError, match="directions: the study has 2; accepted: one"):
        study.optimize(lambda trial: pytest.fail("it was run"), n_trials=1)


def test_a_parameter_that_is_not_sampled_as_the_trial_asks_is_warned_of_once():
    def wider(trial):
        x, y = trial.suggest_float("x", 0, 5), trial.suggest_float("y", 0, 1)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        found = {**outcomes(x, y), "high": float(kind == "b")}
        report_outcomes(trial, found)
        return sum(found.values())

    with pytest.warns(UserWarning) as told:
        optimized(DGPUCBSampler(GROUPS, SPACE), 4, wider)
    said = [str(one.message) for one in told if "parameter" in str(one.message)]
    assert len(said) == 2
    assert "'x' is FloatDistribution(high=1.0" in said[0] and "suggests FloatDistribution(high=5" in said[0]
    assert said[1] == "parameter 'kind' is not in the search space: its values are random"
    with pytest.warns(UserWarning, match="parameter 'y' is not in the search space: its values are random"):
        optimized(DGPUCBSampler(GROUPS, {"x": FLOAT(0, 1)}), 1)


def test_nothing_is_warned_of_where_all_is_sampled(recwarn):
    optimized(DGPUCBSampler(GROUPS, SPACE), 3)
    optimized(DGPUCBSampler(GROUPS), 3)
    assert not [one for one in recwarn if "parameter" in str(one.message)]
