"""What an agent learns from its own rounds: units, noise, starts, and the randomness of its draws."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from optimizer import Prior
from optimizer.prior.hyperparameters import Group
from optimizer.prior.mixture import PriorMixture
from optimizer.prior.own_rounds import OwnRounds, draws

RNG = np.random.default_rng(0)
X = RNG.random((14, 2))
Y = np.stack([np.sin(5 * X[:, 0]), X[:, 1] ** 2 + 0.1 * RNG.standard_normal(14)], axis=1)
UNSTATED = np.full(Y.shape, np.nan)


def numbers(mixture, j):
    """Amplitudes, constants' variances, length scales and noise variances of group j."""
    kernels = [prior.kernels[j] for prior in mixture.components]
    return (
        np.array([k.k1.k1.constant_value for k in kernels]),
        np.array([k.k2.constant_value for k in kernels]),
        np.array([k.k1.k2.length_scale for k in kernels]),
        np.array([prior.noise_variances[j] for prior in mixture.components]),
    )


@pytest.mark.parametrize("stated", [True, False])
def test_other_units_change_what_is_learned_by_their_factors_alone(stated):
    noise = np.full(Y.shape, 0.01) if stated else UNSTATED
    one = OwnRounds("rbf", 1).learn(X, Y, noise).mixture()
    other = OwnRounds("rbf", 1).learn(X * [4.0, 0.25], 1000 * Y, 1e6 * noise).mixture()
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-3)
    for j in range(2):
        first, second = numbers(one, j), numbers(other, j)
        np.testing.assert_allclose(second[0], 1e6 * first[0], rtol=1e-3)
        np.testing.assert_allclose(
            second[1], 1e6 * first[0], rtol=1e-3
        )  # a mean as uncertain as the function
        np.testing.assert_allclose(second[2], first[2] * [4.0, 0.25], rtol=1e-3)
        np.testing.assert_allclose(second[3], 1e6 * first[3], rtol=1e-3)
    assert np.allclose(one.components[0].noise_variances, 0.01, rtol=1e-9) == stated


def test_weights_add_up_to_one_and_means_are_the_observations():
    mixture = OwnRounds("rbf", 1).learn(X, Y, UNSTATED).mixture()
    np.testing.assert_allclose(mixture.weights.sum(axis=0), 1.0)
    assert mixture.weights.shape == (24, 2) and mixture.weights.std() > 0
    for prior in (*mixture.components, mixture.most_probable):
        np.testing.assert_allclose(prior.means, Y.mean(axis=0))


def test_a_group_that_does_not_vary_has_the_priors_of_its_hyperparameters_and_no_noise():
    still = np.column_stack([Y[:, 0], np.zeros(14)])
    amplitudes, _, lengths, noises = numbers(OwnRounds("rbf", 1).learn(X, still, UNSTATED).mixture(), 1)
    unit = Y[:, 0].std() ** 2
    assert np.log(amplitudes / unit).mean() == pytest.approx(0.0, abs=0.2)
    assert np.log(amplitudes / unit).std() == pytest.approx(1.0, abs=0.35)
    span = np.ptp(X, axis=0)
    assert np.log(lengths / span).mean() == pytest.approx(np.log(0.35 * np.sqrt(2)), abs=0.2)
    np.testing.assert_allclose(noises, 1e-8 * unit)


def test_draws_are_of_the_seed_and_the_number_of_rounds_told():
    def lengths(seed, X, Y):
        return numbers(OwnRounds("rbf", seed).learn(X, Y, np.full(Y.shape, np.nan)).mixture(), 0)[2]

    first = lengths(1, X, Y)
    np.testing.assert_array_equal(first, lengths(1, X, Y))
    failed = np.vstack([X, X[:1]]), np.vstack([Y, [[np.nan, np.nan]]])  # a round that taught nothing
    assert (first != lengths(1, *failed)).mean() > 0.5
    assert (first != lengths(2, X, Y)).mean() > 0.5


@pytest.mark.parametrize(
    ("observations", "S"), [(5, 24), (40, 24), (41, 23), (100, 9), (200, 4), (480, 2), (481, 1), (5000, 1)]
)
def test_draws_become_fewer(observations, S):
    assert draws(observations) == S


def test_other_starts_are_tried_at_first_when_observations_have_grown_by_a_quarter_and_after_surprises(
    monkeypatch,
):
    starts = []
    original = Group.most_probable

    def noting(self, some, *rest):
        starts.append(len(some))
        return original(self, some, *rest)

    monkeypatch.setattr(Group, "most_probable", noting)
    own = OwnRounds("rbf", 1)
    for T in range(8, 13):
        own.learn(X[:T], Y[:T, :1], UNSTATED[:T, :1], surprised=T == 11)
    assert starts == [3, 1, 4, 4, 1]  # 8, 9, 10 (8 * 1.25), 11 (a surprise), 12


def test_of_very_many_observations_some_teach_the_hyperparameters(monkeypatch):
    monkeypatch.setattr("optimizer.prior.own_rounds.MOST", 10)
    sizes = []
    original = Group.__init__

    def noting(self, kernel, X, *rest):
        sizes.append(len(X))
        original(self, kernel, X, *rest)

    monkeypatch.setattr(Group, "__init__", noting)
    mixture = OwnRounds("rbf", 1).learn(X, Y, UNSTATED).mixture()
    assert sizes == [10, 10]
    np.testing.assert_allclose(mixture.means, Y.mean(axis=0))


def test_an_unknown_family_is_refused_before_anything_is_learned():
    with pytest.raises(ValueError, match="unknown kernel family 'rfb'"):
        OwnRounds("rfb", 0)


def test_a_mixture_gives_each_group_its_own_kernels_noise_and_weights():
    components = [Prior([RBF(1.0 + s), RBF(10.0 + s)], [0.1 + s, 0.2 + s], [0.0, 0.0]) for s in range(3)]
    weights = np.array([[0.5, 0.2], [0.3, 0.2], [0.2, 0.6]])
    groups = PriorMixture(components, weights, components[0]).groups
    for j, (kernels, noise, shares) in enumerate(groups):
        assert [kernel.length_scale for kernel in kernels] == [(1.0, 10.0)[j] + s for s in range(3)]
        assert noise == pytest.approx([(0.1, 0.2)[j] + s for s in range(3)])
        assert np.array_equal(shares, weights[:, j])
