"""Random numbers that belong to something: draws tied to (seed, purpose, person, contact) by a hash.

A generator hands out its numbers in the order of the questions, so that one infection more or less shifts all
that follow. Here every number is a function of what it is for, and two seasons with the same seed differ only
where the policies make them differ (common random numbers).

The function is the finalizer of SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number
generators", OOPSLA), applied to counters as SplitMix64 itself does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulators.arrays import Array, Integers, Rows

Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


def words(keys: NDArray[np.unsignedinteger] | np.uint64, counters: Integers) -> Words:
    """One 64-bit word for each counter (n,), not negative, under its key, or under one key for all.

    Word `k` is a function of key `k` and counter `k` alone, uniform over all 64-bit words.
    """
    x = counters.astype(np.uint64)
    x += np.uint64(1)
    x *= _GOLDEN
    x += keys
    shifted = np.right_shift(x, _30)
    x ^= shifted
    x *= _FIRST
    x ^= np.right_shift(x, _27, out=shifted)
    x *= _SECOND
    x ^= np.right_shift(x, _31, out=shifted)
    return x


def purpose_key(seed: int, purpose: int) -> np.uint64:
    """The key under which a seed, 0 to 2**64 - 1, draws for one purpose, a number not negative."""
    return np.uint64(words(np.array([seed], dtype=np.uint64), np.array([purpose]))[0])


def uniforms(random_words: Words) -> Array:
    """Numbers in [0, 1) made of the upper 53 bits of each word."""
    numbers: Array = (random_words >> _11).astype(np.float64) * 2.0**-53
    return numbers


def limits(probabilities: Array) -> Words:
    """The words below which a draw has the given probability: `draw < limit`.

    It is the same event as `uniforms(draw) < p`, or wider by less than 2**-52, so that many draws can be
    sifted before any of them is turned into a number.
    """
    # The largest float below 2**64 bounds the limit: a probability of 1 would not fit.
    return np.minimum((probabilities + 2.0**-52) * 2.0**64, 2.0**64 - 2048).astype(np.uint64)


def smallest(draws: Words, members: Rows, n: int) -> Rows:
    """The n of m members with the smallest draws, 1 <= n < m: for a larger n, these and more."""
    return members[np.argpartition(draws, n - 1)[:n]]
