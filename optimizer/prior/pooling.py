"""What agents learned of the same groups, each from rounds of its own, as one prior for all rounds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimizer.arrays import Array
from optimizer.prior.families import Family
from optimizer.prior.learned import Learned, LearnedGroup
from optimizer.prior.own_rounds import draws


def pooled(learned: Sequence[Learned], observations: int) -> Learned:
    """One prior of what several agents of the same family have learned.

    The most probable hyperparameters are the mean of theirs, by logarithms. Draws are the most probable of
    each agent's, as many together as so many observations take (`own_rounds.draws`).

    Parameters
    ----------
    learned : sequence of Learned
        At least one.
    observations : int
        T of all together.

    Raises
    ------
    ValueError
        They are of different families, or some know the noise of a group that others learn.
    """
    first = learned[0]
    if len(learned) == 1:
        return first
    if any(one.family != first.family for one in learned):
        raise ValueError("what was learned is of different kernel families")
    S = draws(observations)
    groups = [_pooled([_in_units(one, j, first) for one in learned], S) for j in range(len(first.groups))]
    return replace(first, groups=groups, learned_at=observations, restarted_at=observations)


def _in_units(one: Learned, j: int, of: Learned) -> LearnedGroup:
    """Group j of one in the units of the samples and features of another."""
    group, unit = one.groups[j], of.groups[j].unit
    if group.learns_noise != of.groups[j].learns_noise:
        raise ValueError("some agents know the noise of a group that others learn")
    shift = np.zeros_like(group.best)
    shift[0] = 2 * np.log(group.unit / unit)
    inner = slice(1, -1 if group.learns_noise else None)
    shift[inner] = Family(one.family).shift(len(shift[inner]), one.span, of.span)
    if group.learns_noise:
        shift[-1] = shift[0]
    return replace(group, best=group.best + shift, draws=group.draws + shift, unit=unit)


def _pooled(groups: list[LearnedGroup], S: int) -> LearnedGroup:
    varying = [group for group in groups if group.varies] or groups
    best: Array = np.mean([group.best for group in varying], axis=0)
    some, weights = best[None], np.ones(1)
    if S > 1:
        each = -(-S // len(varying))
        leading = [np.argsort(-group.weights, kind="stable")[:each] for group in varying]
        some = np.concatenate([g.draws[rows] for g, rows in zip(varying, leading, strict=True)])
        weights = np.concatenate([g.weights[rows] for g, rows in zip(varying, leading, strict=True)])
        these = np.resize(np.arange(len(some)), S)
        some, weights = some[these], weights[these]
    return replace(
        groups[0],
        best=best,
        draws=some,
        weights=weights / weights.sum(),
        mean=float(np.mean([group.mean for group in groups])),
        noise=float(np.mean([group.noise for group in groups])),
        varies=any(group.varies for group in groups),
    )
