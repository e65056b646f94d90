"""Kernels between any policies and fixed points, and their gradients in reverse mode.

Notation, used without exception: `X` (m, p) are the points asked about, `Z` (T, p) the points kept (the
observed policies' features), `K` (m, T) is `k(x_i, z_t)`, and `W` (m, T) holds the derivatives of some
scalar by the entries of `K`. The pullback of `W` is `sum_t W[i, t] d k(x_i, z_t) / d x_i`, shape (m,
p): what the chain rule needs for the gradient of a posterior mean or variance, without an (m, T, p) array.

scikit-learn's kernels give gradients by their hyperparameters only. Here the gradients by the input are
analytic for RBF, Matern (nu = 1/2, 3/2, 5/2, inf), RationalQuadratic, ConstantKernel, WhiteKernel, and their
sums, weighted sums, products and powers (Rasmussen & Williams 2006, section 4.2); every other kernel is
differentiated by central finite differences.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Exponentiation,
    Kernel,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from optimizer.arrays import Array
from optimizer.differences import sides
from optimizer.kernels.composed import WeightedSumKernel

Pullback = Callable[[Array], Array]

# The step that balances truncation and rounding of a central difference: the cube root of the float64
# epsilon.
_STEP = float(np.finfo(np.float64).eps ** (1 / 3))


class BoundKernel(ABC):
    """A kernel together with the points `Z` that it is evaluated against; made by `bind`."""

    @abstractmethod
    def value(self, X: Array) -> Array:
        """`K` (m, T), equal to scikit-learn's `kernel(X, Z)`, for `X` (m, p) of float64."""

    @abstractmethod
    def value_and_pullback(self, X: Array) -> tuple[Array, Pullback]:
        """`K` (m, T) and the pullback, from `W` (m, T) to `sum_t W[i, t] dk(x_i, z_t)/dx_i`.

        Several weights at once, `W` (s, m, T), give (s, m, p). The pullback may be called many times: each
        result is a new array, and `K` and `W` stay as they are. `K` and `X` must not be changed
        before the last call.
        """


def bind(kernel: Kernel, Z: Array) -> BoundKernel:
    """Prepare a kernel for many evaluations against the same points.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Read once: a later change of its hyperparameters is not seen.
    Z : (T, p) array
        The fixed points.

    Returns
    -------
    BoundKernel
        With the methods `value(X)` and `value_and_pullback(X)`.
    """
    Z = np.ascontiguousarray(Z, dtype=np.float64)
    if Z.ndim != 2:
        raise ValueError(f"the fixed points must be a (T, p) array, got shape {Z.shape}")
    # Exact types: a subclass may compute something else, and is then safer with finite differences.
    kind = type(kernel)
    if kind is Product:
        for scale, other in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
            if type(scale) is ConstantKernel:
                return _Scaled(float(scale.constant_value), bind(other, Z))
        return _Product(bind(kernel.k1, Z), bind(kernel.k2, Z))
    if kind is Sum:
        return _Sum(bind(kernel.k1, Z), bind(kernel.k2, Z))
    if kind is WeightedSumKernel:
        return _WeightedSum(kernel, Z)
    if kind is Exponentiation:
        return _Power(bind(kernel.kernel, Z), float(kernel.exponent))
    if kind is ConstantKernel:
        return _Constant(float(kernel.constant_value), len(Z))
    if kind is WhiteKernel:  # noise is of one observation: none is shared by X and Z, even at equal policies
        return _Constant(0.0, len(Z))
    profile = profile_of(kernel)
    if profile is None:
        return _FiniteDifferences(kernel, Z)
    return _Stationary(profile, np.asarray(kernel.length_scale, dtype=np.float64), Z)


def value_and_pullback(kernel: Kernel, X: Array, Z: Array) -> tuple[Array, Pullback]:
    """`kernel(X, Z)` (m, T) and its pullback; see `bind` and `BoundKernel.value_and_pullback`."""
    return bind(kernel, Z).value_and_pullback(np.asarray(X, dtype=np.float64))


def diag_and_gradient(kernel: Kernel, X: Array) -> tuple[Array, Array]:
    """`k(x_i, x_i)` (m,), as `kernel.diag(X)` with any white noise in it, and its gradient (m, p).

    The gradient of a stationary kernel is zero; that of another is a central finite difference.
    """
    X = np.asarray(X, dtype=np.float64)
    variance = constant_variance(kernel)
    if variance is None and kernel.is_stationary():
        variance = kernel.diag(X[:1])[0] if len(X) else 0.0
    if variance is not None:
        return np.full(len(X), variance), np.zeros(X.shape)
    if type(kernel) is WeightedSumKernel:
        return _weighted_diag_and_gradient(kernel, X)
    gradient = np.empty_like(X)
    for i, (above, below, width) in enumerate(sides(X, _half_steps(X))):
        gradient[:, i] = (kernel.diag(above) - kernel.diag(below)) / width
    return np.array(kernel.diag(X), dtype=np.float64), gradient


def _weighted_diag_and_gradient(kernel: WeightedSumKernel, X: Array) -> tuple[Array, Array]:
    """`sum_j w_j^2 k_j(z, z)` of joined rows, and its gradient by `z` and `w`."""
    points, weights = kernel.split(X)
    total, in_points, in_weights = np.zeros(len(X)), np.zeros(points.shape), np.empty(weights.shape)
    for j, part in enumerate(kernel.kernels):
        diagonal, gradient = diag_and_gradient(part, points)
        w = weights[:, j]
        total += w**2 * diagonal
        in_points += (w**2)[:, None] * gradient
        in_weights[:, j] = 2 * w * diagonal
    return total, np.hstack([in_points, in_weights])


def constant_variance(kernel: Kernel) -> float | None:
    """`k(x, x)` where it is the same for all x by the kernels known here, else None.

    Without it scikit-learn's `diag` would cost more than the rest of a small evaluation.
    """
    kind = type(kernel)
    if kind in (RBF, Matern, RationalQuadratic):
        return 1.0
    if kind is ConstantKernel:
        return float(kernel.constant_value)
    if kind is WhiteKernel:
        return float(kernel.noise_level)
    if kind is Exponentiation:
        inner = constant_variance(kernel.kernel)
        return None if inner is None else float(inner**kernel.exponent)
    if kind in (Sum, Product):
        first, second = constant_variance(kernel.k1), constant_variance(kernel.k2)
        if first is not None and second is not None:
            return first + second if kind is Sum else first * second
    return None


# A profile takes the squared scaled distances r2 (m, T) and gives k and h = -2 dk/d(r2), so that
# dk/dx = -h (x - z) / length_scale^2. The array r2 is its own to overwrite.
Profile = Callable[[Array], tuple[Array, Array]]


def _rbf(r2: Array) -> tuple[Array, Array]:
    r2 *= -0.5
    k = np.exp(r2, out=r2)
    return k, k


def _matern_1_2(r2: Array) -> tuple[Array, Array]:
    r = np.sqrt(r2, out=r2)
    k = np.exp(-r)
    # At r = 0 the kernel has a kink: its gradient is taken as 0, the middle of its subgradients.
    return k, np.divide(k, r, out=np.zeros_like(k), where=r > 0)


def _matern_3_2(r2: Array) -> tuple[Array, Array]:
    s = np.sqrt(3.0 * r2)
    e = np.exp(-s)
    return (1.0 + s) * e, 3.0 * e


def _matern_5_2(r2: Array) -> tuple[Array, Array]:
    s = np.sqrt(5.0 * r2)
    h = (1.0 + s) * np.exp(-s)
    return h + (5.0 / 3.0) * r2 * np.exp(-s), (5.0 / 3.0) * h


def _rational_quadratic(alpha: float) -> Profile:
    def profile(r2: Array) -> tuple[Array, Array]:
        base = 1.0 + r2 / (2.0 * alpha)
        k = base**-alpha
        return k, k / base

    return profile


def profile_of(kernel: Kernel) -> Profile | None:
    """The profile of a stationary kernel whose gradient is known here, else None."""
    if type(kernel) is RBF:
        return _rbf
    if type(kernel) is RationalQuadratic:
        return _rational_quadratic(float(kernel.alpha))
    if type(kernel) is Matern:
        return {0.5: _matern_1_2, 1.5: _matern_3_2, 2.5: _matern_5_2, math.inf: _rbf}.get(float(kernel.nu))
    return None


class _Stationary(BoundKernel):
    def __init__(self, profile: Profile, length_scale: Array, Z: Array) -> None:
        p = Z.shape[1]
        if length_scale.ndim > 1 or (length_scale.size > 1 and length_scale.size != p):
            raise ValueError(f"the kernel has {length_scale.size} length scales, the points have {p} entries")
        self._profile = profile
        self._scale = np.full(p, length_scale)
        # Centred first, because points far from the origin would lose the digits of their differences.
        self._centre = Z.mean(axis=0) if len(Z) else np.zeros(p)
        self._Z = (Z - self._centre) / self._scale
        # The column of ones makes one product of two that the pullback needs: (W h) Z and the sums of W h.
        self._Z1 = np.column_stack((self._Z, np.ones(len(Z))))

    def _squared_distances(self, X: Array) -> tuple[Array, Array]:
        scaled = (X - self._centre) / self._scale
        # By differences (cdist), not |x|^2 + |z|^2 - 2 x z, whose cancellation would spoil close points.
        return scaled, cdist(scaled, self._Z, "sqeuclidean")

    def value(self, X: Array) -> Array:
        return self._profile(self._squared_distances(X)[1])[0]

    def value_and_pullback(self, X: Array) -> tuple[Array, Pullback]:
        scaled, r2 = self._squared_distances(X)
        k, h = self._profile(r2)

        def pullback(W: Array) -> Array:
            sums = (W * h) @ self._Z1
            gradient: Array = (sums[..., :-1] - sums[..., -1:] * scaled) / self._scale
            return gradient

        return k, pullback


class _Constant(BoundKernel):
    def __init__(self, constant: float, T: int) -> None:
        self._constant, self._T = constant, T

    def value(self, X: Array) -> Array:
        return np.full((len(X), self._T), self._constant)

    def value_and_pullback(self, X: Array) -> tuple[Array, Pullback]:
        return self.value(X), lambda W: np.zeros((*W.shape[:-1], X.shape[1]))


class _Scaled(BoundKernel):
    def __init__(self, constant: float, inner: BoundKernel) -> None:
        self._constant, self._inner = constant, inner

    def value(self, X: Array) -> Array:
        return self._constant * self._inner.value(X)

    def value_and_pullback(self, X: Array) -> tuple[Array, Pullback]:
        k, inner = self._inner.value_and_pullback(X)
        return self._constant * k, lambda W: self._constant * inner(W)


class _Sum(BoundKernel):
    def __init__(self, first: BoundKernel, second: BoundKernel) -> None:
        self._first, self._second = first, second

    def value(self, X: Array) -> Array:
        return self._first.value(X) + self._second.value(X)

    def value_and_pullback(self, X: Array) -> tuple[Array, Pullback]:
        k1, first = self._first.value_and_pullback(X)
        k2, second = self._second.value_and_pullback(X)
        return k1 + k2, lambda W: first(W) + second(W)


class _Product(BoundKernel):
    def __init__(self, first: BoundKernel, second: BoundKernel) -> None:
        self._first, self._second = first, second

    def value(self, X: Array) -> Array:
        return self._first.value(X) * self._second.value(X)

    def value_and_pullback(self, X: Array) -> tuple[Array, Pullback]:
        k1, first = self._first.value_and_pullback(X)
        k2, second = self._second.value_and_pullback(X)
        return k1 * k2, lambda W: first(W * k2) + second(W * k1)


class _WeightedSum(BoundKernel):
    """`sum_j w_j k_j(z, z') w'_j` of joined rows `[z, w]`: see `WeightedSumKernel`."""

    def __init__(self, kernel: WeightedSumKernel, Z: Array) -> None:
        points, weights = kernel.split(Z)
        self._split = kernel.split
        self._parts = [(bind(part, points), weights[:, j]) for j, part in enumerate(kernel.kernels)]

    def value(self, X: Array) -> Array:
        points, weights = self._split(X)
        K = np.zeros((len(X), len(self._parts[0][1])))
        for j, (part, kept) in enumerate(self._parts):
            K += weights[:, [j]] * part.value(points) * kept
        return K

    def value_and_pullback(self, X: Array) -> tuple[Array, Pullback]:
        points, weights = self._split(X)
        pulled = [part.value_and_pullback(points) for part, _ in self._parts]
        kept = [one for _, one in self._parts]
        K = np.zeros((len(X), len(kept[0])))
        for j, (k, _) in enumerate(pulled):
            K += weights[:, [j]] * k * kept[j]

        def pullback(W: Array) -> Array:
            in_points = np.zeros((*W.shape[:-1], points.shape[1]))
            in_weights = np.empty((*W.shape[:-1], weights.shape[1]))
            for j, (k, pull) in enumerate(pulled):
                by_kernel = W * kept[j]
                in_points += pull(by_kernel * weights[:, [j]])
                in_weights[..., j] = np.einsum("...mt,mt->...m", by_kernel, k)
            return np.concatenate([in_points, in_weights], axis=-1)

        return K, pullback


class _Power(BoundKernel):
    def __init__(self, inner: BoundKernel, exponent: float) -> None:
        self._inner, self._exponent = inner, exponent

    def value(self, X: Array) -> Array:
        power: Array = self._inner.value(X) ** self._exponent
        return power

    def value_and_pullback(self, X: Array) -> tuple[Array, Pullback]:
        k, inner = self._inner.value_and_pullback(X)
        return k**self._exponent, lambda W: inner(W * (self._exponent * k ** (self._exponent - 1.0)))


class _FiniteDifferences(BoundKernel):
    def __init__(self, kernel: Kernel, Z: Array) -> None:
        self._kernel, self._Z = kernel, Z

    def value(self, X: Array) -> Array:
        return np.asarray(self._kernel(X, self._Z), dtype=np.float64)

    def value_and_pullback(self, X: Array) -> tuple[Array, Pullback]:
        def pullback(W: Array) -> Array:
            gradient = np.empty((*W.shape[:-1], X.shape[1]))
            for i, (above, below, width) in enumerate(sides(X, _half_steps(X))):
                change = self.value(above) - self.value(below)
                gradient[..., i] = np.einsum("...mt,mt->...m", W, change) / width
            return gradient

        return self.value(X), pullback


def _half_steps(X: Array) -> Array:
    steps: Array = _STEP * np.maximum(1.0, np.abs(X))
    return steps
