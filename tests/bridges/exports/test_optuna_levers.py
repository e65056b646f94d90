"""Parameters of every kind that Optuna knows, as entries of our agents' policies."""

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

from simulators import Environment, OneOf, Outcomes, PolicySpace, Real, Whole

optuna = pytest.importorskip("optuna")
from optuna.distributions import (  # noqa: E402
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from bridges.exports.optuna_sampler import DGPUCBSampler, report_outcomes  # noqa: E402
from bridges.exports.optuna_space import OptunaSpace  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.CRITICAL)

KINDS = {
    "x": FloatDistribution(-1, 2),
    "rate": FloatDistribution(1e-3, 1, log=True),
    "dose": FloatDistribution(0.1, 0.9, step=0.2),
    "n": IntDistribution(1, 9),
    "even": IntDistribution(2, 10, step=2),
    "cells": IntDistribution(1, 100_000, log=True),
    "plan": CategoricalDistribution([None, "a", 2.5, True]),
}


def study_of(sampler, space, cost, n, **options):
    """Ask and tell n trials: two groups, the cost's parts."""
    study = optuna.create_study(sampler=sampler, **options)
    for _ in range(n):
        trial = study.ask(space)
        report_outcomes(trial, cost(**trial.params))
        study.tell(trial, sum(cost(**trial.params)))
    return study


def cost(x, rate, dose, n, even, cells, plan):
    return [
        (x - 0.5) ** 2 + math.log10(rate / 0.05) ** 2 + (dose - 0.5) ** 2,
        (n - 6) ** 2 / 9 + (even - 4) ** 2 / 9 + math.log10(cells / 1000) ** 2 + (plan != 2.5),
    ]


def test_what_is_tried_is_what_was_asked_for_and_on_the_steps():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "parameter")
        study = study_of(DGPUCBSampler(["a", "b"], KINDS), KINDS, cost, 25)
    space = OptunaSpace(KINDS)
    for trial in study.trials:
        for label, distribution in KINDS.items():
            assert distribution._contains(distribution.to_internal_repr(trial.params[label]))
        assert isinstance(trial.params["n"], int) and isinstance(trial.params["cells"], int)
        told = space.coordinates(trial.params)
        asked = np.array(trial.system_attrs["policyloop:asked"])
        assert np.abs(told - asked).max() < 1e-9
    best = study.best_trial.params
    assert best["plan"] == 2.5 and best["n"] in (5, 6, 7) and 100 < best["cells"] < 10_000


@pytest.mark.parametrize(
    ("label", "value"),
    [("rate", 0.02), ("dose", 0.3), ("n", 4), ("even", 8), ("cells", 1), ("cells", 100_000), ("plan", None)],
)
def test_a_parameter_has_a_coordinate_that_gives_it_back(label, value):
    space = OptunaSpace({label: KINDS[label]})
    back = space.parameters(space.coordinates({label: value}))[label]
    assert type(back) is type(value) and back == pytest.approx(value) if value is not None else back is None


def test_log_scaled_integers_are_listed_evenly_in_their_logarithms_and_every_small_one_is_there():
    space = OptunaSpace({"n": IntDistribution(1, 100_000, log=True)})
    high = int(space.search_space(None).upper[0])
    values = [space.parameters(np.array([float(i)]))["n"] for i in range(high + 1)]
    assert values[:40] == list(range(1, 41)) and values[-1] == 100_000
    ratios = np.array(values[41:]) / np.array(values[40:-1])
    assert (ratios < 1.06).all()  # the next integer, or the next of 500 even steps of the logarithm, rounded
    few = OptunaSpace({"n": IntDistribution(3, 50, log=True)})
    assert few.search_space(None).upper[0] == 47
    between = space.coordinates({"n": 98_765})  # what another sampler may have tried
    assert space.numbers(between)[0] == min(values, key=lambda one: abs(math.log(one / 98_765)))
    assert space.values({"n": 98_765}) == 98_765
    assert space.coordinates({"n": 100_001}) is None and space.coordinates({}) is None


def test_kernels_see_the_logarithms_of_log_scaled_integers():
    space = OptunaSpace({"x": FloatDistribution(0, 1), "n": IntDistribution(1, 1000, log=True)})
    searched = space.search_space(None)
    policies = np.array([space.coordinates({"x": 0.25, "n": n}) for n in (1, 10, 1000)])
    assert searched.features(policies)[:, :2] == pytest.approx(
        np.array([[0.25, 0], [0.25, math.log(10)], [0.25, math.log(1000)]])
    )


def test_weights_and_compositions_are_given_values_not_coordinates():
    space = {"rate": FloatDistribution(1e-3, 1, log=True), "n": IntDistribution(1, 1000, log=True)}
    seen = []

    def weights(policies):
        seen.append(policies)
        return np.column_stack([policies[:, 0], policies[:, 1]])

    sampler = DGPUCBSampler(["a", "b"], space, weights=weights)
    study = optuna.create_study(sampler=sampler)
    for _ in range(7):
        trial = study.ask(space)
        report_outcomes(trial, [1.0, 2.0])
        study.tell(trial, trial.params["rate"] + 2 * trial.params["n"])  # refused, were these coordinates
    policies = np.concatenate(seen)
    assert policies[:, 0].min() > 0.9e-3 and policies[:, 0].max() < 1.001  # differences go a little beyond
    assert (policies[:, 1] == np.rint(policies[:, 1])).all() and policies[:, 1].max() > 7


def test_a_constraint_on_whole_and_stepped_numbers_is_kept_exactly():
    space = {
        "n": IntDistribution(0, 9),
        "dose": FloatDistribution(0.0, 4.5, step=0.5),
        "fixed": IntDistribution(2, 2),
        "plan": CategoricalDistribution(["a", "b"]),
    }
    limit = LinearConstraint([[1, 2, 1, 0]], -np.inf, 9)
    study = study_of(
        DGPUCBSampler(["a", "b"], space, constraint=limit),
        space,
        lambda n, dose, fixed, plan: [-n - 0.1 * (plan == "b"), -3 * dose],
        20,
    )
    for trial in study.trials:
        p = trial.params
        assert p["n"] + 2 * p["dose"] + p["fixed"] <= 9 and p["dose"] * 2 == round(p["dose"] * 2)
    best = min(
        -n - 0.1 - 3 * dose for n in range(10) for dose in np.arange(10) * 0.5 if n + 2 * dose + 2 <= 9
    )
    assert study.best_value == pytest.approx(best)


def test_ten_parallel_asks_of_64_cells_are_ten_cells():
    space = {label: IntDistribution(0, 3) for label in "abc"}
    sampler = DGPUCBSampler(["one", "two"], space)
    study = study_of(sampler, space, lambda a, b, c: [(a - 1) ** 2 + b, (c - 2) ** 2], 12)
    asked = [tuple(study.ask(space).params.values()) for _ in range(10)]
    assert len(set(asked)) == 10


class Ward(Environment):
    groups, group_units, objective_unit, sense = ("a", "b"), ("", ""), "", "minimize"
    policy_space = PolicySpace(
        ("share", "nurses", "tariff"),
        ("", "", ""),
        levers=(Real(0, 1), Whole(2, 10, 2), OneOf(("flat", "peak"))),
        constraint=LinearConstraint([1, 1, 0], -np.inf, 6.5),
    )

    def step(self, policy):
        share, nurses, tariff = self.policy_space.check(policy)
        return Outcomes(np.array([(share - 0.8) ** 2, (nurses - 6) ** 2 + tariff]))


def test_an_environment_gives_distributions_of_its_levers_and_takes_the_names():
    ward = Ward()
    sampler = DGPUCBSampler.of(ward)
    space = {
        "share": FloatDistribution(0, 1),
        "nurses": IntDistribution(2, 10, step=2),
        "tariff": CategoricalDistribution(("flat", "peak")),
    }
    assert sampler._space == space
    study = study_of(
        sampler, space, lambda **named: ward.step([named[label] for label in space]).values.tolist(), 16
    )
    assert {t.state.name for t in study.trials} == {"COMPLETE"}
    assert study.best_params["nurses"] == 6 and study.best_params["tariff"] == "flat"


def test_trials_of_other_choices_are_passed_over():
    space = {"plan": CategoricalDistribution(["a", "b"]), "x": FloatDistribution(0, 1)}
    study = optuna.create_study(sampler=DGPUCBSampler(["one"], space))
    other = {"plan": CategoricalDistribution(["a", "b", "c"]), "x": FloatDistribution(0, 1)}
    study.add_trial(optuna.trial.create_trial(params={"plan": "c", "x": 0.5}, distributions=other, value=1.0))
    assert OptunaSpace(space).coordinates({"plan": "c", "x": 0.5}) is None
    trial = study.ask()
    assert trial.relative_params.keys() == space.keys()
    assert len(study.sampler._learner.belief.history.Y) == 0
