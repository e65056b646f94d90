"""S kernels of one form, evaluated together: the draws of one group's hyperparameters.

Notation as in `optimizer.kernels.gradients`, with the kernels first: `K` (S, m, T), weights `W` (S, m, T),
and the pullback of `W` is the sum over all kernels, shape (m, p).

Kernels variance_s * stationary(length scales_s) + constant_s go through one pass over (S, m, T); any others
are evaluated one by one.
"""

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Product, Sum

from optimizer.arrays import Array
from optimizer.kernels.gradients import BoundKernel, Profile, bind, profile_of

Pullback = Callable[[Array], Array]


class BoundKernels:
    """S kernels against the same points Z (T, p).

    Parameters
    ----------
    kernels : sequence of S Kernel
        Read once: a later change of their hyperparameters is not seen.
    Z : ndarray of shape (T, p)
        The fixed points.
    """

    def __init__(self, kernels: Sequence[Kernel], Z: Array) -> None:
        self._Z = Z
        self._parts = _parts(kernels, Z.shape[1])
        self._others: list[BoundKernel] = [] if self._parts else [bind(kernel, Z) for kernel in kernels]
        if self._parts:
            self._by_entry = 1.0 / self._parts.scales**2

    def value(self, X: Array) -> Array:
        """`K` (S, m, T) for X (m, p)."""
        if self._parts is None:
            return np.stack([bound.value(X) for bound in self._others])
        K = self._parts.profile(self._squared_distances(X))[0]
        K *= self._parts.variances[:, None, None]
        K += self._parts.constants[:, None, None]
        return K

    def value_and_pullback(self, X: Array) -> tuple[Array, Pullback]:
        """`K` (S, m, T), and what takes `W` (S, m, T) to `sum_st W[s, i, t] dk_s(x_i, z_t)/dx_i` (m, p)."""
        if self._parts is None:
            pairs = [bound.value_and_pullback(X) for bound in self._others]

            def one_by_one(W: Array) -> Array:
                total = np.zeros(X.shape)
                for w, (_, pull) in zip(W, pairs, strict=True):
                    total += pull(w)
                return total

            return np.stack([k for k, _ in pairs]), one_by_one
        parts = self._parts
        k, h = parts.profile(self._squared_distances(X))
        K = k * parts.variances[:, None, None]
        K += parts.constants[:, None, None]

        # Centred first, because points far from the origin would lose the digits of their differences.
        centre = self._Z.mean(axis=0) if len(self._Z) else np.zeros(X.shape[1])
        x, z = X - centre, self._Z - centre

        def pullback(W: Array) -> Array:
            weights = W * h
            weights *= parts.variances[:, None, None]
            sums = weights @ z - weights.sum(axis=2)[:, :, None] * x
            return np.asarray(np.einsum("smp,sp->mp", sums, self._by_entry))

        return K, pullback

    def _squared_distances(self, X: Array) -> Array:
        """r2 (S, m, T): squared differences by entry, weighed for all kernels in one product."""
        squares = np.square(X.T[:, :, None] - self._Z.T[:, None, :])  # (p, m, T)
        r2 = self._by_entry @ squares.reshape(len(squares), -1)
        return r2.reshape(-1, len(X), len(self._Z))


class _Parts:
    """Profile, variances (S,), constants (S,) and length scales (S, p) of kernels of one form."""

    def __init__(self, profile: Profile, variances: Array, constants: Array, scales: Array) -> None:
        self.profile, self.variances, self.constants, self.scales = profile, variances, constants, scales


def _parts(kernels: Sequence[Kernel], p: int) -> _Parts | None:
    found = [_part(kernel) for kernel in kernels]
    known = [part for part in found if part is not None]
    if len(known) < len(kernels) or not known or any(part[0] is not known[0][0] for part in known):
        return None
    profile, variances, constants, scales = zip(*known, strict=True)
    return _Parts(
        profile[0],
        np.array(variances),
        np.array(constants),
        np.stack([np.broadcast_to(scale, p) for scale in scales]),
    )


def _part(kernel: Kernel) -> tuple[Profile, float, float, Array] | None:
    """Profile, variance, constant and length scales, where the kernel has this form."""
    constant, variance = 0.0, 1.0
    if type(kernel) is Sum and type(kernel.k2) is ConstantKernel:
        constant, kernel = float(kernel.k2.constant_value), kernel.k1
    if type(kernel) is Product and type(kernel.k1) is ConstantKernel:
        variance, kernel = float(kernel.k1.constant_value), kernel.k2
    profile = profile_of(kernel)
    if profile is None:
        return None
    return profile, variance, constant, np.asarray(kernel.length_scale, dtype=float)
