"""Repeats of a policy that differ, although their noise is said to be zero: it seems not to be."""

from typing import NamedTuple

import numpy as np

from optimizer.agents.history import History, Told
from optimizer.arrays import Array
from optimizer.posterior.inputs import LEAST_NOISE, stated_or_own

ALIKE = 1e-6
"""Repeats that differ by no more, as a share of their size, are alike."""


class Contradiction(NamedTuple):
    """Two observations of group `j` at one policy (d,), or a candidate's row."""

    policy: object
    j: int
    before: float
    now: float


def contradiction(history: History, told: Told, own: Array, prior_variances: Array) -> Contradiction | None:
    """The first observation just told that another of the same policy contradicts.

    Parameters
    ----------
    history : History
        All that was told; `told` is the last of it.
    told : Told
    own : ndarray of shape (J,)
        Noise variances of observations that state none.
    prior_variances : ndarray of shape (n, J)
        Of the policies told: a noise far below (`LEAST_NOISE`) is none.
    """
    free = LEAST_NOISE * prior_variances
    if not (stated_or_own(told.noise, own, told.Y.shape) <= free).any():
        return None
    policies, Y, noise = history.policies, history.Y, history.noise
    noise = np.where(np.isnan(noise), own, noise)
    size = np.max(np.abs(Y), axis=0, initial=0.0, where=np.isfinite(Y))
    start = len(policies) - len(told.policies)
    for i, policy in enumerate(told.policies, start=start):
        same = np.flatnonzero((policies[:i] == policy).reshape(i, policy.size).all(axis=1))
        for j in range(Y.shape[1]):
            now, limit = float(Y[i, j]), free[i - start, j]
            for before in Y[same[noise[same, j] <= limit], j].tolist() if noise[i, j] <= limit else ():
                if abs(now - before) > ALIKE * max(abs(now), abs(before), ALIKE * size[j]):
                    return Contradiction(policy, j, before, now)
    return None
