"""Randomness by (trial, purpose): agents of a trial see the same world, first policy and noise."""

from typing import Literal

import numpy as np

from simulators.contract import seeds

Purpose = Literal["world", "noise", "design", "agent", "samples", "optimum", "held-out", "evaluate"]
PURPOSES: tuple[Purpose, ...] = (
    "world",
    "noise",
    "design",
    "agent",
    "samples",
    "optimum",
    "held-out",
    "evaluate",
)


def seed_sequence(seed: int, trial: int, purpose: Purpose, *index: int) -> np.random.SeedSequence:
    """The seed sequence of a purpose in a trial.

    Parameters
    ----------
    seed : int
        The study's seed.
    trial : int
        Which trial, from 0.
    purpose : {"world", "noise", "design", "agent", "samples", "optimum", "held-out", "evaluate"}
        What the randomness is for.
    *index : int
        Further position, such as the round.
    """
    return np.random.SeedSequence(seed, spawn_key=(trial, PURPOSES.index(purpose), *index))


def as_int(sequence: np.random.SeedSequence) -> int:
    """A 32-bit seed of the sequence: what any simulator, NumPy's old generator included, takes."""
    return int(sequence.generate_state(1)[0])


def child(sequence: int | np.random.SeedSequence, *index: int) -> np.random.SeedSequence:
    """The seed sequence at a position below another, whatever was spawned before."""
    return seeds.child(seeds.as_sequence(sequence), *index)
