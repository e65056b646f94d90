"""Kernel families: a length scale for every feature, or over the nodes of a graph; and perhaps the time."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern, RationalQuadratic

from optimizer.arrays import Array
from optimizer.kernels.diffusion import DiffusionKernel, GraphLaplacian
from optimizer.kernels.space_time import SpaceTimeKernel

if TYPE_CHECKING:
    import networkx as nx

FAMILIES: dict[str, Callable[[Any, tuple[float, float]], Kernel]] = {
    "rbf": lambda scale, bounds: RBF(scale, bounds),
    "matern-1/2": lambda scale, bounds: Matern(scale, bounds, nu=0.5),
    "matern-3/2": lambda scale, bounds: Matern(scale, bounds, nu=1.5),
    "matern-5/2": lambda scale, bounds: Matern(scale, bounds, nu=2.5),
    # scikit-learn's rational quadratic has one length scale for all features.
    "rq": lambda scale, bounds: RationalQuadratic(float(scale[0]), 1.0, bounds, (1e-2, 1e2)),
}
"""Kernel families by name, each from length scales (p,) and their bounds."""

ON_GRAPH = "diffusion"
"""The family that knows the graph: `optimizer.kernels.diffusion.DiffusionKernel`."""


class Family:
    """A kernel family on features of some kind: places or nodes of a graph, and perhaps the time after them.

    Parameters
    ----------
    name : str
        One of `FAMILIES`, or "diffusion".
    graph : networkx.Graph, optional
        For "diffusion".
    time : bool, default=False
        Whether the last feature is the time.

    Raises
    ------
    ValueError
        If the family is unknown or lacks its graph.
    """

    def __init__(self, name: str, graph: "nx.Graph | None" = None, time: bool = False) -> None:
        if name not in (*FAMILIES, ON_GRAPH):
            raise ValueError(f"unknown kernel family {name!r}; known are {', '.join((*FAMILIES, ON_GRAPH))}")
        if name == ON_GRAPH and graph is None:
            raise ValueError(f"the kernel family {name!r} needs a graph")
        self.name = name
        self.laplacian = GraphLaplacian.of(graph) if name == ON_GRAPH else None
        self.time = time

    def span(self, X: Array) -> Array:
        """The unit of each feature (p,): its span, 1 for a node's number."""
        span = np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1.0)
        places = span[:-1] if self.time else span
        if self.laplacian is not None:
            places[:] = 1.0
        elif self.name == "rq":  # one length scale for all features asks for one unit
            places[:] = np.exp(np.mean(np.log(places)))
        return span

    def kernel(self, scale: Array, bounds: tuple[float, float]) -> Kernel:
        """The kernel with length scales (p,), which have these bounds."""
        if self.time:
            over_time = Matern(float(scale[-1]), bounds, nu=1.5)
            return SpaceTimeKernel(self._places(scale[:-1], bounds), over_time)
        return self._places(scale, bounds)

    def _places(self, scale: Array, bounds: tuple[float, float]) -> Kernel:
        if self.laplacian is not None:
            return DiffusionKernel(self.laplacian, 10.0)
        return FAMILIES[self.name](scale, bounds)

    def in_units(self, theta: Array, span: Array) -> Kernel:
        """The kernel of hyperparameters theta: logarithms, length scales in units of the features' spans."""
        if self.time:
            over_time = Matern(float(np.exp(theta[-1]) * span[-1]), nu=1.5)
            return SpaceTimeKernel(self._places_in_units(theta[:-1], span[:-1]), over_time)
        return self._places_in_units(theta, span)

    def shift(self, count: int, span: Array, other: Array) -> Array:
        """What to add to hyperparameters in units of some spans, to have them in units of others (count,)."""
        ratio = np.log(span) - np.log(other)
        if self.name == "rq":
            return np.array([0.0, ratio[0]])
        return ratio if len(ratio) == count else np.full(count, ratio[0])

    def _places_in_units(self, theta: Array, span: Array) -> Kernel:
        values = np.exp(theta)
        if self.laplacian is not None:
            return DiffusionKernel(self.laplacian, float(values[0]))
        if self.name == "rq":
            return RationalQuadratic(float(values[1] * span[0]), float(values[0]))
        scale = values * span if len(span) > 1 else float(values[0] * span[0])
        return FAMILIES[self.name](scale, (1e-5, 1e5))
