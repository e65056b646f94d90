"""A stationary kernel on an evenly spaced line, evaluated once for every distance that occurs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from optimizer.composed_kernel import FrozenKernel

Array = NDArray[np.float64]


class LagKernel(FrozenKernel):
    """k(x_i, x_j) = table[|i - j|] of the points with numbers i and j, which are what the kernel sees.

    A Matern kernel of any smoothness takes a Bessel function for each pair of points; here it takes one for
    each distance.

    Parameters
    ----------
    table : ndarray of shape (n,)
        k between points 0, 1, .., n - 1 steps apart.
    """

    def __init__(self, table: Array) -> None:
        self.table = table

    @classmethod
    def of(cls, kernel: Kernel, points: Array) -> LagKernel:
        """Return a stationary kernel on evenly spaced points (n, 1)."""
        return cls(np.asarray(kernel(points[:1], points), dtype=np.float64)[0])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the kernel, as scikit-learn asks for them."""
        return {"table": self.table}

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Any:
        """Kernel matrix between points by their numbers X (n, 1) and Y (m, 1), shape (n, m)."""
        first = np.asarray(X).astype(np.intp)
        second = first if Y is None else np.asarray(Y).astype(np.intp)
        K = self.table[np.abs(first - second.T)]
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: Array) -> Array:
        """k(x, x) of every point, shape (n,)."""
        return np.full(len(X), self.table[0])

    def is_stationary(self) -> bool:
        """Whether k depends on the distance alone: it does."""
        return True
