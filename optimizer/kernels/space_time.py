"""Kernels over places and time, where the time is the last feature.

What two readings share fades with the distance and with the hours between:
k([z, t], [z', t']) = k_space(z, z') k_time(t, t'). Some of what a place is does not fade at all, and some
comes back every day: `climate_kernel` is a sum of three such products.
"""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Kernel,
    KernelOperator,
    Matern,
)

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


def climate_kernel(day: float = 24.0, unit: float = 1.0) -> Kernel:
    """A place's climate, which stays, plus the weather, which passes, plus a daily cycle; variances about 1.

    Of places and hours, for a country that is about three `unit`s wide: Matern (nu = 1/2) over places alone,
    as rough as hills and shores are; Matern (nu = 3/2) over places times an exponential over time, for what
    fronts bring; and a squared exponential over places times a periodic kernel over time (MacKay 1998) of
    period `day`. All amplitudes and length scales are to be learned, but the period.
    """
    lengths, amplitudes = (0.05 * unit, 20.0 * unit), (1e-3, 1e3)

    def product(amplitude: float, place: Kernel, time: Kernel) -> SpaceTimeKernel:
        return SpaceTimeKernel(ConstantKernel(amplitude, amplitudes) * place, time)

    climate = product(1.0, Matern(0.5 * unit, lengths, nu=0.5), ConstantKernel(1.0, "fixed"))
    weather = product(0.5, Matern(0.8 * unit, lengths, nu=1.5), Matern(day, (2.0, 300.0), nu=0.5))
    daily = product(
        0.5, RBF(3.0 * unit, (0.5 * unit, 30.0 * unit)), ExpSineSquared(1.0, day, (0.3, 10.0), "fixed")
    )
    kernel: Kernel = climate + weather + daily
    return kernel


def split(X: Array) -> tuple[Array, Array]:
    """Places (n, p) and times (n, 1) of rows (n, p + 1)."""
    X = np.atleast_2d(np.asarray(X, dtype=float))
    return X[:, :-1], X[:, -1:]
