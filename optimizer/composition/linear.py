"""The composition g: how the outcomes of the groups make up the objective (Definitions 1 and 2).

This is where the optimizer takes the sign in: what a composition composes is always to be maximised. The
observations of the groups themselves are never touched, so minimising f and maximising -f are the same
computation; what agents say of the objective is turned back to its own sign.

`Composition` is the linear one (Definition 1); any other is in `optimizer.composition.general`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from optimizer.arrays import Array, Policies
from optimizer.composition.objective import Moments, Posterior


class BaseComposition(ABC):
    """What every composition offers: the signed objective of outcomes, and its moments.

    Attributes
    ----------
    groups : int
        J, the number of groups.
    sign : float
        1 where the objective is to be maximised, -1 where minimised.
    bounds : ndarray of shape (J,), or None
        B_j >= |dg/df_j| of Definition 2, where they are known.
    """

    bounds: Array | None = None

    def __init__(self, groups: int, sense: Literal["maximize", "minimize"]) -> None:
        if sense not in ("maximize", "minimize"):
            raise ValueError(f"sense must be 'maximize' or 'minimize', not {sense!r}")
        if groups < 1:
            raise ValueError(f"groups must be at least 1, not {groups}")
        self.groups = groups
        self.sign: float = 1.0 if sense == "maximize" else -1.0

    @abstractmethod
    def unsigned(self, outcomes: Array, policies: Policies) -> Array:
        """Objective of outcomes (n, J) in its own sign, shape (n,)."""

    @abstractmethod
    def slopes(self, outcomes: Array, policies: Policies, sizes: Array | float = 0.0) -> Array:
        """Partial derivatives dg/df_j at outcomes (n, J), in the objective's own sign, shape (n, J)."""

    @abstractmethod
    def moments(self, means: Array, variances: Array, policies: Policies) -> Moments:
        """Mean and variance (n,) of the signed objective, from those of independent groups (n, J)."""

    @abstractmethod
    def posterior(self, means: Array, variances: Array, policies: Policies) -> Posterior:
        """What acquisitions read of the signed objective, from the moments of independent groups (n, J)."""

    def compose(self, outcomes: Array, policies: Policies) -> Array:
        """Signed objective of outcomes (n, J) at policies: the value to be maximised, shape (n,)."""
        return self.sign * self.unsigned(outcomes, policies)

    def own(self, others: int = 0) -> "Composition":
        """The objective as a group of its own: what an aggregate agent models, beside others that are not."""
        return Composition(
            1 + others, weights=np.eye(1 + others)[0], sense="maximize" if self.sign > 0 else "minimize"
        )


class Composition(BaseComposition):
    """Linear composition f(x) = sum_j g_j(x) f_j(x) + c(x), signed so that more is better.

    Parameters
    ----------
    groups : int
        J, the number of groups.
    weights : array_like of shape (J,), or callable, default=1.0
        g_j(x): constants, or a function from policies (n, d) to weights (n, J). Definition 1 of the paper.
    offset : float, or callable, default=0.0
        c(x): a known term of the objective, such as the cost of a policy: a function from policies to (n,).
    sense : {"maximize", "minimize"}, default="maximize"
        Whether the objective is to be maximised or minimised.

    Attributes
    ----------
    constant_weights : ndarray of shape (J,), or None
        g_j where they are constants.
    offset_varies : bool
        Whether c(x) is a function.

    Raises
    ------
    ValueError
        If the weights are not finite, have another length than `groups`, or `sense` is unknown.
    """

    def __init__(
        self,
        groups: int,
        *,
        weights: ArrayLike | Callable[[Policies], Array] = 1.0,
        offset: float | Callable[[Policies], Array] = 0.0,
        sense: Literal["maximize", "minimize"] = "maximize",
    ) -> None:
        super().__init__(groups, sense)
        self.constant_weights: Array | None = None
        self._weights: Callable[[Policies], Array] | None = None
        if callable(weights):
            self._weights = weights
        else:
            constant = np.asarray(weights, dtype=float)
            if constant.ndim > 1 or (constant.ndim == 1 and constant.size != groups):
                raise ValueError(f"weights must be {groups} numbers, one a group, not shape {constant.shape}")
            if not np.isfinite(constant).all():
                raise ValueError(f"weights must be finite, not {constant}")
            self.constant_weights = np.broadcast_to(constant, (groups,)).copy()
        self._offset = offset
        self.offset_varies: bool = callable(offset)

    def of_groups(self, which: Sequence[int]) -> "Composition":
        """The same objective for whoever predicts these groups alone, where weights are constants."""
        assert self.constant_weights is not None
        return Composition(
            len(which),
            weights=self.constant_weights[list(which)],
            offset=self._offset,
            sense="maximize" if self.sign > 0 else "minimize",
        )

    def weights(self, policies: Policies) -> Array:
        """g_j(x) of each policy, in the objective's own sign, shape (n, J)."""
        if self._weights is None:
            assert self.constant_weights is not None
            return np.broadcast_to(self.constant_weights, (len(policies), self.groups))
        weights = np.asarray(self._weights(policies), dtype=float)
        if weights.shape != (len(policies), self.groups):
            raise ValueError(
                f"the weights of {len(policies)} policies must have shape "
                f"{(len(policies), self.groups)}, not {weights.shape}"
            )
        return weights

    def offset(self, policies: Policies) -> Array:
        """c(x) of each policy, in the objective's own sign, shape (n,)."""
        if callable(self._offset):
            return np.array(self._offset(policies), dtype=float)
        return np.full(len(policies), float(self._offset))

    def unsigned(self, outcomes: Array, policies: Policies) -> Array:
        """Objective of outcomes (n, J) in its own sign, shape (n,).

        The sum runs over the groups in order, so that a row never depends on its neighbours. A group with
        weight zero contributes exactly zero.
        """
        total = self.offset(policies)
        for j, weight in enumerate(self._by_group(policies)):
            total += weight * outcomes[:, j]
        return total

    def variance(self, variances: Array, policies: Policies) -> Array:
        """Variance of the objective from independent groups' variances (n, J): sum_j g_j(x)^2 var_j."""
        total = np.zeros(len(policies))
        for j, weight in enumerate(self._by_group(policies)):
            total += weight**2 * variances[:, j]
        return total

    def slopes(self, outcomes: Array, policies: Policies, sizes: Array | float = 0.0) -> Array:
        """The weights g_j(x), whatever the outcomes are."""
        return self.weights(policies)

    def moments(self, means: Array, variances: Array, policies: Policies) -> Moments:
        """Mean and variance (n,) of the signed objective: exact, it is Gaussian where the groups are."""
        return Moments(self.compose(means, policies), self.variance(variances, policies))

    def posterior(self, means: Array, variances: Array, policies: Policies) -> Moments:
        """The same."""
        return self.moments(means, variances, policies)

    def _by_group(self, policies: Policies) -> Array:
        """g_j(x) by group: (J,) numbers where they are constant, which multiply faster, else (J, n)."""
        return self.weights(policies).T if self.constant_weights is None else self.constant_weights
