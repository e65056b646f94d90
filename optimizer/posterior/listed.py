"""The posterior over all policies of a mixed space that are few enough to be a list of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array, Policies
from optimizer.composition.linear import BaseComposition
from optimizer.composition.objective import Moments, Posterior
from optimizer.posterior.candidate_mixture import CandidateMixture
from optimizer.posterior.candidates import CandidatePosterior
from optimizer.posterior.inputs import PriorMean
from optimizer.space.mixed_space import MixedSpace


class ListedPosterior:
    """A `CandidatePosterior` that is told, and asked about, policies (n, d) in place of their rows.

    Parameters
    ----------
    kernels, noise_variances, composition, prior_means
        As in `DecomposedGP`. Functions in `composition` and `prior_means` are given policies (n, d).
    space : MixedSpace
        With `listed` policies.
    features : ndarray of shape (N, p)
        What the kernels see of them.
    **options
        As for `CandidatePosterior`.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        noise_variances: ArrayLike,
        composition: BaseComposition,
        prior_means: Sequence[PriorMean],
        *,
        space: MixedSpace,
        features: Array,
        **options: Any,
    ) -> None:
        self.composition = composition
        self.space = space
        self.rows: CandidatePosterior | CandidateMixture = CandidatePosterior(
            kernels,
            noise_variances,
            composition,
            means_of_rows(prior_means, space),
            features=features,
            **options,
        )

    @classmethod
    def of(cls, rows: CandidateMixture, space: MixedSpace) -> Self:
        """The same over a mixture whose candidates are the listed policies, and whose means are constants."""
        listed = cls.__new__(cls)
        listed.composition, listed.space, listed.rows = rows.composition, space, rows
        return listed

    def observe(self, policies: Policies, Y: ArrayLike, noise_variance: ArrayLike | None = None) -> Self:
        """Add observations (n, J) at policies (n, d); nan skips that group's update only."""
        self.rows.observe(self.space.rows_of(policies), Y, noise_variance)
        return self

    def predict_groups(self, policies: Policies) -> tuple[Array, Array]:
        """Posterior means and variances of the groups at policies, each (n, J)."""
        return self.rows.predict_groups(self._rows(policies))

    def predict(self, policies: Policies) -> Moments:
        """Posterior mean and variance of the signed objective at policies, each (n,)."""
        return self.composition.moments(*self.predict_groups(policies), policies)

    def posterior(self, policies: Policies) -> Posterior:
        """Posterior of the signed objective at policies, as acquisitions read it."""
        return self.composition.posterior(*self.predict_groups(policies), policies)

    def _rows(self, policies: Policies) -> Any:
        """Rows of policies; all of the list, which searches ask about, without a look."""
        return np.arange(len(policies)) if policies is self.space.listed else self.space.rows_of(policies)


def means_of_rows(means: Sequence[PriorMean], space: MixedSpace) -> list[PriorMean]:
    """Prior means of policies as those of rows of the space's list."""
    listed = space.listed
    assert listed is not None

    def of_rows(mean: PriorMean) -> PriorMean:
        return (lambda rows: mean(listed[rows])) if callable(mean) else mean

    return [of_rows(mean) for mean in means]
