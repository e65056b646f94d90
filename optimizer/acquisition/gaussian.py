"""Functions of the standard normal distribution that hold far out in its tail."""

import numpy as np
from scipy.special import erfcx, ndtr

from optimizer.arrays import Array

LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


def deviation(variance: Array) -> Array:
    """Standard deviation, kept away from zero where it divides."""
    deviation: Array = np.sqrt(np.maximum(variance, 1e-60))
    return deviation


def density(z: Array) -> Array:
    """phi(z), flushed to zero far out."""
    phi: Array = np.exp(-0.5 * np.minimum(z * z, 1e4) - LOG_SQRT_2PI)
    return phi


def log_improvement(z: Array) -> Array:
    """log(phi(z) + z Phi(z)) for any z, by the branches of Ament et al. 2023, equation 9."""
    z = np.asarray(z, dtype=float)
    near = np.maximum(z, -1.0)
    value = np.log(np.exp(-0.5 * near * near - LOG_SQRT_2PI) + near * ndtr(near))
    far = np.minimum(z, -1.0)
    tail = np.clip(far * np.sqrt(np.pi / 2) * erfcx(-far / np.sqrt(2)), -1.0 + 1e-16, 0.0)
    # Beyond z = -1e6 the difference 1 - |z| Phi(z)/phi(z) is lost to rounding; its limit is 1 / z^2.
    shrink = np.where(far > -1e6, np.log1p(tail), -2 * np.log(-far))
    logarithm: Array = np.where(z > -1.0, value, -0.5 * far * far - LOG_SQRT_2PI + shrink)
    return logarithm
