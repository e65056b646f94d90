"""Pairs of persons who meet, chosen so that each pair of age groups has as many as asked.

A pair of persons a < b among N is one number, its key `a N + b`, so that sets of pairs are sorted arrays of
integers. `edges` (K, K), read above and on the diagonal, are numbers of pairs by the groups of the two;
`group` (N,) is that of each person.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulators.arrays import Integers

Keys = NDArray[np.int64]

ENUMERATE = 4
"""Where fewer than this many times the pairs wanted are possible, all are listed instead of drawn again."""


def within(members: Integers, venue: Integers, N: int) -> Keys:
    """The keys of all pairs of members (P,) who share a venue; those of a venue stand one after the other."""
    keys = []
    for distance in range(1, len(members)):
        first = np.flatnonzero(venue[distance:] == venue[:-distance])
        if len(first) == 0:
            break
        keys.append(key(members[first], members[first + distance], N))
    return np.concatenate(keys) if keys else np.empty(0, dtype=np.int64)


def key(a: Integers, b: Integers, N: int) -> Keys:
    """The keys of pairs of persons, in either order."""
    keys: Keys = np.minimum(a, b).astype(np.int64)
    keys *= N
    keys += np.maximum(a, b)
    return keys


def classify(keys: Keys, group: Integers, K: int, N: int) -> NDArray[np.int8]:
    """`i K + j` of each pair, i <= j being the groups of the two, (M,)."""
    a, b = group[keys // N], group[keys % N]
    return (np.minimum(a, b) * K + np.maximum(a, b)).astype(np.int8)


def count(keys: Keys, group: Integers, K: int, N: int) -> NDArray[np.int64]:
    """The number of pairs by the groups of the two, (K, K), zero below the diagonal."""
    return np.bincount(classify(keys, group, K, N), minlength=K * K).reshape(K, K)


def choose(keys: Keys, edges: Integers, group: Integers, N: int, rng: np.random.Generator) -> Keys:
    """At random as many of the pairs as asked, or all where there are fewer."""
    K = len(edges)
    codes = classify(keys, group, K, N)
    chosen = []
    for i, j in zip(*np.triu_indices(K), strict=True):
        among = np.flatnonzero(codes == i * K + j)
        if edges[i, j] < len(among):
            among = rng.choice(among, int(edges[i, j]), replace=False, shuffle=False)
        chosen.append(keys[among])
    return np.concatenate(chosen)


def fill(
    keys: Keys, edges: Integers, persons: Integers, group: Integers, N: int, rng: np.random.Generator
) -> Keys:
    """New random pairs of the persons who may meet: with those given, as many as asked or as there can be."""
    K = len(edges)
    codes = classify(keys, group, K, N)
    pools = [persons[group[persons] == k] for k in range(K)]
    added = []
    for i, j in zip(*np.triu_indices(K), strict=True):
        taken = np.sort(keys[codes == i * K + j])
        added.append(_random_pairs(pools[i], pools[j], int(edges[i, j]) - len(taken), taken, i == j, N, rng))
    return np.concatenate(added)


def _random_pairs(
    first: Integers,
    second: Integers,
    wanted: int,
    taken: Keys,
    same: bool,
    N: int,
    rng: np.random.Generator,
) -> Keys:
    """Distinct pairs of one of `first` with one of `second` that are not among those taken."""
    possible = len(first) * (len(first) - 1) // 2 if same else len(first) * len(second)
    if wanted <= 0 or possible == 0:
        return np.empty(0, dtype=np.int64)
    if possible <= ENUMERATE * (wanted + len(taken)):
        a, b = np.repeat(first, len(second)), np.tile(second, len(first))
        free = np.setdiff1d(key(a[a != b], b[a != b], N), taken)
        return rng.choice(free, min(wanted, len(free)), replace=False, shuffle=False)
    found = np.empty(0, dtype=np.int64)
    while len(found) < wanted:
        draws = int(1.1 * (wanted - len(found))) + 10
        a, b = rng.choice(first, draws), rng.choice(second, draws)
        # By sorting: np.unique may hash, which is several times slower on millions of keys.
        found = np.sort(np.concatenate((found, key(a, b, N)[a != b])))
        found = found[np.diff(found, prepend=-1) > 0]
        if len(taken):
            found = found[taken[np.minimum(np.searchsorted(taken, found), len(taken) - 1)] != found]
    return rng.choice(found, wanted, replace=False, shuffle=False)
