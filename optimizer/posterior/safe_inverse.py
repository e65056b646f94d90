"""The inverse of a Cholesky factor, extended by the rows of new observations; S of them together."""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtri

from optimizer.arrays import Array
from optimizer.posterior.cholesky import safe_cholesky


class Extended(NamedTuple):
    """What n new observations make of L^-1 and a = L^-1 y.

    Attributes
    ----------
    inverse : ndarray of shape (S, T + n, T + n)
        L'^-1.
    a : ndarray of shape (S, T + n)
        L'^-1 (y, y_new).
    """

    inverse: Array
    a: Array


def extend(inverse: Array, a: Array, cross: Array, corner: Array, noise: Array, y: Array) -> Extended:
    """Extend L^-1 and a: with L' = [[L, 0], [W^T, C]], L'^-1 = [[L^-1, 0], [-C^-1 W^T L^-1, C^-1]].

    Parameters
    ----------
    inverse : ndarray of shape (S, T, T)
        L^-1.
    a : ndarray of shape (S, T)
        L^-1 y.
    cross : ndarray of shape (S, n, T)
        k_s(X_new, X_T).
    corner : ndarray of shape (S, n, n)
        k_s(X_new, X_new).
    noise : ndarray of shape (S, n)
        Noise variances of the new observations.
    y : ndarray of shape (S, n), or (n,)
        The new observations, less their prior mean.
    """
    S, n, T = cross.shape
    W = np.matmul(inverse, cross.transpose(0, 2, 1))
    left = corner - np.matmul(W.transpose(0, 2, 1), W)
    left[:, np.arange(n), np.arange(n)] += noise
    own = inverse_factors(left, np.einsum("snn->sn", corner) + noise)
    longer = np.zeros((S, T + n, T + n))
    longer[:, :T, :T] = inverse
    longer[:, T:, :T] = -np.matmul(own, np.matmul(W.transpose(0, 2, 1), inverse))
    longer[:, T:, T:] = own
    steps = np.einsum("smn,sn->sm", own, y - np.einsum("stn,st->sn", W, a))
    return Extended(longer, np.concatenate([a, steps], axis=1))


def inverse_factors(covariances: Array, scale: Array) -> Array:
    """C^-1 of covariances C C^T (S, n, n), with jitter where `safe_cholesky` needs it; `scale` is (S, n)."""
    inverses = np.empty(covariances.shape)
    for s, (covariance, at) in enumerate(zip(covariances, scale, strict=True)):
        inverses[s] = dtrtri(safe_cholesky(covariance, at)[0], lower=1)[0]
    return inverses
