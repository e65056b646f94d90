"""One row k_d(x, Z) of each of D kernels against the same points Z, with the distances computed once.

The isotropic stationary kernels of scikit-learn are functions of the distance alone, so that kernels which
differ in their length scales and variances share it; so do the terms of a sum, such as the composed kernel.
Any other kernel is evaluated on its own (`optimizer.kernels.gradients.bind`).
"""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Product, Sum

from optimizer.arrays import Array
from optimizer.kernels.gradients import BoundKernel, Profile, bind, profile_of


class KernelStack:
    """D kernels against the same points.

    Parameters
    ----------
    kernels : sequence of D Kernel
        Read once: a later change of their hyperparameters is not seen.
    Z : ndarray of shape (m, p)
        The points.
    """

    def __init__(self, kernels: Sequence[Kernel], Z: Array) -> None:
        self._shape = (len(kernels), len(Z))
        # Centred first, because points far from the origin would lose the digits of their differences.
        self._centre = Z.mean(axis=0)
        self._Z = Z - self._centre
        self._sums: list[tuple[int, KernelStack]] = []
        self._others: list[tuple[int, BoundKernel]] = []
        alike: dict[Profile, list[tuple[int, float, float]]] = {}
        for d, kernel in enumerate(kernels):
            terms = _terms(kernel)
            known = [_isotropic(term) for term in terms]
            if None in known:
                self._others.append((d, bind(kernel, Z)))
            elif len(terms) > 1:
                self._sums.append((d, KernelStack(terms, Z)))
            elif known[0] is not None:
                profile, variance, length_scale = known[0]
                alike.setdefault(profile, []).append((d, variance, length_scale))
        self._alike = []
        for profile, members in alike.items():
            rows, variances, length_scales = (np.array(part) for part in zip(*members, strict=True))
            shrink = length_scales[:, None] ** -2.0
            self._alike.append(
                (profile, rows, shrink, None if (variances == 1).all() else variances[:, None])
            )

    def row(self, x: Array) -> Array:
        """k_d(x, Z) for one point x of shape (1, p): a new array (D, m)."""
        row: Array | None = None
        if self._alike:
            distances = cdist(x - self._centre, self._Z, "sqeuclidean")
            for profile, rows, shrink, variances in self._alike:
                values = profile(distances * shrink)[0]
                if variances is not None:
                    values *= variances
                if len(rows) == self._shape[0]:
                    return values
                row = np.empty(self._shape) if row is None else row
                row[rows] = values
        row = np.empty(self._shape) if row is None else row
        for d, terms in self._sums:
            row[d] = terms.row(x).sum(axis=0)
        for d, bound in self._others:
            row[d] = bound.value(x)[0]
        return row


def _terms(kernel: Kernel) -> list[Kernel]:
    return [*_terms(kernel.k1), *_terms(kernel.k2)] if type(kernel) is Sum else [kernel]


def _isotropic(kernel: Kernel) -> tuple[Profile, float, float] | None:
    """Profile, variance and length scale of a kernel of the distance alone, else None."""
    variance = 1.0
    if type(kernel) is Product:
        for scale, other in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
            if type(scale) is ConstantKernel:
                variance, kernel = float(scale.constant_value), other
                break
    profile = profile_of(kernel)
    if profile is None or np.size(kernel.length_scale) != 1:
        return None
    return profile, variance, float(np.reshape(kernel.length_scale, ()))
