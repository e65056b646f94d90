"""A general composition g: any known function of the groups' outcomes (Definition 2, footnote 1).

Its posterior is not Gaussian. How that of the groups is carried through g is
`optimizer.composition.propagation`'s.
"""

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from optimizer.arrays import Array, Policies
from optimizer.composition.linear import BaseComposition
from optimizer.composition.objective import Moments, Posterior
from optimizer.composition.propagation import Closed, Delta, Propagation
from optimizer.differences import central_differences

if TYPE_CHECKING:
    from optimizer.composition.ready import ReadyComposition

Function = Callable[[Array, Policies], Array]

DIFFERENCE_SHARE = 6e-6
"""Half step of central differences through g, as a share of an outcome's size: the cube root of rounding."""


class GeneralComposition(BaseComposition):
    """General composition f(x) = g(f_1(x), .., f_J(x), x), signed so that more is better.

    Parameters
    ----------
    groups : int
        J, the number of groups.
    g : callable
        Vectorised: takes outcomes (..., J) and their policies, (..., d) or candidate rows (...,), to values
        (...,). It may depend on the policy (footnote 1), and has to take whatever a model predicts.
    gradient : callable, optional
        dg/df_j, from the same two to slopes (..., J). Without it, central differences.
    bounds : array_like of shape (J,), optional
        B_j >= |dg/df_j| of Definition 2, which the propagation "bound" needs. A function with jumps has none.
    sense : {"maximize", "minimize"}, default="maximize"
        Whether the objective is to be maximised or minimised.

    Attributes
    ----------
    propagation : Propagation
        How moments are carried through g: `Delta` unless `propagated` says otherwise.
    ready : ReadyComposition or None
        The ready-made g that it is, whose closed forms are used where there are any.

    Raises
    ------
    ValueError
        If the bounds are not J numbers, finite and not negative, or `sense` is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> product = GeneralComposition(2, lambda outcomes, policies: outcomes.prod(axis=-1))
    >>> product.moments(np.array([[2.0, 3.0]]), np.array([[0.01, 0.04]]), np.zeros((1, 1)))
    (array([6.]), array([0.25]))
    """

    def __init__(
        self,
        groups: int,
        g: Function,
        *,
        gradient: Function | None = None,
        bounds: ArrayLike | None = None,
        sense: Literal["maximize", "minimize"] = "maximize",
    ) -> None:
        super().__init__(groups, sense)
        self.g = g
        self.gradient = gradient
        self.bounds: Array | None = None
        if bounds is not None:
            self.bounds = np.array(bounds, dtype=float)
            if self.bounds.shape != (groups,):
                raise ValueError(f"bounds must be {groups} numbers, one a group, not {self.bounds}")
            if not ((self.bounds >= 0) & np.isfinite(self.bounds)).all():
                raise ValueError(f"bounds must be finite and not negative, not {self.bounds}")
        self.propagation: Propagation = Delta()
        self.ready: ReadyComposition | None = None

    @classmethod
    def of(cls, ready: "ReadyComposition", groups: int) -> Self:
        """The composition that a ready-made g of so many groups is."""
        made = cls(
            groups,
            lambda outcomes, policies: ready(outcomes),
            gradient=lambda outcomes, policies: ready.slopes(outcomes),
            bounds=ready.bounds(groups),
            sense=ready.own_sense,
        )
        made.ready = ready
        if ready.jumps:
            made.propagation = Closed()
        return made

    def propagated(self, propagation: Propagation) -> Self:
        """The same composition with another propagation; one that jumps keeps its closed form.

        Raises
        ------
        ValueError
            If the propagation needs bounds B_j, and there are none.
        """
        propagation.check(self)
        other = copy.copy(self)
        other.propagation = self.propagation if self.ready and self.ready.jumps else propagation
        return other

    def unsigned(self, outcomes: Array, policies: Policies) -> Array:
        """Objective of outcomes (..., n, J) at policies (n, d) or rows (n,), in its own sign: (..., n)."""
        shape = outcomes.shape[:-1]
        if 0 in shape:
            return np.empty(shape)
        values = np.asarray(self.g(outcomes, self._spread(policies, shape)), dtype=float)
        if values.shape != shape:
            raise ValueError(
                f"g must take outcomes {outcomes.shape} to values {shape}, one each, not {values.shape}"
            )
        return values

    def slopes(self, outcomes: Array, policies: Policies, sizes: Array | float = 0.0) -> Array:
        """Partial derivatives dg/df_j at outcomes (..., n, J), in the objective's own sign: the same shape.

        Parameters
        ----------
        outcomes : ndarray of shape (..., n, J)
            Where to differentiate.
        policies : ndarray of shape (n, d) or (n,)
            The policies of the outcomes.
        sizes : float or ndarray that broadcasts to `outcomes`, default=0.0
            How large outcomes are or how far they spread: differences take their step from this or from the
            outcome itself, whichever is larger.
        """
        if self.gradient is not None and outcomes.size:
            spread = self._spread(policies, outcomes.shape[:-1])
            slopes = np.asarray(self.gradient(outcomes, spread), dtype=float)
            if slopes.shape != outcomes.shape:
                raise ValueError(f"the gradient of g must have shape {outcomes.shape}, not {slopes.shape}")
            return slopes
        steps = DIFFERENCE_SHARE * np.maximum(sizes, np.abs(outcomes))
        steps = np.where(steps > 0, steps, DIFFERENCE_SHARE)
        return central_differences(lambda F: self.unsigned(F, policies), outcomes, steps)

    def moments(self, means: Array, variances: Array, policies: Policies) -> Moments:
        """Mean and variance (n,) of the signed objective: in closed form, or by the propagation."""
        closed = self.ready and self.ready.moments(means, variances)
        if closed:
            return Moments(self.sign * closed.mean, closed.variance)
        return self.propagation.moments(self, means, variances, policies)

    def posterior(self, means: Array, variances: Array, policies: Policies) -> Posterior:
        """What acquisitions read, by the propagation: moments, or samples."""
        return self.propagation.posterior(self, means, variances, policies)

    def _spread(self, policies: Policies, shape: tuple[int, ...]) -> Policies:
        """The policies of outcomes of this shape (..., n), as a view."""
        return np.broadcast_to(policies, (*shape, *np.shape(policies)[1:]))
