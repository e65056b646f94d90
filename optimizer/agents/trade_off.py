"""How an agent explores the frontier of several objectives: each round by another weighing of them.

For each policy a direction is drawn anew, and the agent's own acquisition (UCB, EI, MPI, a draw) looks for
what reaches furthest along it: the best of an augmented Chebyshev function made of the posterior of every
group (`optimizer.composition.scalarised`). Since the hypervolume is the mean of these lengths over all
directions, the frontier is found piece by piece, and one round teaches of all objectives.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from optimizer.agents.settings import AgentSettings
from optimizer.arrays import Array, Policies
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.composition.propagation import Propagation, make_propagation
from optimizer.composition.scalarised import Scale, chebyshev, random_weights, signed

DRAWS = 2
"""Where weights stand among an agent's streams of random numbers."""
BEYOND = 0.1
"""How far beyond the worst that was tried directions begin, as a share of the range: there may be worse."""


@dataclass(frozen=True)
class TradeOff:
    """Several objectives of what an agent models.

    Attributes
    ----------
    compositions : sequence of K BaseComposition
    propagation : Propagation
        Of their Chebyshev function.
    """

    compositions: Sequence[BaseComposition]
    propagation: Propagation

    @classmethod
    def of(cls, settings: AgentSettings, modelled: BaseComposition, feedback: str) -> Self:
        """The objectives of the settings: of the groups, or told as values of their own.

        ValueError where they cannot be explored so.
        """
        if settings.propagation == "bound":
            raise ValueError(
                "propagation 'bound' is of one objective; accepted with several: 'delta', 'sampled'"
            )
        objectives, J = settings.objectives, modelled.groups
        if feedback == "aggregate":
            if settings.prior is not None:
                raise ValueError(
                    "the values of several objectives have no prior; accepted: each trial's own rounds "
                    "(prior.samples = 0)"
                )
            objectives = [
                Composition(J, weights=row, sense="maximize" if one.sign > 0 else "minimize")
                for row, one in zip(np.eye(J), objectives, strict=False)
            ]
        return cls(objectives, make_propagation(settings.propagation, J, settings.seed, settings.correlation))

    def drawn(self, seed: int, place: int) -> Array:
        """The weights (K,) of a trial's policy, the same for all agents of the trial."""
        sequence = np.random.SeedSequence(seed, spawn_key=(place, 0, DRAWS))
        return random_weights(len(self.compositions), np.random.default_rng(sequence))

    def weighed(self, model: Any, known: Policies, weights: Array | None = None) -> Any:
        """The posterior, composed by the objectives' Chebyshev function.

        Parameters
        ----------
        model : DecomposedGP, CandidatePosterior or like them
        known : policies
            By whose posterior means the objectives are made comparable.
        weights : (K,) array, optional
            Of a direction, measured from a little beyond the worst that was tried. Unless given, equal ones,
            measured from the best on the frontier: the policy that has most of all together.
        """
        K = len(self.compositions)
        values = signed(self.compositions, model.predict_groups(known)[0], known)
        values = values[np.isfinite(values).all(axis=1)]
        if not len(values):
            values = np.zeros((1, K))
        if weights is None:
            function = chebyshev(self.compositions, np.full(K, 1 / K), Scale.of(values))
        else:
            function = chebyshev(self.compositions, weights, Scale.over(values), -BEYOND)
        other = copy.copy(model)
        other.composition = function.propagated(self.propagation)
        return other
