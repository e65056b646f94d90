"""A round that repeats its step observes the mean, with noise that is pooled over rounds and policies."""

import numpy as np
import pytest
from scipy.optimize import Bounds

import bridges
import simulators
from bridges import Loop, Replication, observation
from bridges.replication import PooledNoise, Replicated, residuals, seed_of, shrunk
from bridges.steps import OneByOne
from policyloop.messages import failure

TRUE = np.array([[4.0, 3.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, 0.01]])


class Noisy(simulators.Environment):
    """Outcomes (x, 2x, 3x) with noise of a known covariance, of which two groups share the most."""

    groups, group_units, objective_unit, sense = ("a", "b", "c"), ("days",) * 3, "days", "minimize"

    def __init__(self, gap=False, fails=(), scale=1.0, stated=None):
        self.policy_space = simulators.PolicySpace(("x",), ("",), bounds=Bounds([0.0], [1.0]))
        self.gap, self.fails, self.taken = gap, fails, 0
        self.factor, self.stated = scale * np.linalg.cholesky(TRUE), stated

    def step(self, policy):
        self.taken += 1
        if self.taken in self.fails:
            raise simulators.SimulationError("the pump broke")
        values = np.array([1.0, 2.0, 3.0]) * policy[0] + self.factor @ self.rng.standard_normal(3)
        if self.gap and self.taken % 2:
            values[2] = np.nan
        return simulators.Outcomes(values, self.stated, {"taken": self.taken})


def rounds(environment, agent="d-ei", count=6, plan=None, **options):
    made = bridges.make_agent(agent, environment, seed=1)
    loop = Loop(environment, made, 5, replication=plan or Replication(6), **options)
    return list(loop.run(count)), loop


def test_a_round_is_the_mean_of_its_runs_of_which_the_first_is_the_round_s_own():
    environment = Noisy()
    (one, *_), _ = rounds(environment)
    assert environment.taken == 36 and one.runs.shape == (6, 3)
    np.testing.assert_allclose(one.outcomes, one.runs.mean(axis=0), rtol=1e-14)
    alone = list(Loop(Noisy(), bridges.make_agent("d-ei", Noisy(), seed=1), 5).run(1))[0]
    np.testing.assert_array_equal(one.runs[0], alone.outcomes)
    assert len(np.unique(one.runs, axis=0)) == 6 and one.info == {"taken": 1}
    assert seed_of(7, 0) == 7 and seed_of(7, 1) != seed_of(7, 2) and seed_of(None, 3) is None


def test_noise_is_pooled_over_rounds_and_never_of_one_policy_alone():
    found, _ = rounds(Noisy(), count=40)
    assert found[0].noise_variance is None
    for t in (1, 5):
        each = [np.cov(one.runs.T) for one in found[: t + 1]]  # unbiased, by NumPy
        np.testing.assert_allclose(np.diag(found[t].noise_variance), np.diag(np.mean(each, axis=0)) / 6)
    np.testing.assert_allclose(found[-1].noise_variance * 6, TRUE, atol=0.9, rtol=0.2)


def test_correlations_are_shrunk_by_ledoit_and_wolf_in_whatever_unit_a_group_is():
    rng = np.random.default_rng(2)
    few = rng.standard_normal((40, 3)) @ np.linalg.cholesky(TRUE).T
    found, units = shrunk(few), np.array([1.0, 1000.0, 0.001])
    np.testing.assert_allclose(shrunk(few * units), found * np.outer(units, units), rtol=1e-9)
    np.testing.assert_allclose(np.diag(found), (few**2).mean(axis=0))
    raw = few.T @ few / 40
    assert 0 < found[0, 1] < raw[0, 1] and abs(found[0, 2]) < abs(raw[0, 2])
    many = rng.standard_normal((50_000, 3)) @ np.linalg.cholesky(TRUE).T
    np.testing.assert_allclose(shrunk(many), many.T @ many / 50_000, atol=0.01)
    assert np.linalg.eigvalsh(shrunk(few[:2])).min() > 0  # two runs of three groups: no longer singular


def test_residuals_have_the_unbiased_variance_as_their_mean_square():
    runs = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(residuals(runs).T @ residuals(runs) / 5, np.cov(runs.T))
    assert residuals(runs[:1]).shape == (0, 3) and residuals(None).size == 0
    runs[2, 1] = np.nan
    assert len(residuals(runs)) == 4
    runs[:, 1] = np.nan  # a group that no run has
    assert np.isnan(residuals(runs)[:, 1]).all() and len(residuals(runs)) == 5


def test_an_aggregate_agent_is_told_the_slopes_through_the_covariance():
    environment = Noisy()
    found, _ = rounds(environment, "ei", count=3)
    one, agent = found[-1], bridges.make_agent("ei", environment)
    outcomes = simulators.Outcomes(one.outcomes, one.noise_variance)
    _, variance = observation(agent, environment, outcomes, one.policy, one.objective)
    assert variance[0] == pytest.approx(one.noise_variance.sum())  # slopes of a sum are 1
    _, each = observation(bridges.make_agent("d-ei", environment), environment, outcomes, one.policy, 0.0)
    np.testing.assert_array_equal(each[0], np.diag(one.noise_variance))


def test_runs_that_fail_or_lack_a_group_are_made_up_for_by_the_others():
    (first, second), _ = rounds(Noisy(fails=(2, 3)), count=2)
    assert len(first.runs) == 4 and first.status == "ok" and len(second.runs) == 6
    (_, gapped), _ = rounds(Noisy(gap=True), count=2)
    assert gapped.status == "ok" and np.isnan(gapped.runs).sum() == 3
    np.testing.assert_allclose(gapped.outcomes, np.nanmean(gapped.runs, axis=0))
    (lost,), _ = rounds(Noisy(fails=range(1, 7)), count=1)
    assert lost.status == "failed" and "the pump broke" in lost.error and lost.runs is None


def test_what_runs_state_themselves_is_used_until_something_is_known():
    (first, second), _ = rounds(Noisy(stated=np.array([9.0, 9.0, 9.0])), count=2)
    np.testing.assert_allclose(first.noise_variance, 9 / 6)
    assert second.noise_variance.shape == (3, 3)


def test_a_standard_error_is_reached_with_few_runs_more_than_it_takes():
    plan = Replication(400, np.array([0.3, np.nan, np.nan]))
    found, _ = rounds(Noisy(), count=12, plan=plan)
    late = [len(one.runs) for one in found[4:]]
    assert 30 < np.mean(late) < 60  # 4 / 0.09 = 44
    for one in found[1:]:
        assert np.sqrt(one.noise_variance[0, 0]) <= 0.3 * (1 + 1e-9) or len(one.runs) == 400
    capped, _ = rounds(Noisy(), count=2, plan=Replication(7, np.full(3, 1e-6)))
    assert [len(one.runs) for one in capped] == [7, 7]


def test_a_standard_error_of_the_objective_counts_what_groups_share():
    found, _ = rounds(Noisy(), count=12, plan=Replication(400, of_objective=0.7))
    late = [len(one.runs) for one in found[4:]]
    assert 20 < np.mean(late) < 42  # (4 + 4 + 2 * 3 + 0.01) / 0.49 = 29
    assert max(np.sqrt(one.noise_variance.sum()) for one in found[1:]) <= 0.7 * (1 + 1e-9)


def test_a_step_that_always_fails_is_not_repeated_for_ever():
    environment = Noisy(fails=range(1, 1000))
    (one,), _ = rounds(environment, count=1, plan=Replication(400, np.full(3, 0.1)))
    assert one.status == "failed" and environment.taken == 4


@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize("plan", [Replication(4), Replication(30, np.full(3, 0.6))])
def test_a_loop_goes_on_as_if_it_had_never_stopped(plan, parallel):
    whole, _ = rounds(Noisy(), plan=plan, count=9, parallel=parallel)
    environment = Noisy()
    loop = Loop(
        environment, bridges.make_agent("d-ei", environment, seed=1), 5, replication=plan, parallel=parallel
    )
    rest = list(loop.run(9, history=whole[:5]))
    for one, other in zip(whole[5:], sorted(rest, key=lambda one: one.round), strict=True):
        np.testing.assert_array_equal(one.runs, other.runs)
        np.testing.assert_array_equal(one.noise_variance, other.noise_variance)
        np.testing.assert_array_equal(one.policy, other.policy)


class Backwards:
    """Takes steps in the opposite order: who is done first must make no difference."""

    def __init__(self, environment):
        self.inner = OneByOne(environment)

    def take(self, asked):
        for which in reversed(range(len(asked))):
            (taken,) = self.inner.take([asked[which]])
            yield taken._replace(which=which)


def test_outcomes_do_not_depend_on_the_order_in_which_runs_end():
    plan = Replication(30, np.full(3, 0.6))
    one, _ = rounds(Noisy(), plan=plan, parallel=2)
    environment = Noisy()
    other, _ = rounds(environment, plan=plan, parallel=2, steps=Backwards(environment))
    for first, second in zip(one, sorted(other, key=lambda one: one.round), strict=True):
        np.testing.assert_array_equal(first.runs, second.runs)
        np.testing.assert_array_equal(first.noise_variance, second.noise_variance)


def test_steps_of_memory_are_not_repeated():
    environment = Noisy()
    environment.has_memory = True
    with pytest.raises(ValueError, match="has memory"):
        rounds(environment)


def test_pooled_noise_of_nothing_is_unknown():
    assert PooledNoise().covariance() is None
    steps = Replicated(OneByOne(Noisy(fails=(1,))), Noisy(), Replication(1))
    (taken,) = steps.take([(3, np.array([0.5]))])
    assert "the pump broke" in failure(taken.outcomes)
