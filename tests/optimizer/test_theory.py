"""Theory as numbers: against brute force, against the posteriors, and against simulated bandits."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from optimizer import (
    CandidatePosterior,
    Composition,
    ConstantBeta,
    DecomposedGP,
    FiniteBeta,
    GaussianProcess,
    Prior,
    SearchSpace,
    make_agent,
    maximum_information_gain,
    regret_bounds,
)
from optimizer.kernels.composed import compose_kernels, joined_features
from optimizer.theory import (
    GREEDY_SHARE,
    decomposed_regret_bound,
    decomposed_variance,
    entire_regret_bound,
    entire_variance,
    general_regret_bound,
    information_gain,
    regret_constant,
    unscaled_beta,
)


def gain_of(kernel, points, noise, rows):
    """Information gain of observing `rows`, repeats included, by the definition."""
    rows = list(rows)
    return information_gain(kernel(points[rows]), np.broadcast_to(noise, len(points))[rows]) if rows else 0.0


# Information gain


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.floats(1e-3, 10.0), st.integers(0, 10**6))
def test_information_gain_is_the_sum_of_the_predictive_variances(T, noise, seed):
    """Lemma 5.3: 1/2 sum_t log(1 + sigma^-2 sigma_{t-1}^2(x_t))."""
    X = np.random.default_rng(seed).random((T, 2))
    kernel = ConstantKernel(1.3) * RBF(0.4)
    gp, total = GaussianProcess(kernel, noise), 0.0
    for x in X:
        total += np.log1p(gp.predict(x[None])[1][0] / noise) / 2
        gp.observe(x[None], [0.0])
    assert information_gain(kernel(X), noise) == pytest.approx(total, rel=1e-8)


def test_information_gain_is_the_difference_of_gaussian_entropies():
    K = Matern(0.5, nu=1.5)(np.random.default_rng(0).random((6, 1)))
    noise = np.linspace(0.1, 0.6, 6)

    def entropy(covariance):
        return np.log(np.linalg.eigvalsh(2 * np.pi * np.e * covariance)).sum() / 2

    assert information_gain(K, noise) == pytest.approx(entropy(K + np.diag(noise)) - entropy(np.diag(noise)))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-3, 10.0))
def test_information_gain_is_submodular_and_monotone(seed, noise):
    rng = np.random.default_rng(seed)
    points = rng.random((8, 1))
    kernel = RBF(rng.uniform(0.05, 1))
    large = rng.permutation(7)[: rng.integers(1, 7)]
    small = large[: rng.integers(0, len(large) + 1)]
    x = 7

    def step(A):
        return gain_of(kernel, points, noise, [*A, x]) - gain_of(kernel, points, noise, A)

    assert step(small) >= step(large) - 1e-9 >= -1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-2, 5.0), st.booleans(), st.integers(1, 4))
def test_greedy_and_upper_bound_enclose_the_best_of_all_choices(seed, noise, varying, T):
    rng = np.random.default_rng(seed)
    points = rng.random((6, 2))
    kernel = ConstantKernel(rng.uniform(0.3, 3)) * RBF(rng.uniform(0.05, 1))
    noise = noise * rng.uniform(0.3, 3, 6) if varying else noise
    gain = maximum_information_gain(kernel, points, T, noise)
    for t in range(1, T + 1):
        best = max(
            gain_of(kernel, points, noise, rows) for rows in combinations_with_replacement(range(6), t)
        )
        assert gain.greedy[t - 1] == pytest.approx(gain_of(kernel, points, noise, gain.rows[:t]), abs=1e-9)
        assert GREEDY_SHARE * best - 1e-9 <= gain.greedy[t - 1] <= best + 1e-9
        assert best - 1e-9 <= gain.upper[t - 1] <= gain.greedy[t - 1] / GREEDY_SHARE + 1e-12


def test_greedy_is_not_always_the_best():
    """Two ends tell more than the middle and an end, but the middle is the best single point."""
    points = np.array([[0.0], [0.5], [1.0]])
    kernel, noise = RBF(0.6), np.array([0.5, 0.45, 0.5])
    gain = maximum_information_gain(kernel, points, 2, noise)
    assert gain.rows[0] == 1
    best = gain_of(kernel, points, noise, [0, 2])
    assert gain.greedy[1] < best - 1e-3 and best <= gain.upper[1]


def test_each_greedy_step_takes_the_largest_posterior_variance():
    points = np.random.default_rng(1).random((40, 2))
    rows = maximum_information_gain(RBF(0.3), points, 12, 0.05).rows
    gp = GaussianProcess(RBF(0.3), 0.05)
    for row in rows:
        variance = gp.predict(points)[1]
        assert variance[row] >= variance.max() - 1e-9
        gp.observe(points[[row]], [0.0])


def test_one_candidate_is_observed_again_and_again():
    gain = maximum_information_gain(ConstantKernel(2.0) * RBF(1.0), [[0.3]], 5, 0.5)
    np.testing.assert_allclose(gain.greedy, np.log1p(2.0 / 0.5 * np.arange(1, 6)) / 2)
    assert (gain.upper >= gain.greedy).all()


def test_upper_bound_of_a_learned_process_is_far_below_the_greedy_share():
    gain = maximum_information_gain(RBF(1.0), np.linspace(0, 1, 200)[:, None], 100, 0.1)
    assert gain.upper[-1] < 0.85 * gain.greedy[-1] / GREEDY_SHARE


def test_scaling_kernel_and_noise_together_changes_the_constant_alone():
    points = np.linspace(0, 1, 30)[:, None]
    plain = maximum_information_gain(RBF(0.2), points, 8, 0.1)
    scaled = maximum_information_gain(ConstantKernel(7.0) * RBF(0.2), points, 8, 0.7)
    np.testing.assert_allclose(scaled.upper, plain.upper, rtol=1e-9)
    assert scaled.constant == pytest.approx(7 * plain.constant)
    assert plain.constant == pytest.approx(8 / np.log(1 + 1 / 0.1))


# Propositions and Theorem 1


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 10), st.floats(1e-3, 1.0), st.integers(0, 10**6), st.booleans())
def test_propositions_equal_the_posteriors_and_keep_theorem_1(J, T, noise, seed, constant):
    rng = np.random.default_rng(seed)
    kernels = [ConstantKernel(rng.uniform(0.2, 2)) * RBF(rng.uniform(0.05, 2)) for _ in range(J)]
    W = rng.uniform(0.2, 2, (2, J)) * rng.choice([-1, 1], J)
    composition = Composition(J, weights=W[0] if constant else lambda X: W[0] + X @ W[1:])
    X, new = rng.random((T, 1)), rng.random((7, 1))
    noises = noise * rng.uniform(0.5, 2.0, J)
    decomposed = decomposed_variance(kernels, noises, composition, X, new)
    entire = entire_variance(kernels, noises, composition, X, new)
    model = DecomposedGP(kernels, noises, composition).observe(X, np.zeros((T, J)))
    np.testing.assert_allclose(decomposed, model.predict(new)[1], rtol=1e-6, atol=1e-8)
    features = joined_features(lambda X: X, composition)
    whole = GaussianProcess(compose_kernels(kernels, composition), 0.0)
    whole.observe(features(X), np.zeros(T), composition.variance(np.tile(noises, (T, 1)), X))
    np.testing.assert_allclose(entire, whole.predict(features(new))[1], rtol=1e-6, atol=1e-8)
    assert (decomposed <= entire + 1e-9 * (1 + entire)).all()


def test_propositions_say_where_zero_weights_break_them():
    X = np.array([[0.0], [1.0]])
    some = Composition(2, weights=lambda X: np.hstack([X, np.ones_like(X)]))
    none = Composition(2, weights=0.0)
    with pytest.raises(ValueError, match="Proposition 2 needs nonzero weights"):
        decomposed_variance([RBF()] * 2, [0.1, 0.1], some, X, X)
    assert np.isfinite(entire_variance([RBF()] * 2, [0.1, 0.1], some, X, X)).all()
    with pytest.raises(ValueError, match="Proposition 1 needs a nonzero weight"):
        entire_variance([RBF()] * 2, [0.1, 0.1], none, X, X)


# Regret bounds


def world(seed, n=60, J=3, noise=(0.01, 0.04, 0.02), scales=(1.0, 4.0, 0.25)):
    """Candidates, prior, weights and the groups' true functions, drawn from that prior."""
    rng = np.random.default_rng(seed)
    points = np.linspace(0, 1, n)[:, None]
    kernels = [ConstantKernel(s) * RBF(rng.uniform(0.05, 0.3)) for s in scales[:J]]
    draws = [np.linalg.cholesky(k(points) + 1e-9 * np.eye(n)) @ rng.standard_normal(n) for k in kernels]
    prior = Prior(kernels, np.array(noise[:J]), [0.0] * J)
    return points, prior, Composition(J, weights=[1.0, -0.5, 2.0][:J]), np.stack(draws, axis=1), rng


def play(agent, f, noise, composition, rounds, rng):
    """Cumulative regret of an agent over the candidates, round by round."""
    tried = []
    for _ in range(rounds):
        rows = agent.ask()
        Y = f[rows] + np.sqrt(noise) * rng.standard_normal((1, f.shape[1]))
        agent.tell(rows, Y if agent.feedback == "decomposed" else composition.unsigned(Y, rows))
        tried.append(rows[0])
    objective = composition.unsigned(f, np.arange(len(f)))
    return np.cumsum(objective.max() - objective[tried])


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_regret_stays_below_its_bound_in_every_run(name):
    T = 30
    for seed in range(20):
        points, prior, composition, f, rng = world(seed)
        space = SearchSpace(candidates=points)
        exploration = FiniteBeta(len(points), delta=0.1)
        agent = make_agent(name, space, composition, prior=prior, exploration=exploration, seed=seed)
        regret = play(agent, f, prior.noise_variances, composition, T, rng)
        bounds = regret_bounds(prior, composition, space, exploration, T)
        bound = bounds.decomposed if name == "d-gpucb" else bounds.entire
        assert (regret <= bound).all() and regret[-1] > 0


def squared_widths(prior, composition, points, rows):
    """4 sum_t sigma_{t-1}^2(x_t) of Algorithm 2, and every group's information gain of the rows."""
    posterior = CandidatePosterior(prior.kernels, prior.noise_variances, composition, features=points)
    total = 0.0
    for row in rows:
        total += 4 * posterior.predict([row])[1][0]
        posterior.observe([row], np.zeros((1, composition.groups)))
    gains = [
        gain_of(kernel, points, noise, rows)
        for kernel, noise in zip(prior.kernels, prior.noise_variances, strict=True)
    ]
    return total, gains


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-3, 100.0))
def test_information_gain_bounds_the_widths_with_one_constant_a_group(seed, level):
    """The step of Theorem 2's proof where C_1 enters: for any rows, unequal noises and unequal variances."""
    points, prior, composition, _, rng = world(seed, n=15)
    prior = Prior(prior.kernels, level * prior.noise_variances, prior.means)
    rows = rng.integers(0, 15, 10)
    widths, gains = squared_widths(prior, composition, points, rows)
    constants = [maximum_information_gain(*case).constant for case in group_cases(prior, points, 1)]
    bound = sum(c * B**2 * g for c, B, g in zip(constants, [1.0, 0.5, 2.0], gains, strict=True))
    assert widths <= bound * (1 + 1e-9)


def group_cases(prior, points, rounds):
    return [(k, points, rounds, noise) for k, noise in zip(prior.kernels, prior.noise_variances, strict=True)]


def test_no_smaller_constant_would_do_where_noise_is_large():
    points, prior, composition, _, _ = world(0, n=15)
    prior = Prior(prior.kernels, 1e4 * prior.noise_variances, prior.means)
    widths, gains = squared_widths(prior, composition, points, [0, 7, 14])
    constants = [maximum_information_gain(*case).constant for case in group_cases(prior, points, 1)]
    assert widths >= 0.99 * sum(c * B**2 * g for c, B, g in zip(constants, [1, 0.5, 2], gains, strict=True))


def test_one_constant_for_all_groups_as_printed_would_not_hold():
    """With k_2 up to 4 and noises apart, C_1 of the smallest noise lies below the widths."""
    points, prior, composition, _, _ = world(0, n=15)
    prior = Prior(prior.kernels, np.array([0.001, 50.0, 0.001]), prior.means)
    only_second = Composition(3, weights=[0.0, 1.0, 0.0])
    widths, gains = squared_widths(prior, only_second, points, [0, 7, 14])
    assert widths > regret_constant(0.001) * gains[1]
    second = maximum_information_gain(*group_cases(prior, points, 1)[1])
    assert widths <= second.constant * gains[1]


def test_theorem_2_is_the_papers_form_for_equal_noise_and_unit_kernels():
    points = np.linspace(0, 1, 30)[:, None]
    gains = [maximum_information_gain(RBF(length), points, 6, 0.05) for length in (0.1, 0.4)]
    beta = unscaled_beta(FiniteBeta(30, 0.1, scale_down=5.0), 6)
    T, B = np.arange(1, 7), np.array([1.0, 3.0])
    printed = np.sqrt(8 / np.log(1 + 1 / 0.05) * T * beta * (gains[0].upper + 9 * gains[1].upper))
    np.testing.assert_allclose(decomposed_regret_bound(beta, B, gains), printed)
    np.testing.assert_allclose(beta, 2 * np.log(30 * T**2 * np.pi**2 / 0.6))


def test_bound_of_one_group_is_that_of_gp_ucb():
    points, prior, _, _, _ = world(3, J=1)
    space = SearchSpace(candidates=points)
    bounds = regret_bounds(prior, Composition(1, weights=-3.0), space, FiniteBeta(60), 5)
    np.testing.assert_allclose(bounds.decomposed, bounds.entire, rtol=1e-9)


def test_bounds_of_varying_weights_take_the_largest_weight_and_the_noise_at_every_candidate():
    points, prior, _, _, _ = world(4, J=2)
    space = SearchSpace(candidates=points)
    composition = Composition(2, weights=lambda rows: np.hstack([1 + points[rows], -points[rows]]))
    bounds = regret_bounds(prior, composition, space, FiniteBeta(60), 4)
    beta = unscaled_beta(FiniteBeta(60), 4)
    gains = [maximum_information_gain(*case) for case in group_cases(prior, points, 4)]
    np.testing.assert_allclose(bounds.decomposed, decomposed_regret_bound(beta, [2.0, 1.0], gains))
    # At the last candidate both the composed variance and the composed noise are largest.
    k, noise = 4 * 1.0 + 4.0, 4 * 0.01 + 0.04
    first = np.sqrt(beta[0] * 8 * k / np.log(1 + k / noise) * np.log(1 + k / noise) / 2)
    assert bounds.entire[0] == pytest.approx(first)


def generalised_run(seed, rounds):
    """Algorithm 3 with g = |f_1| + max(f_2, 0), whose partial derivatives are at most 1."""

    def g(F):
        return np.abs(F[:, 0]) + np.maximum(F[:, 1], 0.0)

    points, prior, _, f, rng = world(seed, J=2)
    posterior = CandidatePosterior(prior.kernels, prior.noise_variances, Composition(2), features=points)
    beta = unscaled_beta(FiniteBeta(len(points), groups=2), rounds)
    regrets, widths, within = [], 0.0, True
    for t in range(rounds):
        means, variances = posterior.predict_groups()
        wide = 2 * variances.sum(axis=1)  # J sum_j B_j^2 sigma_j^2
        within &= bool((np.abs(g(f) - g(means)) <= np.sqrt(beta[t] * wide)).all())
        row = int(np.argmax(g(means) + np.sqrt(beta[t] * wide)))
        y = f[[row]] + np.sqrt(prior.noise_variances) * rng.standard_normal((1, 2))
        posterior.observe([row], y)
        regrets.append(g(f).max() - g(f)[row])
        widths += 4 * wide[row]
    gains = [maximum_information_gain(*case) for case in group_cases(prior, points, rounds)]
    return np.cumsum(regrets), general_regret_bound(beta, [1.0, 1.0], gains), widths, within


def test_regret_of_algorithm_3_stays_below_theorem_3_in_every_run():
    for seed in range(20):
        regret, bound, _, within = generalised_run(seed, 20)
        assert within and (regret <= bound).all() and regret[-1] > 0


def test_widths_of_algorithm_3_exceed_the_printed_bound_and_keep_the_corrected_one():
    """Ever larger noise makes both sides of the proof nearly equal, and so shows the factor J."""
    points, prior, _, _, _ = world(0, J=2)
    prior = Prior(prior.kernels, 1e4 * prior.noise_variances, prior.means)
    gains = [maximum_information_gain(*case) for case in group_cases(prior, points, 5)]
    widths, _ = squared_widths(prior, Composition(2), points, gains[0].rows)
    corrected = general_regret_bound(np.ones(5), [1.0, 1.0], gains)[-1] ** 2 / 5
    printed = decomposed_regret_bound(np.ones(5), [1.0, 1.0], gains)[-1] ** 2 / 5
    assert printed < 2 * widths <= corrected


def test_confidence_fails_less_often_than_delta():
    """The tail bound exp(-beta / 2), and the union over candidates and rounds, at delta = 0.1."""
    T, failures = 15, 0
    for seed in range(100):
        points, prior, composition, f, rng = world(seed, n=25)
        posterior = CandidatePosterior(prior.kernels, prior.noise_variances, composition, features=points)
        beta = unscaled_beta(FiniteBeta(25, delta=0.1), T)
        objective = composition.compose(f, np.arange(25))
        ok = True
        for t in range(T):
            mean, variance = posterior.predict()
            # The draws carry 1e-9 of jitter a group.
            ok &= bool((np.abs(objective - mean) <= np.sqrt(beta[t] * variance) + 1e-3).all())
            row = int(np.argmax(mean + np.sqrt(beta[t] * variance)))
            y = f[[row]] + np.sqrt(prior.noise_variances) * rng.standard_normal((1, 3))
            posterior.observe([row], y)
        failures += not ok
    assert failures <= 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: information_gain(np.eye(2), 0.0), "positive"),
        (lambda: information_gain([[1.0, 2.0], [2.0, 1.0]], 0.5), "semi-definite"),
        (lambda: maximum_information_gain(RBF(), [[0.0]], 3, 0.0), "infinite without noise"),
        (lambda: maximum_information_gain(RBF(), [[0.0]], 0, 0.1), "at least 1, not 0"),
        (
            lambda: decomposed_regret_bound([1.0], [1.0], [maximum_information_gain(RBF(), [[0]], 1, 1)] * 2),
            "2 information gains",
        ),
        (
            lambda: entire_regret_bound([1.0, 1.0], maximum_information_gain(RBF(), [[0.0]], 1, 1.0)),
            "2 rounds, but an information gain only 1",
        ),
    ],
)
def test_bad_input_is_refused_in_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bounded_space_is_refused_in_words():
    from scipy.optimize import Bounds

    prior = Prior([RBF()], np.array([0.1]), [0.0])
    with pytest.raises(ValueError, match="finite space"):
        regret_bounds(prior, Composition(1), SearchSpace(Bounds([0.0], [1.0])), ConstantBeta(1.0), 3)
