"""A kernel over places and time: what two readings share fades with the distance and with the hours between.

k([z, t], [z', t']) = k_space(z, z') k_time(t, t'), where the time is the last feature.
"""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import KernelOperator

from optimizer.arrays import Array


class SpaceTimeKernel(KernelOperator):  # type: ignore[misc]
    """The product of a kernel k1 on all features but the last, and a kernel k2 on the last one, the time.

    Parameters
    ----------
    k1 : Kernel
        Of the place, features (n, p).
    k2 : Kernel
        Of the time, one feature (n, 1).
    """

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Any:
        """Kernel matrix between X (n, p + 1) and Y (m, p + 1), shape (n, m); gradient by hyperparameters."""
        (place, time), (place2, time2) = split(X), (None, None) if Y is None else split(Y)
        if not eval_gradient:
            return self.k1(place, place2) * self.k2(time, time2)
        K1, slopes1 = self.k1(place, place2, eval_gradient=True)
        K2, slopes2 = self.k2(time, time2, eval_gradient=True)
        return K1 * K2, np.concatenate([slopes1 * K2[:, :, None], slopes2 * K1[:, :, None]], axis=2)

    def diag(self, X: Array) -> Array:
        """k(x, x) of every row, shape (n,)."""
        place, time = split(X)
        variance: Array = self.k1.diag(place) * self.k2.diag(time)
        return variance

    def __eq__(self, other: object) -> bool:
        # Unlike a product on the same features, the two must not change places.
        return type(other) is type(self) and self.k1 == other.k1 and self.k2 == other.k2

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.k1} over places * {self.k2} over time"


def split(X: Array) -> tuple[Array, Array]:
    """Places (n, p) and times (n, 1) of rows (n, p + 1)."""
    X = np.atleast_2d(np.asarray(X, dtype=float))
    return X[:, :-1], X[:, -1:]
