"""The best policy within limits, and the regret of what breaks one: closed forms and brute force."""

import logging

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint

import bridges
from bridges import Loop, find_optimum
from bridges.limited_optimum import NoneKept, best_within
from bridges.optimum import find_worst, regret
from bridges.reframed import ReframedEnvironment, outcome_limits
from optimizer import SearchSpace
from optimizer.composition.outcome_limits import OutcomeLimits
from optimizer.composition.ready import WorstGroup
from simulators import Environment, Outcomes, PolicySpace, Real, Whole
from simulators.contract.outcome_limit import Limit


class Disc(Environment):
    """Gain 2 x + y, harm x^2 + y^2; the objective is the gain. With harm <= r^2 it is r sqrt(5) at most."""

    groups, group_units, objective_unit, sense = ("gain", "harm"), ("", ""), "", "maximize"

    def __init__(self, constraint=None, levers=None, candidates=None):
        if candidates is not None:
            self.policy_space = PolicySpace(("x", "y"), ("", ""), candidates=candidates)
        elif levers is not None:
            self.policy_space = PolicySpace(("x", "y"), ("", ""), levers=levers, constraint=constraint)
        else:
            box = Bounds([-1.0, -1.0], [1.0, 1.0])
            self.policy_space = PolicySpace(("x", "y"), ("", ""), bounds=box, constraint=constraint)

    def weights(self, policies):
        return np.tile([1.0, 0.0], (len(policies), 1))

    def expected(self, policies):
        x = self.policy_space.resolve(policies)
        return np.stack([2 * x[:, 0] + x[:, 1], (x**2).sum(axis=1)], axis=1)

    def step(self, policy):
        return Outcomes(self.expected(np.asarray([policy]))[0])


def limited(environment, *limits):
    return ReframedEnvironment(environment, limits=limits)


def harm(**ends):
    return Limit({"harm": 1.0}, **ends)


@pytest.mark.parametrize("radius", [0.8, 0.3, 0.01])
def test_the_optimum_on_a_disc_is_its_closed_form(radius):
    found = find_optimum(limited(Disc(), harm(at_most=radius**2)))
    np.testing.assert_allclose(found.policy, radius * np.array([2.0, 1.0]) / np.sqrt(5), atol=2e-4)
    assert found.value == pytest.approx(radius * np.sqrt(5), abs=1e-6)
    assert found.outcomes[1] <= radius**2 + 1e-9


def test_a_limit_that_does_not_bind_changes_nothing():
    found = find_optimum(limited(Disc(), harm(at_most=5.0)))
    np.testing.assert_allclose(found.policy, [1.0, 1.0], atol=1e-6)
    assert found.value == pytest.approx(find_optimum(Disc()).value, abs=1e-6)


def test_the_worst_within_the_limits_is_the_opposite_point_of_the_disc():
    assert find_worst(limited(Disc(), harm(at_most=0.25))) == pytest.approx(-0.5 * np.sqrt(5), abs=1e-6)
    assert np.isnan(find_worst(Disc()))


def test_limits_so_tight_that_they_are_all_but_an_equation_are_kept():
    """Harm between 0.25 and 0.25 + 1e-6, and the gain at most 0.5: on the circle, 2 x + y = 0.5."""
    asked = limited(Disc(), harm(at_least=0.25, at_most=0.25 + 1e-6), Limit({"gain": 1.0}, at_most=0.5))
    found = find_optimum(asked)
    assert outcome_limits(asked).kept(found.outcomes)
    assert found.value == pytest.approx(0.5, abs=1e-3)


def test_a_limit_and_a_linear_constraint_are_both_kept():
    """x + y <= 0.1 and x^2 + y^2 <= 0.5: the intersection (x, 0.1 - x) with 2 x^2 - 0.2 x - 0.49 = 0."""
    constraint = LinearConstraint([[1.0, 1.0]], -np.inf, 0.1)
    found = find_optimum(limited(Disc(constraint), harm(at_most=0.5)))
    x = (0.2 + np.sqrt(0.04 + 8 * 0.49)) / 4
    np.testing.assert_allclose(found.policy, [x, 0.1 - x], atol=1e-4)
    assert found.policy.sum() <= 0.1 + 1e-9 and found.outcomes[1] <= 0.5 + 1e-9


def test_of_candidates_the_optimum_is_that_of_brute_force():
    grid = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    environment = Disc(candidates=grid)
    F = environment.expected(np.arange(300))
    keeps = (F[:, 1] <= 0.4) & (F[:, 1] >= 0.2)
    asked = limited(environment, harm(at_least=0.2, at_most=0.4))
    assert find_optimum(asked).row == np.where(keeps, F[:, 0], -np.inf).argmax()
    assert find_worst(asked) == F[keeps, 0].min()


def test_of_whole_numbers_the_optimum_is_that_of_brute_force():
    environment = Disc(levers=[Whole(-5, 5), Whole(-5, 5)])
    grid = np.stack(np.meshgrid(*[np.arange(-5.0, 6)] * 2), axis=-1).reshape(-1, 2)
    F = environment.expected(grid)
    found = find_optimum(limited(environment, harm(at_most=11.0)))
    assert found.value == F[F[:, 1] <= 11, 0].max() and found.outcomes[1] <= 11


def test_of_whole_and_real_numbers_the_optimum_is_the_best_of_each_whole_number_s():
    environment = Disc(levers=[Whole(-5, 5), Real(-5.0, 5.0)])
    found = find_optimum(limited(environment, harm(at_most=11.0)))
    best = max(2 * n + np.sqrt(11 - n * n) for n in range(-3, 4))
    assert found.value == pytest.approx(best, abs=0.01) and found.outcomes[1] <= 11 + 1e-9


def test_an_objective_to_be_minimised_has_its_optimum_within_the_limits():
    """The worse of gain and harm, made small, with a gain of 1 at least: on 2 x + y = 1, where both are 1."""
    gain = Limit({"gain": 1.0}, at_least=1.0)
    asked = ReframedEnvironment(Disc(), objective=WorstGroup("minimize"), limits=[gain])
    found = find_optimum(asked)
    assert found.value == pytest.approx(1.0, abs=1e-6)
    assert found.outcomes[0] >= 1 - 1e-9 and found.outcomes[1] <= 1 + 1e-6


# None keeps them


@pytest.mark.parametrize("finite", [True, False])
def test_where_no_policy_keeps_the_limits_the_nearest_is_told_and_there_is_no_regret(finite, caplog):
    grid = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    environment = Disc(candidates=grid) if finite else Disc()
    asked = limited(environment, harm(at_most=-0.5))
    with caplog.at_level(logging.WARNING, logger="policyloop"):
        assert find_optimum(asked) is None
    assert "harm <= -0.5" in caplog.text and "nearest" in caplog.text and "\n" not in caplog.text.strip()
    assert np.isnan(find_worst(asked))


@pytest.mark.parametrize("finite", [True, False])
def test_the_nearest_breaks_the_limits_least(finite):
    grid = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    space = SearchSpace(candidates=grid) if finite else SearchSpace(Bounds([-1, -1], [1, 1]))
    environment = Disc(candidates=grid) if finite else Disc()
    limits = OutcomeLimits([[0.0, 1.0]], [-np.inf], [-0.5])
    with pytest.raises(NoneKept) as error:
        best_within(space, lambda F, X: F[:, 0], environment.expected, limits, 0)
    reached = environment.expected(np.asarray([error.value.nearest]))[0, 1]
    least = environment.expected(np.arange(300))[:, 1].min() if finite else 0.0
    assert reached == pytest.approx(least, abs=1e-3)


def test_outcomes_that_are_unknown_at_some_policies_are_no_best_ones():
    def expected(X):
        F = Disc().expected(X)
        F[X[:, 0] > 0.2] = np.nan
        return F

    limits = OutcomeLimits([[0.0, 1.0]], [-np.inf], [0.25])
    space = SearchSpace(Bounds([-1, -1], [1, 1]))
    found = best_within(space, lambda F, X: F[:, 0], expected, limits, 0)
    best = 0.4 + np.sqrt(0.25 - 0.04)
    assert found[0] <= 0.2 and 2 * found[0] + found[1] == pytest.approx(best, abs=0.02)


# Regret


def test_a_policy_that_breaks_a_limit_lacks_as_much_as_the_worst_that_keeps_all():
    for sense, sign in (("maximize", 1), ("minimize", -1)):
        asked = ReframedEnvironment(Disc(), limits=[harm(at_most=0.25)], sense=sense)
        optimum, worst = find_optimum(asked), find_worst(asked)
        assert sign * optimum.value == pytest.approx(0.5 * np.sqrt(5), abs=1e-6)
        assert regret(asked, optimum, worst, 3.0, np.array([3.0, 0.3])) == pytest.approx(np.sqrt(5), abs=1e-5)
        inside = regret(asked, optimum, worst, 0.2, np.array([0.2, 0.1]))
        assert inside == pytest.approx(0.5 * np.sqrt(5) - sign * 0.2, abs=1e-6)
        assert np.isnan(regret(asked, optimum, worst, np.nan, None))


def test_rounds_are_charged_so_and_regret_is_never_negative():
    asked = limited(Disc(), harm(at_most=0.25))
    agent = bridges.make_agent("random", asked, seed=3)
    rounds = list(Loop(asked, agent, 0, optimum=find_optimum(asked), worst=find_worst(asked)).run(12))
    broken = [one for one in rounds if one.expected_outcomes[1] > 0.25]
    assert 0 < len(broken) < 12
    for one in rounds:
        charged = np.sqrt(5) if one in broken else 0.5 * np.sqrt(5) - one.expected
        assert one.regret == pytest.approx(charged, abs=1e-5) and one.regret >= -1e-6
