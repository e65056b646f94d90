"""Several objectives as one: the augmented Chebyshev function, whose optima for all weights are the frontier.

Every objective f_k is a composition of the same groups, and so is

    -max_k w_k u_k - a sum_k w_k u_k,    u_k = o - (f_k - low_k) / span_k,

of the signed objectives (more is better). From the best that each can be, o = 1, u_k is what lacks to it
(Knowles 2006, ParEGO). From the worst, o = 0, -u_k is what is gained, and with w_k = 1 / l_k for a random
direction l the function is the length of the ray along l that a policy dominates: of all directions together
that is the hypervolume (Zhang & Golovin 2020). Both reach every policy on the frontier, convex or not; a
weighted sum does not.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optimizer.arrays import Array, Policies
from optimizer.composition.general import DIFFERENCE_SHARE, GeneralComposition
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.differences import central_differences

AUGMENTED = 0.05
"""a, the share of the sum, which leaves weakly dominated policies out."""
NARROW = 1e-3
"""The least entry of a direction."""


class Scale(NamedTuple):
    """How objectives are made comparable: their value `low` (K,) counts 0, `low + span` counts 1."""

    low: Array
    span: Array

    @classmethod
    def of(cls, values: Array) -> "Scale":
        """Of signed objectives (n, K): from the worst to the best on their frontier.

        An objective that does not vary there takes its range over all; one that does not vary at all, 1.
        """
        leading = values[nondominated(values)]
        low, high = leading.min(axis=0), leading.max(axis=0)
        span = np.where(high > low, high - low, np.ptp(values, axis=0))
        return cls(np.where(high > low, low, high - span), np.where(span > 0, span, 1.0))

    @classmethod
    def over(cls, values: Array) -> "Scale":
        """Of signed objectives (n, K): from the worst to the best of all."""
        span = np.ptp(values, axis=0)
        return cls(values.min(axis=0), np.where(span > 0, span, 1.0))


def nondominated(values: Array) -> NDArray[np.bool_]:
    """Which rows (n, K), to be maximised, no other row reaches in all columns and exceeds in one."""
    leading = np.ones(len(values), dtype=bool)
    for i, one in enumerate(values):
        reach = (values >= one).all(axis=1)
        leading[i] = not (values[reach] > one).any()
    return leading


def signed(compositions: Sequence[BaseComposition], outcomes: Array, policies: Policies) -> Array:
    """The objectives (n, K) of outcomes (n, J), all to be maximised."""
    return np.stack([one.compose(outcomes, policies) for one in compositions], axis=1)


def chebyshev(
    compositions: Sequence[BaseComposition], weights: Array, scale: Scale, origin: float = 1.0
) -> GeneralComposition:
    """The augmented Chebyshev function of K compositions, to be maximised.

    Parameters
    ----------
    compositions : sequence of K BaseComposition
    weights : ndarray of shape (K,)
        Not negative.
    scale : Scale
    origin : float, default 1.0
        o, from which it is measured: 1, the best; 0, the worst.
    """

    def lacking(outcomes: Array, policies: Policies) -> Array:
        each = [one.sign * _unsigned(one, outcomes, policies) for one in compositions]
        return np.asarray(weights * (origin - (np.stack(each, axis=-1) - scale.low) / scale.span))

    def value(outcomes: Array, policies: Policies) -> Array:
        lacks = lacking(outcomes, policies)
        return np.asarray(-lacks.max(axis=-1) - AUGMENTED * lacks.sum(axis=-1))

    def gradient(outcomes: Array, policies: Policies) -> Array:
        lacks = lacking(outcomes, policies)
        counts = np.full(lacks.shape, AUGMENTED)
        np.put_along_axis(counts, lacks.argmax(axis=-1)[..., None], 1.0 + AUGMENTED, axis=-1)
        total = np.zeros(outcomes.shape)
        for k, one in enumerate(compositions):
            share = counts[..., k] * (one.sign * weights[k] / scale.span[k])
            total += share[..., None] * _slopes(one, outcomes, policies)
        return total

    return GeneralComposition(compositions[0].groups, value, gradient=gradient, sense="maximize")


def _unsigned(composition: BaseComposition, outcomes: Array, policies: Policies) -> Array:
    """An objective (...,) of outcomes (..., J), also of a linear composition, which takes rows only."""
    if isinstance(composition, GeneralComposition):
        return np.asarray(composition.g(outcomes, policies), dtype=float)
    rows = outcomes.reshape(-1, outcomes.shape[-1])
    return composition.unsigned(rows, _flat(policies, outcomes)).reshape(outcomes.shape[:-1])


def _slopes(composition: BaseComposition, outcomes: Array, policies: Policies) -> Array:
    """Slopes (..., J) of an objective, in its own sign."""
    if isinstance(composition, GeneralComposition):
        if composition.gradient is not None:
            return np.asarray(composition.gradient(outcomes, policies), dtype=float)
        steps = DIFFERENCE_SHARE * np.maximum(np.abs(outcomes), 1e-8)
        return central_differences(lambda F: composition.g(F, policies), outcomes, steps)
    if isinstance(composition, Composition) and composition.constant_weights is not None:
        return composition.constant_weights
    rows = outcomes.reshape(-1, outcomes.shape[-1])
    slopes: Array = composition.slopes(rows, _flat(policies, outcomes)).reshape(outcomes.shape)
    return slopes


def _flat(policies: Policies, outcomes: Array) -> Policies:
    """The policies of outcomes (..., J), one a row."""
    shape = outcomes.shape[:-1]
    return np.reshape(policies, (int(np.prod(shape)), *np.shape(policies)[len(shape) :]))


def random_weights(objectives: int, rng: np.random.Generator) -> Array:
    """Weights (K,) of a direction drawn uniformly from those with no negative entry: w_k = 1 / l_k, sum 1."""
    direction = np.maximum(np.abs(rng.standard_normal(objectives)), NARROW)
    weights: Array = (1.0 / direction) / (1.0 / direction).sum()
    return weights
