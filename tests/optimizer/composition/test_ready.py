"""Ready-made compositions: by hand, by differences, by Monte Carlo, and CVaR by a linear program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from optimizer import Composition, GeneralComposition
from optimizer.composition.propagation import Closed, Delta, Sampled
from optimizer.composition.ready import READY, CountBeyond, CVaR, GroupGap, WorstGroup, ready

SENSES = ["minimize", "maximize"]
KINDS = [WorstGroup, GroupGap, lambda s: CVaR(s, 0.3), lambda s: CVaR(s, 0.75), lambda s: CountBeyond(s, 0.1)]
F = np.array([3.0, -1.0, 2.0, 2.5])


def groups(n=9, J=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (n, J)), rng.uniform(0.05, 0.6, (n, J))


# Values


@pytest.mark.parametrize(
    ("name", "options", "minimize", "maximize"),
    [
        ("worst-group", {}, 3.0, -1.0),
        ("group-gap", {}, 4.0, 4.0),
        ("cvar", {"level": 0.0}, 6.5 / 4, 6.5 / 4),
        ("cvar", {"level": 0.5}, 5.5 / 2, 1.0 / 2),
        ("cvar", {"level": 0.375}, (3 + 2.5 + 0.5 * 2) / 2.5, (-1 + 2 + 0.5 * 2.5) / 2.5),
        ("cvar", {"level": 0.75}, 3.0, -1.0),
        ("cvar", {"level": 0.99}, 3.0, -1.0),
        ("count", {"threshold": 2.2}, 2.0, 2.0),
        ("count", {"threshold": 2.5}, 1.0, 2.0),
        ("count", {"threshold": -5.0}, 4.0, 0.0),
    ],
)
def test_values_are_those_by_hand(name, options, minimize, maximize):
    for sense, expected in (("minimize", minimize), ("maximize", maximize)):
        g = ready(name, sense, **options)
        assert g(F) == pytest.approx(expected, rel=1e-14)
        many = np.stack([[F, F[::-1]], [F[[1, 0, 3, 2]], F]])
        np.testing.assert_allclose(g(many), np.full((2, 2), expected), rtol=1e-14)


def by_linear_program(losses, level):
    """min_t t + mean max(losses - t, 0) / (1 - level) (Rockafellar & Uryasev 2000, Theorem 1)."""
    J = len(losses)
    cost = np.concatenate([[1.0], np.full(J, 1 / (J * (1 - level)))])
    A = np.column_stack([-np.ones(J), -np.eye(J)])
    return linprog(cost, A_ub=A, b_ub=-losses, bounds=[(None, None)] + [(0, None)] * J).fun


@pytest.mark.parametrize("level", [0.0, 0.2, 0.5, 0.61, 0.9, 0.999])
def test_cvar_is_the_optimum_of_rockafellar_and_uryasev_s_linear_program(level):
    outcomes, _ = groups(4, 7)
    worst = [by_linear_program(one, level) for one in outcomes]
    np.testing.assert_allclose(CVaR("minimize", level)(outcomes), worst, rtol=1e-9)
    worst = [-by_linear_program(-one, level) for one in outcomes]
    np.testing.assert_allclose(CVaR("maximize", level)(outcomes), worst, rtol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=8), st.floats(0, 0.999))
def test_cvar_lies_between_the_mean_and_the_worst_group(outcomes, level):
    f = np.array(outcomes)
    value = CVaR("minimize", level)(f)
    assert f.mean() - 1e-9 <= value <= f.max() + 1e-9
    assert CVaR("maximize", level)(-f) == pytest.approx(-value, abs=1e-9)
    assert CVaR("minimize", level).shares(len(f)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sense", SENSES)
def test_a_missing_group_makes_every_objective_missing(kind, sense):
    for j in range(4):
        f = F.copy()
        f[j] = np.nan
        assert np.isnan(kind(sense)(f))
        np.testing.assert_array_equal(np.isnan(kind(sense)(np.stack([f, F]))), [True, False])


def test_what_is_to_be_done_with_each_objective():
    for sense in SENSES:
        assert WorstGroup(sense).own_sense == sense and CVaR(sense).own_sense == sense
        assert GroupGap(sense).own_sense == "minimize" and CountBeyond(sense).own_sense == "minimize"
    assert set(READY) == {"worst-group", "group-gap", "cvar", "count"}


# Slopes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sense", SENSES)
def test_slopes_are_those_of_differences_away_from_kinks(kind, sense):
    g, (outcomes, _) = kind(sense), groups(40)
    found = np.empty_like(outcomes)
    for j in range(4):
        change = np.zeros(4)
        change[j] = 1e-6
        found[:, j] = (g(outcomes + change) - g(outcomes - change)) / 2e-6
    np.testing.assert_allclose(g.slopes(outcomes), found, atol=1e-8)
    np.testing.assert_allclose(g.slopes(outcomes.reshape(5, 8, 4)), found.reshape(5, 8, 4), atol=1e-8)
    bounds = g.bounds(4)
    assert (bounds is None) == g.jumps
    if bounds is not None:
        assert bounds.shape == (4,)
        assert (np.abs(g.slopes(outcomes)) <= bounds + 1e-12).all()


@pytest.mark.parametrize("kind", KINDS[:4])
@pytest.mark.parametrize("sense", SENSES)
def test_at_a_tie_slopes_are_those_of_one_side(kind, sense):
    tied = np.array([2.0, 2.0, 0.0, 2.0])
    slopes = kind(sense).slopes(tied)
    # Along any one direction g changes by what the slopes of one of the orders say.
    orders = [
        kind(sense).slopes(tied + 1e-9 * np.array(order))
        for order in np.random.default_rng(0).normal(size=(60, 4))
    ]
    assert any(np.allclose(slopes, other) for other in orders)


def test_the_gap_of_one_group_is_nothing_and_has_no_slope():
    one = GroupGap("minimize")
    np.testing.assert_array_equal(one(np.array([[3.0]])), [0.0])
    np.testing.assert_array_equal(one.slopes(np.array([[3.0]])), [[0.0]])


# Moments


def drawn(g, means, variances, count=200_000):
    z = np.random.default_rng(5).standard_normal((count, means.shape[1]))
    values = np.stack([g(m + s * z) for m, s in zip(means, np.sqrt(variances), strict=True)])
    return values.mean(axis=1), values.var(axis=1)


@pytest.mark.parametrize("kind", [WorstGroup, GroupGap, lambda s: CountBeyond(s, 0.2)])
@pytest.mark.parametrize("sense", SENSES)
def test_closed_moments_of_two_groups_are_those_of_draws(kind, sense):
    means, variances = groups(5, 2)
    g = kind(sense)
    mean, variance = drawn(g, means, variances)
    closed = g.moments(means, variances)
    np.testing.assert_allclose(closed.mean, mean, atol=6e-3)
    np.testing.assert_allclose(closed.variance, variance, rtol=0.015, atol=1e-3)


def test_the_count_of_many_groups_has_its_closed_moments():
    means, variances = groups(5, 6)
    g = CountBeyond("maximize", -0.3)
    mean, variance = drawn(g, means, variances, 100_000)
    np.testing.assert_allclose(g.moments(means, variances).mean, mean, atol=0.01)
    np.testing.assert_allclose(g.moments(means, variances).variance, variance, rtol=0.02)


def test_the_worst_of_two_equal_groups_is_clark_s():
    """E max of two standard normals is 1 / sqrt(pi), its variance 1 - 1 / pi."""
    means, variances = np.zeros((1, 2)), np.ones((1, 2))
    for sense, sign in (("minimize", 1), ("maximize", -1)):
        mean, variance = WorstGroup(sense).moments(means, variances)
        assert mean[0] == pytest.approx(sign / np.sqrt(np.pi), rel=1e-12)
        assert variance[0] == pytest.approx(1 - 1 / np.pi, rel=1e-12)
    mean, variance = GroupGap("minimize").moments(means, variances)
    assert mean[0] == pytest.approx(2 / np.sqrt(np.pi)) and variance[0] == pytest.approx(2 - 4 / np.pi)


def test_closed_moments_are_exact_where_groups_are_known():
    means = np.array([[1.0, 3.0], [2.0, -1.0]])
    for kind in (WorstGroup, GroupGap, lambda s: CountBeyond(s, 1.5)):
        g = kind("minimize")
        mean, variance = g.moments(means, np.zeros((2, 2)))
        np.testing.assert_allclose(mean, g(means), rtol=1e-12)
        np.testing.assert_allclose(variance, 0, atol=1e-12)


def test_only_few_groups_have_closed_moments():
    means, variances = groups(3, 3)
    assert WorstGroup("minimize").moments(means, variances) is None
    assert GroupGap("minimize").moments(means, variances) is None
    assert CVaR("minimize").moments(means, variances) is None
    one = WorstGroup("maximize").moments(means[:, :1], variances[:, :1])
    np.testing.assert_array_equal(one.mean, means[:, 0])
    np.testing.assert_array_equal(one.variance, variances[:, 0])


@pytest.mark.parametrize("sense", SENSES)
def test_slopes_of_the_count_s_moments_are_those_of_differences(sense):
    g, (means, variances) = CountBeyond(sense, 0.2), groups(6, 3)
    of_mean, of_variance = g.moment_slopes(means, variances)
    step = 1e-6
    for j in range(3):
        e = np.zeros(3)
        e[j] = step
        up, down = g.moments(means + e, variances), g.moments(means - e, variances)
        np.testing.assert_allclose(
            of_mean.mean[:, j], (up.mean - down.mean) / (2 * step), rtol=1e-6, atol=1e-9
        )
        np.testing.assert_allclose(
            of_variance.mean[:, j], (up.variance - down.variance) / (2 * step), rtol=1e-6, atol=1e-8
        )
        up, down = g.moments(means, variances + e), g.moments(means, variances - e)
        np.testing.assert_allclose(
            of_mean.variance[:, j], (up.mean - down.mean) / (2 * step), rtol=1e-6, atol=1e-8
        )
        np.testing.assert_allclose(
            of_variance.variance[:, j], (up.variance - down.variance) / (2 * step), rtol=1e-6, atol=1e-8
        )


# As compositions


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sense", SENSES)
def test_a_composition_of_it_is_signed_so_that_more_is_better(kind, sense):
    g = kind(sense)
    composition, (means, _) = GeneralComposition.of(g, 4), groups()
    X = np.zeros((len(means), 1))
    sign = 1.0 if g.own_sense == "maximize" else -1.0
    assert composition.sign == sign
    np.testing.assert_allclose(composition.compose(means, X), sign * g(means))
    np.testing.assert_allclose(composition.slopes(means, X), g.slopes(means))


@pytest.mark.parametrize("sense", SENSES)
def test_the_moments_of_a_composition_are_the_closed_ones_in_its_sign(sense):
    means, variances = groups(5, 2)
    X = np.zeros((5, 1))
    for kind in (WorstGroup, GroupGap, lambda s: CountBeyond(s, 0.2)):
        g = kind(sense)
        composition = GeneralComposition.of(g, 2)
        closed, found = g.moments(means, variances), composition.moments(means, variances, X)
        np.testing.assert_allclose(found.mean, composition.sign * closed.mean)
        np.testing.assert_allclose(found.variance, closed.variance)
        sampled = GeneralComposition.of(g, 2).propagated(Sampled(2)).moments(means, variances, X)
        np.testing.assert_allclose(sampled.mean, composition.sign * closed.mean)


def test_samples_of_the_worst_of_two_agree_with_the_closed_form():
    means, variances = groups(5, 2)
    composition = GeneralComposition.of(WorstGroup("minimize"), 2)
    samples = Sampled(2, samples=2048).samples(composition, means, variances, np.zeros((5, 1)))
    closed = composition.moments(means, variances, np.zeros((5, 1)))
    np.testing.assert_allclose(samples.mean(axis=0), closed.mean, atol=0.01)
    np.testing.assert_allclose(samples.var(axis=0), closed.variance, rtol=0.05)


def test_what_jumps_keeps_its_closed_form_whatever_propagation_is_asked_for():
    composition = GeneralComposition.of(CountBeyond("minimize"), 3)
    assert isinstance(composition.propagation, Closed)
    for other in (Delta(), Sampled(3)):
        assert isinstance(composition.propagated(other).propagation, Closed)
    assert isinstance(GeneralComposition.of(WorstGroup("minimize"), 3).propagated(Delta()).propagation, Delta)


def test_the_closed_form_s_gradient_is_that_of_differences():
    """Through means and variances that depend on x, and a score that depends on mean and variance."""
    g = CountBeyond("maximize", 0.1)
    composition = GeneralComposition.of(g, 2)

    def at(x):
        return np.stack([np.sin(x), x**2], axis=1), np.stack([0.3 + x**2, 1 + 0 * x], axis=1)

    def score(x):
        mean, variance = composition.moments(*at(x), x[:, None])
        return 2 * mean + 0.7 * variance

    def chain(slopes):
        in_x = np.stack([np.cos(x), 2 * x], axis=1)
        of_variances = np.stack([2 * x, 0 * x], axis=1)
        return ((slopes.means * in_x + slopes.variances * of_variances).sum(axis=1))[:, None]

    x = np.array([-0.4, 0.2, 0.9])
    slopes = type(composition.moments(*at(x), x[:, None]))(np.full(3, 2.0), np.full(3, 0.7))
    found = composition.propagation.gradient(composition, *at(x), x[:, None], slopes, chain)
    np.testing.assert_allclose(found[:, 0], (score(x + 1e-6) - score(x - 1e-6)) / 2e-6, rtol=1e-6)


def test_cvar_at_level_0_is_the_weighted_sum_of_equal_weights():
    means, variances = groups(6, 5)
    X = np.zeros((6, 1))
    linear = Composition(5, weights=np.full(5, 0.2), sense="minimize").moments(means, variances, X)
    found = (
        GeneralComposition.of(CVaR("minimize", 0.0), 5).propagated(Sampled(5)).moments(means, variances, X)
    )
    np.testing.assert_allclose(found, linear, rtol=1e-10)


# Bad input


@pytest.mark.parametrize("level", [-0.1, 1.0, 1.5, np.nan, np.inf])
def test_a_level_outside_0_to_1_is_refused(level):
    with pytest.raises(ValueError, match="level = .*accepted: a number from 0 up to, and without, 1"):
        ready("cvar", "minimize", level=level)


@pytest.mark.parametrize("threshold", [np.nan, np.inf, -np.inf])
def test_a_threshold_that_is_not_finite_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold = .*accepted: a finite number"):
        ready("count", "maximize", threshold=threshold)


def test_an_unknown_objective_is_told_with_the_nearest():
    with pytest.raises(ValueError, match="worst-grop.*worst-group"):
        ready("worst-grop", "minimize")
    with pytest.raises(TypeError):
        ready("worst-group", "minimize", level=0.5)
