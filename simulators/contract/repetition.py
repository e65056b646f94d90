"""Whether a step can be repeated: from its seed, in any order, whatever becomes of what went in and out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from simulators.arrays import Array
from simulators.contract.environment import Outcomes, SeedIgnored
from simulators.contract.findings import Findings
from simulators.contract.observed import as_values
from simulators.contract.probes import own_seeds, text

STEP = "step failed at the feasible policy"
ORDER, SEED = "depends on the order of steps", "ignores its seed"

OTHER_SEED = 7
"""Beside 0, in the comparison of seeds."""


class Repetition(Findings):
    """Collects findings about the repetition of steps.

    Attributes
    ----------
    env : Environment
    policies : list
        Feasible ones.
    first : list of Outcomes or None
        What was observed at each of them, with seed 0.
    """

    def __init__(self, env: Any) -> None:
        super().__init__()
        self.env = env
        self.policies: list[Any] = []
        self.first: list[Outcomes | None] = []

    def seeds(self) -> None:
        """Check that the same seed gives the same step, in any order, from an int or a SeedSequence."""
        first, other = self.policies[0], self.policies[-1]
        for seed in (1, np.random.SeedSequence(1, spawn_key=(2, 3))):
            kind = type(seed).__name__
            one, again = self.values(first, seed), self.values(first, seed)
            if one is None or again is None:
                return
            if not np.array_equal(one, again, equal_nan=True):
                self.find(f"reset(seed) with the same {kind} twice must give the same step, and does not")
            elif not self.env.has_memory:
                self.values(other, 99)
                if not np.array_equal(one, np.asarray(self.values(first, seed)), equal_nan=True):
                    self.find(
                        "a step depends on the steps before the last reset, but has_memory is False", ORDER
                    )

    def order_and_seeds(self) -> None:
        """Check that steps do not depend on their order, and that a seed has something to say."""
        if any(outcomes is None for outcomes in self.first):
            return
        if self.env.has_memory:
            self._seeds_matter()
            return
        backwards = [self.values(policy, 0) for policy in self.policies[::-1]][::-1]
        for policy, one, again in zip(self.policies, self.first, backwards, strict=True):
            if one is not None and not np.array_equal(one.values, np.asarray(again), equal_nan=True):
                if not self.has(ORDER):
                    self.find(
                        f"a step depends on what was asked before it, but has_memory is False: at "
                        f"{text(policy)} the same seed gives another outcome after other policies",
                        ORDER,
                    )
                return
        self._seeds_matter()

    def _seeds_matter(self) -> None:
        """Find a model that uses a seed of its own: the same for all seeds, though it is said to be noisy."""
        states = False
        with own_seeds() as of_first:
            self.step(self.policies[0], 0)
        with own_seeds() as of_other, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for policy, one in zip(self.policies, self.first, strict=True):
                other = self.step(policy, OTHER_SEED)
                if one is None or other is None:
                    return
                if not np.array_equal(one.values, other.values, equal_nan=True):
                    break
                noise = one.noise_variance
                if noise is not None:
                    own = np.asarray(noise) if np.ndim(noise) == 1 else np.diag(noise)
                    states |= bool((own > 0).any())
                    noise_free = bool((own == 0).all())
            else:
                said = [str(one.message) for one in warned if issubclass(one.category, SeedIgnored)]
                self._same_for_all_seeds(states, noise is not None and noise_free, of_first & of_other, said)

    def _same_for_all_seeds(self, noisy: bool, noise_free: bool, own: set[str], said: list[str]) -> None:
        same = f"outcomes are the same with seeds 0 and {OTHER_SEED} at all of {len(self.policies)} policies"
        if said and not noise_free:
            self.find(f"{same}: {said[0]}", SEED)
        elif noisy:
            self.find(f"{same}, but noise_variance is not 0: the model does not use the seed", SEED)
        elif own and not noise_free:
            self.find(
                f"{same}, and the model seeds itself, by {', '.join(sorted(own))}: give it the seed, or "
                "declare noise_variance = 0 where no noise is meant",
                SEED,
            )

    def references(self) -> None:
        """Check that nothing of a step is kept: neither what it returned, nor the policy it was given."""
        space, first, other = self.env.policy_space, self.policies[0], self.policies[-1]
        outcomes = self.step(first, 8)
        if outcomes is None:
            return
        for what in ("values", "noise_variance"):
            held = getattr(outcomes, what)
            if isinstance(held, np.ndarray):
                was = held.copy()
                self.step(other, 9)
                if not np.array_equal(held, was, equal_nan=True):
                    self.find(f"step changes the {what} that an earlier step returned; return a copy")
        if space.finite:
            return
        after = []
        for changed in (False, True):
            given = np.array(first)
            if self.step(first, 8, given=given) is None:
                return
            if changed:
                given[:] = other
            with self.blaming(f"{STEP} {text(other)} after another", STEP):
                after.append(np.asarray(self.env.step(np.array(other)).values, dtype=float))
        if len(after) == 2 and not np.array_equal(after[0], after[1], equal_nan=True):
            self.find("step keeps the policy it was given, and reads it later; take a copy")

    def values(self, policy: Any, seed: Any) -> Array | None:
        """The observations of a step after a reset; None when there are none of the right shape."""
        outcomes = self.step(policy, seed)
        return None if outcomes is None else np.asarray(outcomes.values, dtype=float)

    def step(self, policy: Any, seed: Any, given: Any = None) -> Outcomes | None:
        """Reset and take a step; None, and a finding, when it fails or its values have the wrong shape."""
        J = len(self.env.groups)
        given = self.env.policy_space.same_form(np.array(policy) if given is None else given)
        outcomes: Any = None
        with self.blaming(f"{STEP} {text(policy)} with seed {seed}", STEP):
            self.env.reset(seed)
            outcomes = self.env.step(given)
            if not isinstance(outcomes, Outcomes):
                self.find(f"step must return simulators.Outcomes; it returned {type(outcomes).__name__}")
                return None
            shape = np.shape(outcomes.values)
            if shape == (J,):
                as_values(outcomes.values, [str(group) for group in self.env.groups], infinite=True)
            if shape != (J,):
                self.find(f"step must return {J} values, one a group, in shape ({J},); its shape is {shape}")
                return None
        return outcomes if isinstance(outcomes, Outcomes) else None
