"""The seed of a world, and the seeds that follow from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulators.contract.validation import whole


def as_sequence(seed: Any) -> np.random.SeedSequence:
    """The seed of a world as a sequence; ValueError unless it is one, or a whole number >= 0."""
    if isinstance(seed, np.random.SeedSequence):
        return seed
    return np.random.SeedSequence(whole("seed", seed, least=0))


def child(seed: np.random.SeedSequence, *purpose: int) -> np.random.SeedSequence:
    """The seed for a purpose below another, whatever was spawned before; the other stays as it is."""
    key = (*seed.spawn_key, *purpose)
    return np.random.SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size)
