"""The paper's theory as numbers: information gain, regret bounds, and the variances of its propositions.

Notation: I(A) = I(y_A; f_A) is the information that noisy observations at A carry about f; gamma_T is its
largest value over T observations; Delta(x | A) = I(A + x) - I(A). Information gain is submodular: Delta never
grows when A grows (Krause & Guestrin 2005), and depends on posterior variances alone, never on outcomes.

What differs from the paper's text, each stated again where it matters:

- The paper takes one noise variance for all groups and k_j(x, x) <= 1. Here each group has its own, and C_1
  stands inside the sum, on the scaled kernel k_j / s_j with noise sigma_j^2 / s_j, where s_j = max k_j(x, x).
- Theorem 3's bound lacks a factor sqrt(J), which the J in the variance of Algorithm 3 brings in.
- The proofs' tail bound exp(-sqrt(beta_t)) should read exp(-beta_t / 2). With it, and not with the printed
  one, the stated beta_t gives probability 1 - delta. The proof of Theorem 2 uses s^2 <= C_2 log(1 + s^2) for
  s^2, not s, in [0, sigma^-2].
- A bandit may try a policy again, so gamma_T is the largest over T observations, repeats allowed, and not
  only over sets of T different points.
- The bounds hold for the beta_t of the theorems, not for one that was scaled down.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import Kernel

from optimizer.acquisition.exploration import Exploration
from optimizer.arrays import Array
from optimizer.composition.linear import Composition
from optimizer.kernels.composed import compose_kernels, joined_features
from optimizer.posterior.candidates import CandidatePosterior
from optimizer.posterior.inputs import as_points, as_variances
from optimizer.prior.prior import Prior
from optimizer.space.finite_space import FiniteSpace
from optimizer.space.search_space import SearchSpace

GREEDY_SHARE = 1 - np.exp(-1)
"""Greedy reaches at least this share of the best value (Nemhauser, Wolsey & Fisher 1978)."""


def information_gain(K: ArrayLike, noise_variance: ArrayLike) -> float:
    """I(y_A; f_A) = 1/2 log det(I + sigma^-2 K_A), in nats.

    Parameters
    ----------
    K : array_like of shape (n, n)
        Kernel matrix of the observed points, one row an observation.
    noise_variance : float or array_like of shape (n,)
        sigma^2, positive; one an observation where they differ.

    Raises
    ------
    ValueError
        If a noise variance is not positive (without noise the gain is infinite), or K is not positive
        semi-definite.
    """
    K = np.asarray(K, dtype=float)
    noise = _positive(noise_variance, (len(K),))
    sign, log_determinant = np.linalg.slogdet(np.eye(len(K)) + K / np.sqrt(np.outer(noise, noise)))
    if sign <= 0:
        raise ValueError("the kernel matrix is not positive semi-definite")
    return float(log_determinant) / 2


@dataclass(frozen=True)
class MaximumInformationGain:
    """gamma_t of one Gaussian process for t = 1..T, between what greedy reaches and an upper bound.

    Attributes
    ----------
    rows : ndarray of shape (T,)
        Candidates in the order in which greedy takes them; the first t of them have the gain `greedy[t - 1]`.
    greedy : ndarray of shape (T,)
        Information gain of the first t rows, in nats: a lower bound of gamma_t, and at least (1 - 1/e) of it.
    upper : ndarray of shape (T,)
        Upper bound of gamma_t: the smaller of greedy / (1 - 1/e) and I(A) + t max_x Delta(x | A), over all
        greedy A (Leskovec et al. 2007), which is the tighter one once greedy has learned most.
    constant : float
        C_1 of the scaled kernel times its scale, max_x 8 k(x, x) / log(1 + k(x, x) / sigma^2(x)): what
        stands before B_j^2 gamma_T in a regret bound.
    """

    rows: NDArray[np.int64]
    greedy: Array
    upper: Array
    constant: float


def maximum_information_gain(
    kernel: Kernel, candidates: ArrayLike, rounds: int, noise_variance: ArrayLike
) -> MaximumInformationGain:
    """gamma_t over a finite candidate set for t = 1..T, in O(T n) a step.

    Greedy takes the candidate with the largest gain, 1/2 log(1 + variance / noise variance): the one with
    the largest posterior variance, where noise is the same everywhere. A candidate may be taken again.

    Parameters
    ----------
    kernel : Kernel
        k of the Gaussian process.
    candidates : array_like of shape (n, p)
        What the kernel sees of the candidates.
    rounds : int
        T, at least 1.
    noise_variance : float or array_like of shape (n,)
        sigma^2, or sigma^2(x) at every candidate; positive wherever k(x, x) is.

    Raises
    ------
    ValueError
        If T is below 1, or noise is missing where the process varies: the gain would be infinite.
    """
    points = as_points(candidates)
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, not {rounds}")
    prior_variance = np.asarray(kernel.diag(points), dtype=float)
    varies = prior_variance > 0
    noise = np.where(varies, as_variances(noise_variance, (len(points),)), 1.0)
    _positive(noise, noise.shape)
    posterior = CandidatePosterior([kernel], [1.0], Composition(1), features=points)
    rows, gains = np.empty(rounds, dtype=np.int64), np.empty(rounds + 1)
    for t in range(rounds + 1):
        step = np.log1p(posterior.predict_groups()[1][:, 0] / noise) / 2
        best = int(np.argmax(step))
        gains[t] = step[best]
        if t < rounds:
            rows[t] = best
            posterior.observe([best], [[0.0]], [[noise[best]]])
    greedy = np.cumsum(gains[:-1])
    reached = np.append(0.0, greedy)
    online = (reached[None, :] + np.arange(1, rounds + 1)[:, None] * gains[None, :]).min(axis=1)
    constants = prior_variance[varies] * regret_constant(noise[varies], prior_variance[varies])
    return MaximumInformationGain(
        rows, greedy, np.minimum(greedy / GREEDY_SHARE, online), float(constants.max(initial=0.0))
    )


def regret_constant(noise_variance: ArrayLike, prior_variance: ArrayLike = 1.0) -> Array:
    """C_1 = 8 / log(1 + sigma^-2) of Theorems 2 and 3, on the scaled kernel where k(x, x) is not 1.

    Parameters
    ----------
    noise_variance : float or array_like
        sigma_j^2, positive.
    prior_variance : float or array_like, default=1.0
        s_j = max_x k_j(x, x): the kernel is divided by it, and so is the noise variance.

    Returns
    -------
    ndarray
        8 / log(1 + s_j / sigma_j^2). A bound on f_j itself multiplies it by s_j again.
    """
    noise, prior = np.broadcast_arrays(np.asarray(noise_variance, float), np.asarray(prior_variance, float))
    constant: Array = 8 / np.log1p(prior / _positive(noise, noise.shape))
    return constant


def unscaled_beta(exploration: Exploration, rounds: int) -> Array:
    """beta_t of the theorem for t = 1..T, whatever `exploration` scales it down by, shape (T,)."""
    return exploration.scale_down * np.array([exploration.beta(t) for t in range(1, rounds + 1)])


def decomposed_regret_bound(
    beta: ArrayLike, weight_bounds: ArrayLike, gains: Sequence[MaximumInformationGain]
) -> Array:
    """Theorem 2 (eq. 9): with probability 1 - delta, R_t of D-GPUCB stays below this for all t.

    R_T <= sqrt(T beta_T sum_j C_{1,j} s_j B_j^2 gamma_{j,T}). The paper's form, sqrt(C_1 T beta_T sum_j B_j^2
    gamma_{j,T}), is the case of one noise variance and s_j = 1.

    Parameters
    ----------
    beta : array_like of shape (T,)
        beta_t = 2 log(|X| t^2 pi^2 / (6 delta)), not scaled down: `unscaled_beta`.
    weight_bounds : array_like of shape (J,)
        B_j = max_x |g_j(x)|.
    gains : sequence of MaximumInformationGain
        gamma_{j,t}, one a group; their upper bounds are used.

    Returns
    -------
    ndarray of shape (T,)
        In the objective's unit.

    Raises
    ------
    ValueError
        If the numbers of bounds and gains differ, or beta is longer than the gains.
    """
    beta, bounds = np.asarray(beta, dtype=float), np.asarray(weight_bounds, dtype=float)
    if bounds.shape != (len(gains),):
        raise ValueError(f"{len(gains)} information gains need {len(gains)} bounds B_j, not {bounds.shape}")
    T = len(beta)
    total = np.zeros(T)
    for B, gain in zip(bounds, gains, strict=True):
        if len(gain.upper) < T:
            raise ValueError(f"beta has {T} rounds, but an information gain only {len(gain.upper)}")
        total += gain.constant * B**2 * gain.upper[:T]
    bound: Array = np.sqrt(np.arange(1, T + 1) * beta * total)
    return bound


def general_regret_bound(
    beta: ArrayLike, partial_bounds: ArrayLike, gains: Sequence[MaximumInformationGain]
) -> Array:
    """Theorem 3 (eq. 10), corrected: R_t of generalised D-GPUCB (Algorithm 3) stays below this for all t.

    R_T <= sqrt(J T beta_T sum_j C_{1,j} s_j B_j^2 gamma_{j,T}). The paper's bound has no J: but Algorithm 3
    searches with sigma^2 = J sum_j B_j^2 sigma_j^2, regret in a round is at most 2 sqrt(beta_t) sigma, and so
    the J passes through the proof of Theorem 2 into the bound.

    Parameters
    ----------
    beta : array_like of shape (T,)
        beta_t = 2 log(|X| J t^2 pi^2 / (6 delta)), not scaled down.
    partial_bounds : array_like of shape (J,)
        B_j = max |dg / df_j|. They cover no jumps of g.
    gains : sequence of MaximumInformationGain
        gamma_{j,t}, one a group.
    """
    return float(np.sqrt(len(gains))) * decomposed_regret_bound(beta, partial_bounds, gains)


def entire_regret_bound(beta: ArrayLike, gain: MaximumInformationGain) -> Array:
    """GP-UCB with the composed kernel (eq. 8): R_T <= sqrt(T beta_T max_x C_1(x) k(x, x) gamma_entire,T).

    The paper bounds k(x, x) by B^2 = sum_j B_j^2; its C_1 then belongs to the kernel k / B^2 with noise
    sigma^2 / B^2, that is 8 / log(1 + B^2 / sigma^2), where sigma^2(x) = sum_j g_j(x)^2 sigma_j^2. Here
    k(x, x) is taken as it is.
    """
    return decomposed_regret_bound(beta, [1.0], [gain])


@dataclass(frozen=True)
class RegretBounds:
    """Cumulative regret in rounds 1..T that is exceeded with probability delta at most, each of shape (T,).

    Attributes
    ----------
    decomposed : ndarray of shape (T,)
        Of D-GPUCB (Theorem 2).
    entire : ndarray of shape (T,)
        Of GP-UCB with the composed kernel and noise.
    """

    decomposed: Array
    entire: Array


def regret_bounds(
    prior: Prior, composition: Composition, space: SearchSpace, exploration: Exploration, rounds: int
) -> RegretBounds:
    """Both bounds for a bandit over a finite space, as an overlay for a figure of cumulative regret.

    Parameters
    ----------
    prior : Prior
        Of the groups: what their functions were drawn from. The theorems assume that it is true.
    composition : Composition
        Linear g_j(x).
    space : SearchSpace
        A finite one; |X| in beta_t is its size.
    exploration : Exploration
        beta_t; what it is scaled down by is undone.
    rounds : int
        T.

    Raises
    ------
    ValueError
        If the space is not finite: gamma_T is computed over candidates.
    """
    if not isinstance(space, FiniteSpace):
        raise ValueError("regret bounds need a finite space, whose candidates gamma_T is computed over")
    policies = np.arange(space.size)
    beta = unscaled_beta(exploration, rounds)
    features = space.features(policies)
    gains = [
        maximum_information_gain(kernel, features, rounds, noise)
        for kernel, noise in zip(prior.kernels, prior.noise_variances, strict=True)
    ]
    noise = composition.variance(np.tile(prior.noise_variances, (len(policies), 1)), policies)
    entire = maximum_information_gain(
        compose_kernels(prior.kernels, composition),
        joined_features(space.features, composition)(policies),
        rounds,
        noise,
    )
    B = np.abs(composition.weights(policies)).max(axis=0)
    return RegretBounds(decomposed_regret_bound(beta, B, gains), entire_regret_bound(beta, entire))


def entire_variance(
    kernels: Sequence[Kernel],
    noise_variances: ArrayLike,
    composition: Composition,
    X: ArrayLike,
    new: ArrayLike,
) -> Array:
    """Proposition 1 (eq. 6): variance of GP regression with the composed kernel, in the paper's matrices.

    sigma_entire^2(x) = k(x, x) - sum_{i,j} z_i^T (sum_l D_l K_l D_l)^-1 z_j with D_j = diag(g_j(x_t)), K_j =
    k_j(X, X) + diag(sigma_j^2) and z_i = D_i k_i(X, x) g_i(x). (The proof prints other indices in z_i.) For
    reading beside the paper: O(J T^2 m + T^3), and not protected against singular matrices.

    Parameters
    ----------
    kernels : sequence of Kernel
        k_j, one a group.
    noise_variances : array_like of shape (J,), or (T, J)
        sigma_j^2, or one an observation.
    composition : Composition
        g_j(x).
    X : array_like of shape (T, d)
        Observed policies.
    new : array_like of shape (m, d)
        Where to predict.

    Returns
    -------
    ndarray of shape (m,)

    Raises
    ------
    ValueError
        If all weights are zero at an observed policy: the matrix to invert is then singular.
    """
    prior, B, z = _proposition_terms(kernels, noise_variances, composition, X, new)
    if (np.einsum("ltt->t", B) == 0).any():
        raise ValueError("Proposition 1 needs a nonzero weight at every observed policy")
    total = z.sum(axis=0)
    variance: Array = prior - np.einsum("tm,tm->m", total, np.linalg.solve(B.sum(axis=0), total))
    return variance


def decomposed_variance(
    kernels: Sequence[Kernel],
    noise_variances: ArrayLike,
    composition: Composition,
    X: ArrayLike,
    new: ArrayLike,
) -> Array:
    """Proposition 2 (eq. 7): variance of Algorithm 1, in the paper's matrices.

    sigma_decomp^2(x) = k(x, x) - sum_l z_l^T (D_l K_l D_l)^-1 z_l, never above `entire_variance` (Theorem 1),
    whose parameters it takes.

    Raises
    ------
    ValueError
        If any weight is zero at an observed policy. The inverse of D_l does not exist then, which the paper
        does not say; Algorithm 1 itself, and `DecomposedGP`, need no such inverse.
    """
    prior, B, z = _proposition_terms(kernels, noise_variances, composition, X, new)
    if (np.einsum("ltt->lt", B) == 0).any():
        raise ValueError("Proposition 2 needs nonzero weights of all groups at every observed policy")
    variance: Array = prior - np.einsum("ltm,ltm->m", z, np.linalg.solve(B, z))
    return variance


def _proposition_terms(
    kernels: Sequence[Kernel],
    noise_variances: ArrayLike,
    composition: Composition,
    X: ArrayLike,
    new: ArrayLike,
) -> tuple[Array, Array, Array]:
    """k(x, x) (m,), B_l = D_l K_l D_l (J, T, T) and z_l (J, T, m) of both propositions."""
    X, new = as_points(X), as_points(new)
    noise = as_variances(noise_variances, (len(X), composition.groups))
    weights, new_weights = composition.weights(X), composition.weights(new)
    prior, B, z = np.zeros(len(new)), [], []
    for j, kernel in enumerate(kernels):
        D = np.diag(weights[:, j])
        K = kernel(X) + np.diag(noise[:, j])
        B.append(D @ K @ D)
        z.append(D @ kernel(X, new) * new_weights[:, j])
        prior += new_weights[:, j] ** 2 * kernel.diag(new)
    return prior, np.stack(B), np.stack(z)


def _positive(noise_variance: ArrayLike, shape: tuple[int, ...]) -> Array:
    noise = as_variances(noise_variance, shape)
    if not (noise > 0).all():
        raise ValueError("a noise variance must be positive: information gain is infinite without noise")
    return noise
