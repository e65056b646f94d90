"""Limits on outcomes by number: against Monte Carlo, SciPy's multivariate normal, and differences."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm, truncnorm

from optimizer.composition.outcome_limits import SMOOTH, TOLERANCE, OutcomeLimits, log_interval, truncated

INF = np.inf
SEPARATE = OutcomeLimits([[1, 0, 0, 0], [0, 2, -1, 0]], [-INF, -0.5], [0.8, 1.0])
SHARED = OutcomeLimits([[1, 1, 0, 0], [0, 1, 1, 0]], [-INF, -0.5], [0.8, 1.0])


def product(F):
    return F[..., 0] * F[..., 1]


def total(F):
    return F[..., 0] + 2 * F[..., 3]


FUNCTION = OutcomeLimits(np.zeros((2, 4)), [-0.3, -INF], [0.7, 1.5], [product, total])
MIXED = OutcomeLimits([[0, 0, 0, 0], [0, 1, 1, 0]], [-0.3, -INF], [INF, 0.9], [product, None])
ALL = {"separate": SEPARATE, "shared": SHARED, "functions": FUNCTION, "function and sum": MIXED}


def groups(n=12, J=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 0.7, (n, J)), rng.uniform(0.02, 0.6, (n, J))


def by_monte_carlo(limits, means, variances, count=200_000):
    """The share of draws in which every limit is kept: nothing of the tested code."""
    z = np.random.default_rng(1).standard_normal((count, means.shape[1]))
    found = []
    for m, v in zip(means, np.sqrt(variances), strict=True):
        f = m + v * z
        keeps = np.ones(count, dtype=bool)
        for row, low, high, function in zip(limits.A, limits.low, limits.high, limits.functions, strict=True):
            value = f @ row if function is None else function(f)
            keeps &= (low <= value) & (value <= high)
        found.append(keeps.mean())
    return np.array(found)


# The probability


def test_independent_limits_have_the_product_of_their_probabilities():
    means, variances = groups()
    first = norm.cdf(0.8, means[:, 0], np.sqrt(variances[:, 0]))
    m, s = 2 * means[:, 1] - means[:, 2], np.sqrt(4 * variances[:, 1] + variances[:, 2])
    second = norm.cdf(1.0, m, s) - norm.cdf(-0.5, m, s)
    assert SEPARATE.independent
    np.testing.assert_allclose(SEPARATE.probability(means, variances), first * second, rtol=1e-12)
    np.testing.assert_allclose(SEPARATE.each(means, variances), np.stack([first, second], axis=1), rtol=1e-12)


def test_limits_that_share_a_group_have_the_bivariate_normal_s_probability():
    """256 samples, edges rounded over 5 % of a deviation: to 0.03, and to 0.015 where P is high."""
    means, variances = groups(20)
    exact = []
    for m, v in zip(means @ SHARED.A.T, variances, strict=True):
        law = multivariate_normal(m, (SHARED.A * v) @ SHARED.A.T)
        exact.append(law.cdf(SHARED.high, lower_limit=[-30.0, -0.5]))
    assert not SHARED.independent
    np.testing.assert_allclose(SHARED.probability(means, variances), exact, atol=0.03)
    likely = OutcomeLimits(SHARED.A, [-INF, -INF], [0.0, 0.0])
    for a, b in [(1.5, 2.0), (2.0, 2.0), (1.3, 4.0), (2.5, 2.5)]:
        v = variances[0]
        spread = np.sqrt((likely.A**2) @ v)
        means = -np.linalg.lstsq(likely.A, np.array([a, b]) * spread, rcond=None)[0]
        law = multivariate_normal(likely.A @ means, (likely.A * v) @ likely.A.T)
        assert law.cdf([0.0, 0.0]) > 0.88
        found = likely.probability(means[None], v[None])[0]
        assert found == pytest.approx(law.cdf([0.0, 0.0]), abs=0.015)


@pytest.mark.parametrize("limits", ALL.values(), ids=ALL)
def test_the_probability_is_the_share_of_draws_that_keep_all_limits(limits):
    means, variances = groups(6)
    exact = by_monte_carlo(limits, means, variances)
    np.testing.assert_allclose(limits.probability(means, variances), exact, atol=0.025)


def test_two_limits_on_the_same_group_are_not_independent():
    twice = OutcomeLimits([[1.0], [1.0]], [-INF, -INF], [0.5, 0.5])
    assert not twice.independent
    mean, variance = np.array([[0.5]]), np.array([[1.0]])
    assert twice.probability(mean, variance)[0] == pytest.approx(0.5, abs=0.015)  # and not a quarter
    np.testing.assert_allclose(twice.each(mean, variance), [[0.5, 0.5]], rtol=1e-12)


def test_a_function_that_is_a_sum_agrees_with_the_sum():
    means, variances = groups()
    row = np.array([1.0, 0.0, 0.0, 2.0])
    exact = OutcomeLimits([row], [-0.3], [1.5]).probability(means, variances)
    told = OutcomeLimits([0 * row], [-0.3], [1.5], [total])
    assert not told.independent
    np.testing.assert_allclose(told.probability(means, variances), exact, atol=0.015)


def test_a_group_that_is_known_exactly_keeps_its_limit_or_does_not():
    limits = OutcomeLimits([[1.0, 0.0]], [-INF], [0.8])
    P = limits.probability(np.array([[0.7, 0.0], [0.9, 0.0]]), np.zeros((2, 2)))
    np.testing.assert_array_equal(P, [1.0, 0.0])


# Tails


def test_an_interval_has_the_normal_s_probability_to_the_last_digits_in_both_tails():
    m = np.array([-38.0, -12.0, -5.0, 0.0, 0.3, 5.0, 12.0, 38.0])
    log, _, _ = log_interval(np.full(8, -1.0), np.full(8, 2.0), m, np.ones(8))
    # Reflected so that both ends are in the lower tail, where SciPy keeps its digits.
    flip = m < 0.5
    low, high = np.where(flip, -2.0 + m, -1.0 - m), np.where(flip, 1.0 + m, 2.0 - m)
    exact = norm.logcdf(high) + np.log1p(-np.exp(norm.logcdf(low) - norm.logcdf(high)))
    np.testing.assert_allclose(log, exact, rtol=1e-10)


@pytest.mark.parametrize("limits", [SEPARATE, SHARED, FUNCTION], ids=["separate", "shared", "functions"])
@pytest.mark.parametrize("size", [1e2, 1e6, 1e30])
def test_far_from_the_limits_everything_is_finite(limits, size):
    means = size * np.array([[1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, -1.0]])
    for variances in (np.zeros((2, 4)), np.full((2, 4), 1e-12), np.ones((2, 4))):
        log, in_means, in_variances = limits.chance(means, variances)
        assert np.isfinite(log).all() and (log <= 0).all()
        assert np.isfinite(in_means).all() and np.isfinite(in_variances).all()
        each = limits.each(means, variances)
        assert ((each >= 0) & (each <= 1)).all()


def test_where_the_probability_is_nothing_its_logarithm_still_says_the_way():
    limits = OutcomeLimits([[1.0]], [-INF], [0.0])
    log, in_means, _ = limits.chance(np.array([[50.0], [100.0]]), np.ones((2, 1)))
    assert log[0] > log[1] and log[1] == pytest.approx(norm.logcdf(-100.0), rel=1e-12)
    np.testing.assert_allclose(in_means[:, 0], [-50.0, -100.0], rtol=1e-3)  # -(m + 1/m) of Mills' ratio


def test_an_equation_is_told_as_nearly_impossible_and_not_as_an_error():
    limits = OutcomeLimits([[1.0]], [0.3], [0.3])
    log, in_means, _ = limits.chance(np.array([[0.0], [0.3]]), np.ones((2, 1)))
    assert np.isfinite(log).all() and np.isfinite(in_means).all() and (np.exp(log) < 1e-6).all()


# Slopes


def differences(of, at, step=1e-5):
    found = np.empty(at.shape)
    for j in range(at.shape[1]):
        change = np.zeros(at.shape)
        change[:, j] = step
        found[:, j] = (of(at + change) - of(at - change)) / (2 * step)
    return found


@pytest.mark.parametrize("limits", [SEPARATE, SHARED], ids=["separate", "shared"])
def test_slopes_are_those_of_differences(limits):
    means, variances = groups(8)
    chance = limits.chance(means, variances)
    in_means = differences(lambda at: limits.chance(at, variances).log, means)
    in_variances = differences(lambda at: limits.chance(means, at).log, variances)
    np.testing.assert_allclose(chance.in_means, in_means, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(chance.in_variances, in_variances, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("limits", [FUNCTION, MIXED], ids=["functions", "function and sum"])
def test_slopes_of_functions_are_those_of_differences_but_for_the_width_of_their_rounding(
    limits, monkeypatch
):
    """The width of a function's rounding counts as given: it is held while differences are taken."""
    means, variances = groups(8)
    widths = []
    real = log_interval

    def held(low, high, v, s):
        if not widths:
            widths.append(s.copy())
        return real(low, high, v, np.where([f is not None for f in limits.functions], widths[0], s))

    monkeypatch.setattr("optimizer.composition.outcome_limits.log_interval", held)
    chance = limits.chance(means, variances)
    in_means = differences(lambda at: limits.chance(at, variances).log, means)
    in_variances = differences(lambda at: limits.chance(means, at).log, variances)
    np.testing.assert_allclose(chance.in_means, in_means, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(chance.in_variances, in_variances, rtol=1e-4, atol=1e-6)


def test_slopes_near_the_bounds_of_a_narrow_interval_are_those_of_differences():
    limits = OutcomeLimits([[1.0, -2.0]], [-0.01], [0.01])
    means, variances = groups(10, 2)
    chance = limits.chance(means, variances)
    np.testing.assert_allclose(
        chance.in_means, differences(lambda at: limits.chance(at, variances).log, means), rtol=1e-5, atol=1e-7
    )
    np.testing.assert_allclose(
        chance.in_variances,
        differences(lambda at: limits.chance(means, at).log, variances),
        rtol=1e-4,
        atol=1e-6,
    )


# Outcomes that are known


def test_values_are_the_sums_and_the_functions():
    F = np.random.default_rng(0).normal(size=(3, 5, 4))
    np.testing.assert_allclose(MIXED.values(F), np.stack([product(F), F[..., 1] + F[..., 2]], axis=-1))
    assert MIXED.values(F[0, 0]).shape == (2,)


def test_excess_is_how_far_outside_a_value_lies():
    limits = OutcomeLimits([[1.0], [1.0]], [-INF, -1.0], [2.0, 5.0])
    np.testing.assert_allclose(
        limits.excess(np.array([[2.5], [1.0], [-3.0], [7.0]])), [[0.5, 0], [0, 0], [0, 2.0], [5.0, 2.0]]
    )


@pytest.mark.parametrize("limit", [0.02, 1.0, 1e6])
def test_kept_allows_a_rounding_error_and_no_more(limit):
    room = TOLERANCE * max(1.0, limit)
    outcomes = np.array([[limit], [limit + 0.9 * room], [limit + 1.5 * room], [limit - 1.0]])
    most = OutcomeLimits([[1.0]], [-INF], [limit])
    np.testing.assert_array_equal(most.kept(outcomes), [True, True, False, True])
    least = OutcomeLimits([[-1.0]], [-limit], [INF])
    np.testing.assert_array_equal(least.kept(outcomes), [True, True, False, True])


def test_missing_outcomes_keep_no_limit():
    assert not SEPARATE.kept(np.array([0.1, np.nan, 0.1, 0.1]))
    np.testing.assert_array_equal(
        SEPARATE.kept(np.array([[0.1, np.nan, 0.1, 0.1], [0.0] * 4])), [False, True]
    )


def test_all_limits_must_be_kept():
    assert not SEPARATE.kept(np.array([0.9, 0.0, 0.0, 0.0])) and not SEPARATE.kept(np.array([0, 2.0, 0, 0]))


def test_of_values_are_the_same_limits_beside_an_objective():
    beside = SHARED.of_values()
    F = np.random.default_rng(3).normal(size=(9, 4))
    told = np.column_stack([np.full(9, 77.0), SHARED.values(F)])
    np.testing.assert_allclose(beside.values(told), SHARED.values(F))
    np.testing.assert_array_equal(beside.kept(told), SHARED.kept(F))
    assert beside.groups == 3 and beside.independent and beside.names == SHARED.names
    functions = FUNCTION.of_values()  # a function of groups is a value like any other for who is told it
    np.testing.assert_allclose(functions.values(np.array([5.0, 1.0, 2.0])), [1.0, 2.0])


def test_smoothing_is_narrow():
    assert SMOOTH <= 0.05


# Bad input


@pytest.mark.parametrize(
    ("weights", "low", "high", "words"),
    [
        ([1.0, 2.0], [0.0], [1.0], r"weights must have shape \(K, J\)"),
        ([[1.0, 2.0]], [0.0, 0.0], [1.0], "low and high must be 1 numbers"),
        ([[1.0, 2.0]], [0.0], [1.0, 2.0], "low and high must be 1 numbers"),
        ([[1.0, np.nan]], [0.0], [1.0], "must be finite"),
        ([[1.0, INF]], [0.0], [1.0], "must be finite"),
        ([[1.0, 2.0]], [np.nan], [1.0], "limits numbers"),
        ([[1.0, 2.0]], [0.0], [np.nan], "limits numbers"),
        ([[1.0, 2.0], [1.0, 0.0]], [0.0, 3.0], [1.0, 2.0], "limit 2 asks for at least 3 and at most 2"),
        ([[1.0, 2.0], [0.0, 0.0]], [0.0, 0.0], [1.0, 1.0], "limit 2 is of no group"),
    ],
)
def test_limits_that_make_no_sense_are_refused(weights, low, high, words):
    with pytest.raises(ValueError, match=words) as error:
        OutcomeLimits(weights, low, high)
    assert "\n" not in str(error.value)


# Outcomes that have a range

PERSONS = [[0.0, INF], [0.0, INF], [-0.2, 0.9], [-INF, INF]]
RANGED = {
    "separate": OutcomeLimits([[1, 0, 0, 0], [0, 0, -2, 0]], [-INF, -0.5], [0.8, 1.0], ranges=PERSONS),
    "a sum": OutcomeLimits([[1, 1, 0, 0]], [-INF], [0.8], ranges=PERSONS),
    "shared": OutcomeLimits(SHARED.A, SHARED.low, SHARED.high, ranges=PERSONS),
    "functions": OutcomeLimits(FUNCTION.A, FUNCTION.low, FUNCTION.high, FUNCTION.functions, ranges=PERSONS),
}


@pytest.mark.parametrize("name", RANGED)
def test_a_probability_is_that_of_outcomes_within_their_range(name):
    """Beside draws of SciPy's truncated normal."""
    limits = RANGED[name]
    means, variances = groups(8)
    for m, v, found in zip(means, variances, limits.probability(means, variances), strict=True):
        ends = (limits.ranges.T - m) / np.sqrt(v)
        f = truncnorm.rvs(*ends, loc=m, scale=np.sqrt(v), size=(50_000, 4), random_state=2)
        assert found == pytest.approx(limits.kept(f).mean(), abs=0.01 if limits.independent else 0.04)


def test_the_probability_of_one_group_s_limit_is_scipy_s_truncated_normal_s():
    limits = OutcomeLimits([[1.0]], [-INF], [0.6], ranges=[[0.0, INF]])
    means, s = np.array([0.1, -0.5, -4.0, 0.7, 3.0]), np.array([0.3, 0.2, 0.2, 0.4, 0.3])
    expected = truncnorm.cdf(0.6, -means / s, INF, loc=means, scale=s)
    np.testing.assert_allclose(limits.probability(means[:, None], (s**2)[:, None]), expected, rtol=1e-9)
    assert limits.probability([[0.1]], [[0.09]]) < OutcomeLimits([[1.0]], [-INF], [0.6]).probability(
        np.array([[0.1]]), np.array([[0.09]])
    )


@pytest.mark.parametrize("alpha, beta", [(-0.5, INF), (2.0, INF), (9.0, 12.0), (-INF, -30.0), (-1.0, 0.3)])
def test_samples_within_ends_are_quantiles_of_scipy_s_truncated_normal(alpha, beta):
    z = np.linspace(-3, 3, 41)
    t, _, _ = truncated(z, *np.clip(np.array([alpha, beta]), -1e8, 1e8))
    np.testing.assert_allclose(t, truncnorm.ppf(norm.cdf(z), alpha, beta), rtol=1e-7)


@pytest.mark.parametrize("name", RANGED)
def test_slopes_within_a_range_are_those_of_differences(name):
    limits = RANGED[name]
    means, variances = groups(6, seed=5)
    chance = limits.chance(means, variances)
    for j in range(4):
        step = np.zeros(4)
        step[j] = 1e-5
        for slopes, ups, downs in (
            (chance.in_means, (means + step, variances), (means - step, variances)),
            (chance.in_variances, (means, variances + step), (means, variances - step)),
        ):
            numerical = (limits.chance(*ups).log - limits.chance(*downs).log) / 2e-5
            if name == "functions" and slopes is chance.in_variances:
                continue  # the width of a function's rounding off counts as given
            rtol = 0.01 if name == "functions" else 2e-3
            np.testing.assert_allclose(slopes[:, j], numerical, rtol=rtol, atol=2e-4)


def test_a_limit_beyond_what_outcomes_can_be_is_kept_for_certain_or_never():
    sure = OutcomeLimits([[1.0]], [-0.5], [INF], ranges=[[0.0, 1.0]])
    never = OutcomeLimits([[1.0]], [1.5], [INF], ranges=[[0.0, 1.0]])
    at = np.array([[0.2], [-3.0], [1.4]]), np.full((3, 1), 0.1)
    np.testing.assert_allclose(sure.probability(*at), 1.0, rtol=1e-9)
    assert (never.probability(*at) < 1e-6).all()


def test_who_is_told_values_knows_the_range_of_the_values():
    limits = OutcomeLimits(
        [[2.0, -1.0, 0.0], [0.0, 0.0, 3.0]], [-INF] * 2, [1.0, 1.0], ranges=[[0, 1], [0, 4], [0, INF]]
    )
    np.testing.assert_array_equal(limits.of_values(2).ranges, [[-INF, INF]] * 2 + [[-4, 2], [0, INF]])
    np.testing.assert_array_equal(limits.of_groups([0, 2]).ranges, [[0, 1], [0, INF]])
    with pytest.raises(ValueError, match=r"ranges must have shape \(1, 2\)"):
        OutcomeLimits([[1.0]], [0.0], [1.0], ranges=[0.0, 1.0])
