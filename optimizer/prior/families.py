"""Kernel families: a length scale for every feature, or over the nodes of a graph; and perhaps the time."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern, RationalQuadratic

from optimizer.arrays import Array
from optimizer.kernels.diffusion import DiffusionKernel, GraphLaplacian
from optimizer.kernels.space_time import SpaceTimeKernel
from policyloop.messages import failure, unknown_name

if TYPE_CHECKING:
    import networkx as nx

KernelFamily = Callable[[Any, tuple[float, float]], Kernel]

FAMILIES: dict[str, KernelFamily] = {
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

CLIMATE = "climate"
"""The family of a world that lives, learned from samples: `optimizer.kernels.space_time.climate_kernel`."""

_registered: dict[str, KernelFamily] = {}
_classes: dict[str, dict[str, type[Kernel]]] = {}


def family_names() -> list[str]:
    """Names of the kernel families: our own, then those that were registered."""
    return [*FAMILIES, ON_GRAPH, CLIMATE, *sorted(_registered)]


def registered_family(name: str) -> bool:
    """Whether a family was registered by this name."""
    return name in _registered


def classes_of(name: str) -> dict[str, type[Kernel]]:
    """By their names the kernel classes that a registered family is made of; none of another family."""
    return _classes.get(name, {})


def family_with(kernel: type[Kernel]) -> str:
    """The name of a registered family that is made of a kernel class; "" where there is none."""
    return next((name for name, classes in _classes.items() if kernel in classes.values()), "")


def register_family(name: str, family: KernelFamily) -> None:
    """Add a kernel family to those whose hyperparameters are learned, from samples or from an agent's rounds.

    Parameters
    ----------
    name : str
        The name, as in `make_agent("d-gpucb", .., family=name)`. One of our own cannot be replaced.
    family : callable
        From length scales (p,), one a feature, and their bounds (low, high) it makes a kernel without
        amplitude, for any p. Features come in units of their spans: length scales and periods
        (`length_scale`, `periodicity`) have to be free, so that they can be brought back to the features' own
        units, and all else has no unit. Where a kernel has but one for several features, all share one unit.

    Raises
    ------
    ValueError
        If the name is empty or belongs to another family, the callable fails or makes no kernel, or the
        kernel sees its features otherwise than in units of its length scales.

    Examples
    --------
    >>> import optimizer
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> optimizer.register_family("rough", lambda scale, bounds: Matern(scale, bounds, nu=0.5))
    >>> "rough" in optimizer.family_names()
    True
    """
    if not name:
        raise ValueError("a kernel family's name must not be empty")
    if name in (*FAMILIES, ON_GRAPH, CLIMATE) or _registered.get(name, family) is not family:
        raise ValueError(f"kernel family {name!r} is already registered")
    X = np.array([[0.1, 0.4], [0.5, 0.2], [0.9, 1.0]])
    for p in (1, 2):
        kernel = _made(name, family, np.full(p, 0.5), (1e-2, 1e1))
        wide = _in_units(_made(name, family, np.ones(p), (1e-5, 1e5)), kernel.theta, np.full(p, 4.0))
        if not np.allclose(kernel(X[:, :p]), wide(4 * X[:, :p]), rtol=1e-6):
            raise ValueError(
                f"kernel family {name!r} must see features in units of length scales that are free, "
                f"but {kernel!r} does not"
            )
        parts = [kernel, *(part for part in kernel.get_params().values() if isinstance(part, Kernel))]
        _classes.setdefault(name, {}).update({type(part).__name__: type(part) for part in parts})
    _registered[name] = family


def _made(name: str, family: KernelFamily, scale: Array, bounds: tuple[float, float]) -> Kernel:
    """The kernel that a family of others makes; ValueError where it makes none."""
    try:
        kernel = family(scale, bounds)
    except Exception as error:
        raise ValueError(
            f"kernel family {name!r} fails for {len(scale)} features: {failure(error)}"
        ) from error
    if not isinstance(kernel, Kernel):
        raise ValueError(f"kernel family {name!r} must make a scikit-learn Kernel, not {kernel!r}")
    return kernel


def _in_units(kernel: Kernel, theta: Array, span: Array) -> Kernel:
    """A kernel with hyperparameters theta, whose lengths are in units of the features' spans (p,)."""
    return kernel.clone_with_theta(np.asarray(theta) + _lengths(kernel, np.log(span)))


def _lengths(kernel: Kernel, logs: Array) -> Array:
    """For each entry of a kernel's theta what to add to it: logs (p,) of its feature where it is a length."""
    lengths = _named_lengths(kernel)
    parts = [
        np.zeros(part.n_elements)
        if part.name not in lengths
        else logs
        if part.n_elements == len(logs)
        else np.full(part.n_elements, logs[0])
        for part in kernel.hyperparameters
        if not part.fixed
    ]
    return np.concatenate([np.empty(0), *parts])


def _one_unit(kernel: Kernel, p: int) -> bool:
    """Whether a kernel has a length that several features share."""
    lengths = _named_lengths(kernel)
    return p > 1 and any(part.n_elements < p for part in kernel.hyperparameters if part.name in lengths)


def _named_lengths(kernel: Kernel) -> set[str]:
    """The hyperparameters in the features' unit, by the names that scikit-learn's kernels give them."""
    names = {part.name for part in kernel.hyperparameters}
    periods = {name for name in names if name.endswith("periodicity")}
    # Beside a period, a length scale has no unit: it is of the sine.
    of_sines = {name.removesuffix("periodicity") + "length_scale" for name in periods}
    return periods | {name for name in names if name.endswith("length_scale")} - of_sines


class Family:
    """A kernel family on features of some kind: places or nodes of a graph, and perhaps the time after them.

    Parameters
    ----------
    name : str
        One of `family_names()`.
    graph : networkx.Graph, optional
        For "diffusion".
    time : bool, default=False
        Whether the last feature is the time.

    Raises
    ------
    ValueError
        If the family is unknown or lacks its graph.
    """

    def __init__(self, name: str, graph: "nx.Graph[Any] | None" = None, time: bool = False) -> None:
        if name not in family_names():
            raise ValueError(unknown_name("kernel family", name, family_names()))
        if name == ON_GRAPH and graph is None:
            raise ValueError(f"the kernel family {name!r} needs a graph")
        if name == CLIMATE:
            raise ValueError(f"the kernel family {name!r} needs samples of a world that lives")
        self.name = name
        self.laplacian: GraphLaplacian | None = GraphLaplacian.of(graph) if name == ON_GRAPH else None
        self.time = time
        self._brought = _registered.get(name)

    def span(self, X: Array) -> Array:
        """The unit of each feature (p,): its span, 1 for a node's number."""
        span = np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1.0)
        places = span[:-1] if self.time else span
        if self.laplacian is not None:
            places[:] = 1.0
        elif self._shares(len(places)):  # one length scale for all features asks for one unit
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
        if self._brought is not None:
            return _made(self.name, self._brought, scale, bounds)
        return FAMILIES[self.name](scale, bounds)

    def _shares(self, p: int) -> bool:
        """Whether p features share one length."""
        if self._brought is None:
            return self.name == "rq"
        return _one_unit(self._places(np.ones(p), (1e-5, 1e5)), p)

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
        if self._brought is not None:
            return _lengths(self.kernel(np.ones(len(span)), (1e-5, 1e5)), ratio)
        return ratio if len(ratio) == count else np.full(count, ratio[0])

    def _places_in_units(self, theta: Array, span: Array) -> Kernel:
        if self._brought is not None:
            return _in_units(self._places(np.ones(len(span)), (1e-5, 1e5)), theta, span)
        values = np.exp(theta)
        if self.laplacian is not None:
            return DiffusionKernel(self.laplacian, float(values[0]))
        if self.name == "rq":
            return RationalQuadratic(float(values[1] * span[0]), float(values[0]))
        scale = values * span if len(span) > 1 else float(values[0] * span[0])
        return FAMILIES[self.name](scale, (1e-5, 1e5))
