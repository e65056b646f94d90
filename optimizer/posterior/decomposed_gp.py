"""Decomposed GP regression (Algorithm 1): one Gaussian process a group, composed into the objective.

Two models share one interface (`observe`, `predict`, `predict_groups`): `DecomposedGP` predicts anywhere and
gives gradients; `optimizer.posterior.candidates.CandidatePosterior` predicts on a finite set, faster. The
aggregate model (one GP of the composed value) is the case J = 1 with the composed kernel.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array, Policies
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.composition.objective import GroupSlopes, Moments, Posterior
from optimizer.differences import jacobian
from optimizer.posterior.gaussian_process import GaussianProcess
from optimizer.posterior.inputs import (
    PriorMean,
    as_observations,
    as_points,
    as_variances,
    prior_mean_at,
    spread_means,
)
from optimizer.posterior.kept_noise import KeptNoise
from optimizer.posterior.process_mixture import ProcessMixture


class GroupGradients(NamedTuple):
    """Posterior means and variances of the groups (n, J), with their gradients (n, J, d) in the policy."""

    means: Array
    variances: Array
    mean_gradients: Array
    variance_gradients: Array

    def chain(self, slopes: GroupSlopes) -> Array:
        """Gradient (n, d) of a value from its slopes in what the groups predict."""
        gradient: Array = (
            np.einsum("nj,njd->nd", slopes.means, self.mean_gradients)
            + np.einsum("nj,njd->nd", slopes.variances, self.variance_gradients)
            + slopes.policies
        )
        return gradient


class DecomposedGP:
    """Algorithm 1 of the paper: a GP posterior for every group, composed by the known g.

    Over a finite candidate set agents use `optimizer.posterior.candidates` in its place.

    Linear: mu_T(x) = sum_j g_j(x) mu_{j,T}(x) + c(x) and sigma_T^2(x) = sum_j g_j(x)^2 sigma_{j,T}^2(x).
    General: by the composition's propagation (Algorithm 3).

    Parameters
    ----------
    kernels : sequence of Kernel
        k_j, one a group.
    noise_variances : array_like of shape (J,)
        Noise variance of each group's observations, where an observation states none of its own.
    composition : Composition, or GeneralComposition
        The known g and the sign of the objective.
    prior_means : float, or sequence of J floats or callables, default=0.0
        mu_{j,0}: constants, or functions from policies (n, d) to (n,). (Algorithm 2's input.)
    embed : callable, optional
        Features that the kernels see: from policies (n, d) to (n, p). Default: the policies themselves. With
        it, policies may also be candidate rows: integers (n,).
    kept : sequence of KeptNoise, optional
        What of each group's noise repeated observations share; none unless given.

    Raises
    ------
    ValueError
        If the numbers of kernels, variances or means are not the composition's J.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        noise_variances: ArrayLike,
        composition: BaseComposition,
        prior_means: PriorMean | Sequence[PriorMean] = 0.0,
        *,
        embed: Callable[[Array], Array] | None = None,
        kept: Sequence[KeptNoise | None] | None = None,
    ) -> None:
        J = composition.groups
        if len(kernels) != J:
            raise ValueError(f"{len(kernels)} kernels, but the composition has {J} groups")
        variances = as_variances(noise_variances, (J,))
        self.composition = composition
        self.embed = embed
        self.prior_means: tuple[PriorMean, ...] = spread_means(prior_means, J)
        self.groups: list[GaussianProcess | ProcessMixture] = [
            GaussianProcess(k, v, kept=each)
            for k, v, each in zip(kernels, variances, kept or [None] * J, strict=True)
        ]

    @classmethod
    def of_mixtures(
        cls,
        groups: Sequence[tuple[Sequence[Kernel], ArrayLike, ArrayLike]],
        composition: BaseComposition,
        prior_means: PriorMean | Sequence[PriorMean] = 0.0,
        *,
        embed: Callable[[Array], Array] | None = None,
        kept: Sequence[KeptNoise | None] | None = None,
    ) -> Self:
        """The same with mixtures as groups: kernels (S), noise variances (S,) and weights (S,) each."""
        most = [kernels[0] for kernels, _, _ in groups]
        model = cls(most, np.zeros(len(groups)), composition, prior_means, embed=embed)
        shared = kept or [None] * len(groups)
        model.groups = [ProcessMixture(*group, each) for group, each in zip(groups, shared, strict=True)]
        return model

    def observe(self, X: ArrayLike, Y: ArrayLike, noise_variance: ArrayLike | None = None) -> Self:
        """Add observations of all groups; nan skips that group's update only.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Policies.
        Y : array_like of shape (n, J)
            y_j, one column a group, nan where missing.
        noise_variance : array_like of shape (n, J), optional
            The variance of each observation; the groups' own unless given, and where it is nan.
        """
        X = self._policies(X)
        Y = as_observations(Y, len(X), len(self.groups))
        features = self.features(X)
        noise = None if noise_variance is None else np.broadcast_to(noise_variance, Y.shape)
        for j, group in enumerate(self.groups):
            residual = Y[:, j] - prior_mean_at(self.prior_means[j], X)
            group.observe(features, residual, None if noise is None else noise[:, j])
        return self

    def seen_by(self, embed: Callable[[Array], Array]) -> Self:
        """The same posterior, whose policies kernels see in another way; it shares all observations."""
        other = copy.copy(self)
        other.embed = embed
        return other

    def of_groups(self, which: Sequence[int]) -> Self:
        """What predicts some of its groups alone, by their places: `predict_groups` and its gradients."""
        some = copy.copy(self)
        some.groups = [self.groups[j] for j in which]
        some.prior_means = tuple(self.prior_means[j] for j in which)
        return some

    def _weighed(self) -> Self:
        """Of the groups alone that the objective is made of: limits may be on others."""
        g = self.composition
        if not isinstance(g, Composition) or g.constant_weights is None or g.constant_weights.all():
            return self
        which = np.flatnonzero(g.constant_weights).tolist() or [0]
        some = self.of_groups(which)
        some.composition = g.of_groups(which)
        return some

    def features(self, X: Array) -> Array:
        """What the kernels see of policies (n, d): (n, p)."""
        return X if self.embed is None else np.asarray(self.embed(X), dtype=float)

    def _policies(self, X: ArrayLike) -> Policies:
        rows = np.asarray(X)
        return rows if self.embed is not None and rows.ndim == 1 and rows.dtype.kind in "iu" else as_points(X)

    def predict_groups(self, X: ArrayLike) -> tuple[Array, Array]:
        """Posterior means and variances of the groups at policies (n, d), each of shape (n, J)."""
        X = self._policies(X)
        features = self.features(X)
        means, variances = np.empty((2, len(X), len(self.groups)))
        for j, group in enumerate(self.groups):
            mean, variances[:, j] = group.predict(features)
            means[:, j] = mean + prior_mean_at(self.prior_means[j], X)
        return means, variances

    def predict_group_means(self, X: ArrayLike) -> Array:
        """Posterior means of the groups at policies (n, d), shape (n, J): O(T n) a group, not O(T^2 n)."""
        X = self._policies(X)
        features = self.features(X)
        means = [group.predict_mean(features) for group in self.groups]
        return np.stack(
            [mean + prior_mean_at(prior, X) for mean, prior in zip(means, self.prior_means, strict=True)],
            axis=1,
        )

    def predict(self, X: ArrayLike) -> Moments:
        """Posterior mean and variance of the signed objective (more is better) at policies, each (n,)."""
        X, model = self._policies(X), self._weighed()
        return model.composition.moments(*model.predict_groups(X), X)

    def posterior(self, X: ArrayLike) -> Posterior:
        """Posterior of the signed objective at policies, as acquisitions read it."""
        X, model = self._policies(X), self._weighed()
        return model.composition.posterior(*model.predict_groups(X), X)

    def posterior_and_pullback(self, X: Array) -> tuple[Posterior, Callable[[Any], Array]]:
        """The same at policies (n, d), and what takes slopes in it to the gradient (n, d) in the policy."""
        if isinstance(self.composition, Composition):
            moments, in_policy = self._weighed()._linear_gradients(X)
            return (
                moments,
                lambda slopes: (
                    slopes.mean[:, None] * in_policy.mean + slopes.variance[:, None] * in_policy.variance
                ),
            )
        g = self.composition
        assert isinstance(g, GeneralComposition)
        groups = self.predict_groups_with_gradients(X)
        at = groups.means, groups.variances, X
        return g.posterior(*at), lambda slopes: g.propagation.gradient(g, *at, slopes, groups.chain)

    def predict_groups_with_gradients(self, X: Array) -> GroupGradients:
        """Posterior means and variances of the groups at policies (n, d), with gradients in the policy."""
        features = self.features(X)
        parts = [group.predict_with_gradients(features) for group in self.groups]
        mean_gradients = np.stack([part.mean_gradient for part in parts], axis=1)
        variance_gradients = np.stack([part.variance_gradient for part in parts], axis=1)
        if self.embed is not None:
            inner = jacobian(self.embed, X)
            mean_gradients = np.einsum("ndp,njp->njd", inner, mean_gradients)
            variance_gradients = np.einsum("ndp,njp->njd", inner, variance_gradients)
        for j, mean in enumerate(self.prior_means):
            if callable(mean):
                mean_gradients[:, j] += jacobian(mean, X)
        return GroupGradients(
            np.stack([part.mean for part in parts], axis=1) + self._prior(X),
            np.stack([part.variance for part in parts], axis=1),
            mean_gradients,
            variance_gradients,
        )

    def mean_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Posterior mean of the signed linear objective at policies (n, d), and its gradient (n, d).

        Without variances, O(T n) a group: what a search for the best mean needs, and no more.
        """
        model = self._weighed()
        composition = model.composition
        assert isinstance(composition, Composition)
        features = model.features(X)
        parts = [group.predict_mean_with_gradient(features) for group in model.groups]
        means = np.stack([mean for mean, _ in parts], axis=1) + model._prior(X)
        inner = None if self.embed is None else jacobian(self.embed, X)
        slope = model._mean_slope(composition, X, means, [gradient for _, gradient in parts], inner)
        return composition.compose(means, X), composition.sign * slope

    def group_means_with_gradients(self, X: Array) -> tuple[Array, Array]:
        """Posterior means of the groups at policies (n, d), (n, J), with their gradients (n, J, d)."""
        features = self.features(X)
        parts = [group.predict_mean_with_gradient(features) for group in self.groups]
        means = np.stack([mean for mean, _ in parts], axis=1) + self._prior(X)
        gradients = np.stack([gradient for _, gradient in parts], axis=1)
        if self.embed is not None:
            gradients = np.einsum("ndp,njp->njd", jacobian(self.embed, X), gradients)
        for j, mean in enumerate(self.prior_means):
            if callable(mean):
                gradients[:, j] += jacobian(mean, X)
        return means, gradients

    def _prior(self, X: Array) -> Array:
        """Prior means of the groups (n, J)."""
        return np.stack([prior_mean_at(mean, X) for mean in self.prior_means], axis=1)

    def _mean_slope(
        self,
        composition: Composition,
        X: Array,
        means: Array,
        gradients: Sequence[Array],
        inner: Array | None,
    ) -> Array:
        """Gradient (n, d) of the unsigned objective's mean, of gradients (n, p) of the groups' in features.

        The weights go inside the sums over groups, so that features are differentiated once, into `inner`.
        """
        weights = composition.weights(X)
        slope = np.zeros(gradients[0].shape)
        for j, gradient in enumerate(gradients):
            slope += weights[:, [j]] * gradient
        if inner is not None:
            slope = np.einsum("ndp,np->nd", inner, slope)
        for j, mean in enumerate(self.prior_means):
            if callable(mean):
                slope = slope + weights[:, [j]] * jacobian(mean, X)
        if composition.constant_weights is None:
            slope = slope + np.einsum("ndj,nj->nd", jacobian(composition.weights, X), means)
        if composition.offset_varies:
            slope = slope + jacobian(composition.offset, X)
        return slope

    def _linear_gradients(self, X: Array) -> tuple[Moments, Moments]:
        """Moments of a linear objective, and their gradients (n, d)."""
        composition = self.composition
        assert isinstance(composition, Composition)
        weights, features = composition.weights(X), self.features(X)
        parts = [group.predict_with_gradients(features) for group in self.groups]
        means = np.stack([part.mean for part in parts], axis=1) + self._prior(X)
        variances = np.stack([part.variance for part in parts], axis=1)
        inner = None if self.embed is None else jacobian(self.embed, X)
        mean_slope = self._mean_slope(composition, X, means, [part.mean_gradient for part in parts], inner)
        variance_slope = np.zeros(features.shape)
        for j, part in enumerate(parts):
            variance_slope += weights[:, [j]] ** 2 * part.variance_gradient
        if inner is not None:
            variance_slope = np.einsum("ndp,np->nd", inner, variance_slope)
        if composition.constant_weights is None:
            slopes = jacobian(composition.weights, X)
            variance_slope = variance_slope + 2 * np.einsum("ndj,nj->nd", slopes, weights * variances)
        moments = composition.moments(means, variances, X)
        return moments, Moments(composition.sign * mean_slope, variance_slope)
