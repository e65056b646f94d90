"""An agent's posterior between the stations: what kriging says of every place, and how uncertain that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize

from optimizer import GaussianProcess
from optimizer.agents.gp_agent import GPAgent
from optimizer.arrays import Array
from optimizer.posterior.inputs import stated_or_own
from scenarios.figures.outline import Box
from simulators import Environment
from simulators.stations.sphere import points_on_sphere

CELLS = 90
"""Along the longer side of a map."""

PART = 2000
"""Cells that are worked on together."""


class Field(NamedTuple):
    """Values over the cells of a map: centres lon (a,) and lat (b,), mean and standard deviation (b, a)."""

    lon: Array
    lat: Array
    mean: Array
    deviation: Array


def grid(box: Box, cells: int = CELLS) -> tuple[Array, Array]:
    """The centres of cells that are about as high as wide, lon (a,) and lat (b,)."""
    wide, high = box.east - box.west, (box.north - box.south) * box.aspect
    size = max(wide, high) / cells
    return tuple(  # type: ignore[return-value]
        low + (np.arange(count) + 0.5) * (end - low) / count
        for low, end, count in (
            (box.west, box.east, max(2, round(wide / size))),
            (box.south, box.north, max(2, round(high / size))),
        )
    )


def posterior_field(agent: GPAgent, environment: Environment, box: Box, time: float | None) -> Field | None:
    """The posterior of the objective over a map; None as in `posterior_at`."""
    lon, lat = grid(box)
    at = np.stack([one.ravel() for one in np.meshgrid(lon, lat)], axis=1)
    found = posterior_at(agent, environment, at, time)
    if found is None:
        return None
    mean, deviation = (one.reshape(len(lat), len(lon)) for one in found)
    return Field(lon, lat, mean, deviation)


def posterior_at(
    agent: GPAgent, environment: Environment, at: Array, time: float | None
) -> tuple[Array, Array] | None:
    """Mean and standard deviation (n,) of the objective at places (n, 2), by the most probable kernels.

    None where the agent has no model yet, its prior's mean is a function of candidates, or its kernels see
    nothing that can be told of any place (the nodes of a graph).
    """
    belief, seen_at = agent.belief, _features(environment)
    prior, told = belief.prior, list(belief.history)
    if prior is None or seen_at is None or not told:
        return None
    constants = [float(mean) for mean in prior.means if not callable(mean)]
    Z = seen_at(at)
    if time is not None:
        Z = np.column_stack([Z, np.full(len(Z), time)])
    X = np.concatenate([belief.features(one.policies, one.time) for one in told])
    # Where features differ, weights that a kernel composes by are among them: of candidates alone.
    if len(constants) < len(prior.means) or X.shape[1] != Z.shape[1]:
        return None
    Y = np.concatenate([one.Y for one in told])
    noise = np.concatenate([stated_or_own(one.noise, prior.noise_variances, one.Y.shape) for one in told])
    means, variances = np.empty((2, len(Z), Y.shape[1]))
    for j in range(Y.shape[1]):
        known = np.isfinite(Y[:, j])
        kept = None if belief.kept is None else belief.kept[j]
        process = GaussianProcess(prior.kernels[j], float(prior.noise_variances[j]), constants[j], kept=kept)
        if known.any():
            process.observe(X[known], Y[known, j], noise[known, j])
        for start in range(0, len(Z), PART):
            part = slice(start, start + PART)
            means[part, j], variances[part, j] = process.predict(Z[part])
    # What is composed is the same at all stations, so that any of them stands for a place.
    somewhere = np.zeros(len(Z), dtype=np.intp)
    mean, variance = agent.composition.moments(means, np.maximum(variances, 0.0), somewhere)
    return agent.composition.sign * mean, np.sqrt(variance)


def _features(environment: Environment) -> Callable[[Array], Array] | None:
    """What kernels see of any place (n, 2); None where candidates alone have features."""
    space = environment.policy_space
    rows = np.arange(space.size or 0)
    places, features = space.resolve(rows), space.embed(rows)

    def sphere(at: Array) -> Array:
        points: Array = points_on_sphere(at[:, 0], at[:, 1]) / 1000.0
        return points

    def degrees(at: Array) -> Array:
        return np.column_stack([(at[:, 0] + 180.0) % 360.0 - 180.0, at[:, 1]])

    for one in (degrees, sphere):
        seen = one(places)
        if seen.shape == features.shape and np.allclose(seen, features):
            return one
    return None


def draw_field(axes: Axes, field: Field, values: Array, colours: str, scale: Normalize | None) -> QuadMesh:
    """Colour the cells of a map by some values (b, a)."""
    return axes.pcolormesh(
        field.lon, field.lat, values, cmap=colours, norm=scale, shading="nearest", rasterized=True, zorder=1
    )
