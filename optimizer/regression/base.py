"""What the scikit-learn estimators of `optimizer.regression.regressors` share: parameters, checks and priors.

Their `fit` and `score` name the outcomes y, as scikit-learn asks for, although they are Y (n, J) otherwise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from optimizer.arrays import Array, Policies
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.posterior.inputs import PriorMean, as_variances, prior_mean_at, spread_means
from optimizer.prior.learning import learn_prior
from optimizer.prior.prior import Prior
from optimizer.regression.fitted_process import FittedProcess

DEFAULT_NOISE = 1e-10
"""Noise variance where none is given and none is learned, as scikit-learn's `alpha`."""
A_GROUP = ("kernels", "noise_variances", "weights", "prior_means")
"""Parameters that may have an entry a group."""


@dataclass(frozen=True)
class ShiftedMean:
    """A prior mean function with a constant added: a class, so that it can be pickled."""

    mean: Callable[[Array], Array]
    shift: float

    def __call__(self, X: Array) -> Array:
        """mean(X) + shift, shape (n,)."""
        return self.mean(X) + self.shift


@dataclass(frozen=True)
class OutcomesOnly:
    """A general g that takes outcomes alone, where one of outcomes and policies is asked for."""

    g: Callable[[Array], Array]

    def __call__(self, outcomes: Array, policies: Policies) -> Array:
        """g(outcomes)."""
        return self.g(outcomes)


class ComposedEstimator(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the regressors that see outcomes Y (n, J) and predict the composed value g(f_1, .., f_J)."""

    n_groups_: int
    composition_: BaseComposition
    outcome_size_: Array
    prior_: Prior

    def __init__(
        self,
        kernels: str | Kernel | Sequence[Kernel] | None = None,
        noise_variances: ArrayLike | None = None,
        weights: ArrayLike | Callable[[Array], Array] | None = None,
        g: Callable[[Array], Array] | None = None,
        prior_means: PriorMean | Sequence[PriorMean] = 0.0,
        optimizer: Literal["marginal-likelihood"] | None = None,
        n_restarts_optimizer: int = 0,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.kernels = kernels
        self.noise_variances = noise_variances
        self.weights = weights
        self.g = g
        self.prior_means = prior_means
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.random_state = random_state

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R^2 of the predicted composed value, against the composed value of the outcomes y.

        Parameters
        ----------
        X : array_like of shape (n, p)
            Points.
        y : array_like
            Outcomes, in a shape that `fit` takes. A row with a missing group has no composed value, and is
            left out.
        sample_weight : array_like of shape (n,), optional
            Weights of the rows.

        Raises
        ------
        ValueError
            If y has another number of columns than there are groups, or no complete row.
        """
        check_is_fitted(self)
        X, Y = self._validate(X, y, reset=False)
        columns = 1 if Y.ndim == 1 else Y.shape[1]
        if self._is_outcomes(Y) and columns != self.n_groups_:
            raise ValueError(
                f"y has {columns} columns, but the regressor was fitted on {self.n_groups_} groups"
            )
        values = self._composed_values(X, Y)
        complete = ~np.isnan(values)
        if not complete.any():
            raise ValueError("every row of y misses a group: nothing to score against")
        some = None if sample_weight is None else np.asarray(sample_weight)[complete]
        return float(r2_score(values[complete], self._predicted(X[complete]), sample_weight=some))

    def _validate(self, X: ArrayLike, y: ArrayLike, *, reset: bool) -> tuple[Array, Array]:
        """X (n, p) finite, and Y (n, J) or (n,), nan where missing."""
        points: Array
        Y: Array
        outcomes = {"dtype": np.float64, "ensure_2d": False, "ensure_all_finite": "allow-nan"}
        points, Y = validate_data(
            self, X, y, reset=reset, validate_separately=({"dtype": np.float64, "order": "C"}, outcomes)
        )
        check_consistent_length(points, Y)
        return points, Y

    def _points(self, X: ArrayLike) -> Array:
        """X (n, p) of a prediction."""
        check_is_fitted(self)
        points: Array = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        return points

    def _count_groups(self, Y: Array) -> int:
        """J, on which Y and all parameters with an entry a group must agree."""
        values = {name: getattr(self, name) for name in A_GROUP}
        counts = {
            name: len(list(value))
            for name, value in values.items()
            if np.iterable(value) and not isinstance(value, (str, Kernel))
        }
        if self._is_outcomes(Y):
            counts["y"] = 1 if Y.ndim == 1 else Y.shape[1]
        if len(set(counts.values())) > 1:
            said = ", ".join(f"{name} has {count}" for name, count in counts.items())
            raise ValueError(f"the numbers of groups differ: {said}")
        return next(iter(counts.values()), 1)

    def _is_outcomes(self, Y: Array) -> bool:
        """Whether Y holds outcomes of the groups, and not composed values."""
        return True

    def _predicted(self, X: Array) -> Array:
        """The predicted composed value at checked points (n, p), shape (n,)."""
        raise NotImplementedError

    def _begin(self, X: Array, Y: Array) -> None:
        """Check the parameters, and set what both estimators know of the groups."""
        if self.g is not None and self.weights is not None:
            raise ValueError("give weights (linear) or g (general), not both")
        if self.optimizer not in (None, "marginal-likelihood"):
            raise ValueError(f"optimizer must be None or 'marginal-likelihood', not {self.optimizer!r}")
        self.n_groups_ = self._count_groups(Y)
        if self.g is not None:
            self.composition_ = GeneralComposition(self.n_groups_, OutcomesOnly(self.g))
        else:
            weights = 1.0 if self.weights is None else self.weights
            linear = Composition(self.n_groups_, weights=weights)
            linear.weights(X)  # refuses a function that returns another shape
            self.composition_ = linear
        size = np.nan_to_num(np.abs(Y).reshape(len(Y), -1)).max(axis=0)
        self.outcome_size_ = np.where(size > 0, size, 1.0)

    def _composed_values(self, X: Array, Y: Array) -> Array:
        """g(Y), shape (n,); nan where a group is missing."""
        if not self._is_outcomes(Y):
            return Y
        outcomes = Y.reshape(len(Y), -1)
        complete = ~np.isnan(outcomes).any(axis=1)
        y = np.full(len(outcomes), np.nan)
        y[complete] = self._compose(X[complete], outcomes[complete])
        return y

    def _compose(self, X: Array, outcomes: Array) -> Array:
        """The composed value of complete outcomes (n, J) at X, shape (n,)."""
        values = self.composition_.unsigned(outcomes, X)
        if self.g is not None and not np.isfinite(values).all():
            raise ValueError(f"g is nan or inf at the outcomes {outcomes[~np.isfinite(values)][0]}")
        return values

    def _slopes(self, X: Array, outcomes: Array) -> Array:
        """Partial derivatives of g at outcomes (n, J): weights, or differences through a general g."""
        return self.composition_.slopes(outcomes, X, self.outcome_size_)

    @property
    def _learns(self) -> bool:
        return self.optimizer is not None or self.kernels is None or isinstance(self.kernels, str)

    def _prior(self, X: Array, Y: Array, noise: ArrayLike | None) -> Prior:
        """Prior of each column of Y: as given, or learned from what the prior means leave of it."""
        groups = Y.shape[1]
        means = spread_means(self.prior_means, groups)
        kernels = self._kernels_of(groups)
        if not self._learns:
            variances = as_variances(DEFAULT_NOISE if noise is None else noise, (groups,))
            return Prior([clone(kernel) for kernel in kernels], variances, means)
        residuals = Y - np.stack([prior_mean_at(mean, X) for mean in means], axis=1)
        for j, count in enumerate((~np.isnan(Y)).sum(axis=0)):
            if count < 2:
                samples = "1 sample" if count == 1 else "no sample"
                raise ValueError(
                    f"no kernel can be learned from {samples} of group {j}: give it, or more data"
                )
        known = None if noise is None else as_variances(noise, (groups,))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        learned = [
            learn_prior(
                kernel,
                X,
                residuals[:, [j]],
                noise_variances=None if known is None else known[[j]],
                restarts=self.n_restarts_optimizer,
                seed=seed,
            )
            for j, kernel in enumerate(kernels)
        ]
        return Prior(
            [prior.kernels[0] for prior in learned],
            np.array([prior.noise_variances[0] for prior in learned]),
            [_shifted(mean, prior.means[0]) for mean, prior in zip(means, learned, strict=True)],
        )

    def _group_means(self, X: Array) -> Array:
        """Prior means of the processes in `prior_`, shape (n, J)."""
        return np.stack([prior_mean_at(mean, X) for mean in self.prior_.means], axis=1)

    def _fit(self, kernels: Sequence[Kernel], X: Array, residuals: Array, noise: Array) -> Self:
        """Fit a process to each column of what the prior means leave, with noise variances alike (n, J)."""
        self.processes_: list[FittedProcess] = [
            FittedProcess.fit(kernel, X, residuals[:, j], noise[:, j]) for j, kernel in enumerate(kernels)
        ]
        self.n_samples_per_group_ = np.array([len(process) for process in self.processes_])
        self.jitter_ = np.array([process.jitter for process in self.processes_])
        return self

    def _kernels_of(self, groups: int) -> Sequence[str | Kernel]:
        """A kernel, or the family of one to learn, for each group."""
        kernels = "rbf" if self.kernels is None else self.kernels
        if isinstance(kernels, str):
            return [kernels] * groups
        given = [kernels] * groups if isinstance(kernels, Kernel) else list(kernels)
        if len(given) != groups:
            raise ValueError(f"the composed value of a general g has one kernel, not {len(given)} of groups")
        for kernel in given:
            if not isinstance(kernel, Kernel):
                raise ValueError(f"a kernel must be one of scikit-learn's, not {kernel!r}")
        return given


def _shifted(mean: PriorMean, shift: PriorMean) -> PriorMean:
    assert not callable(shift)
    return ShiftedMean(mean, shift) if callable(mean) else mean + shift
