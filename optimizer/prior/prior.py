"""What is believed of every group before its first observation: a kernel, a noise variance and a mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.gaussian_process import kernels as sk
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array, Policies
from optimizer.composition.linear import Composition
from optimizer.kernels.composed import compose_kernels
from optimizer.kernels.diffusion import DiffusionKernel, GraphLaplacian
from optimizer.kernels.space_time import SpaceTimeKernel
from optimizer.posterior.inputs import PriorMean, as_variances, prior_mean_at
from optimizer.prior.families import classes_of, family_with

if TYPE_CHECKING:
    import networkx as nx


STORABLE_KERNELS = (
    sk.RBF,
    sk.Matern,
    sk.RationalQuadratic,
    sk.ConstantKernel,
    sk.WhiteKernel,
    sk.DotProduct,
    sk.ExpSineSquared,
    sk.Sum,
    sk.Product,
    sk.Exponentiation,
    SpaceTimeKernel,
    DiffusionKernel,
)


@dataclass(frozen=True, eq=False)
class Prior:
    """GP priors of the groups: mu_{j,0}, k_j and sigma_j^2 of Algorithm 2's input.

    Parameters
    ----------
    kernels : sequence of Kernel
        k_j, one a group.
    noise_variances : ndarray of shape (J,)
        Variance of an observation that states none of its own.
    means : sequence of J floats or callables
        mu_{j,0}: constants, or functions from policies to (n,).
    correlation : ndarray of shape (J, J), optional
        Of the groups at a policy, given all observations; None where they are independent. See
        `optimizer.prior.correlation`.

    Raises
    ------
    ValueError
        If lengths differ or a variance is negative or not finite.
    """

    kernels: Sequence[Kernel]
    noise_variances: Array
    means: Sequence[PriorMean]
    correlation: Array | None = None

    def __post_init__(self) -> None:
        """Check that the three have one entry a group."""
        J = len(self.kernels)
        if np.shape(self.noise_variances) != (J,) or len(self.means) != J:
            raise ValueError(
                f"{J} kernels, but noise variances of shape {np.shape(self.noise_variances)} "
                f"and {len(self.means)} means: one of each a group is needed"
            )
        object.__setattr__(self, "noise_variances", as_variances(self.noise_variances, (J,)).copy())

    def composed(self, composition: Composition) -> "Prior":
        """Prior of the objective that these priors of the groups imply, as one group.

        The kernel is sum_j g_j k_j g_j, the mean sum_j g_j mu_j + c. Where the weights vary with the policy,
        the kernel works on `joined_features`, and the noise variance here is that of unit weights: an agent
        states sum_j g_j(x)^2 sigma_j^2 with every observation.
        """

        def mean(policies: Policies) -> Array:
            groups = np.stack([prior_mean_at(m, policies) for m in self.means], axis=1)
            return composition.unsigned(groups, policies)

        weights = composition.constant_weights
        squares = np.ones(len(self.kernels)) if weights is None else weights**2
        return Prior(
            [compose_kernels(self.kernels, composition)],
            np.array([float(squares @ self.noise_variances)]),
            [mean],
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file.

        Raises
        ------
        TypeError
            If a mean is a function, or a kernel is none of `STORABLE_KERNELS` nor of a registered family.
        """
        if any(callable(mean) for mean in self.means):
            raise TypeError("a prior whose mean is a function cannot be stored")
        together = {} if self.correlation is None else {"correlation": self.correlation.tolist()}
        return together | {
            "kernels": [kernel_to_dict(kernel) for kernel in self.kernels],
            "noise_variances": self.noise_variances.tolist(),
            "means": [float(mean) for mean in self.means],  # type: ignore[arg-type]
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], graph: "nx.Graph[Any] | None" = None) -> "Prior":
        """Prior of what `to_dict` gave; diffusion kernels, stored without their graph, need it again."""
        return cls(
            [kernel_from_dict(kernel, graph) for kernel in data["kernels"]],
            np.array(data["noise_variances"], dtype=float),
            [float(mean) for mean in data["means"]],
            np.array(data["correlation"], dtype=float) if "correlation" in data else None,
        )


def joined(priors: Sequence[Prior]) -> Prior:
    """The priors of single groups as one."""
    return Prior(
        [prior.kernels[0] for prior in priors],
        np.concatenate([prior.noise_variances for prior in priors]),
        [prior.means[0] for prior in priors],
    )


def kernel_to_dict(kernel: Kernel) -> dict[str, Any]:
    """Plain data of a kernel: its class name and parameters, but not the graph that it works on."""
    data: dict[str, Any] = {"class": type(kernel).__name__}
    if type(kernel) not in STORABLE_KERNELS:
        data["family"] = family_with(type(kernel))
        if not data["family"]:
            raise TypeError(f"a kernel of type {type(kernel).__name__} cannot be stored")
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, Kernel):
            data[name] = kernel_to_dict(value)
        elif isinstance(value, str) or value is None:
            data[name] = value
        elif isinstance(value, GraphLaplacian):
            data[name] = {"normalised": value.normalised}
        else:
            data[name] = np.asarray(value, dtype=float).tolist()
    return data


def kernel_from_dict(data: dict[str, Any], graph: "nx.Graph[Any] | None" = None) -> Kernel:
    """Kernel of what `kernel_to_dict` gave, of nothing but `STORABLE_KERNELS` and registered families."""
    known = {cls.__name__: cls for cls in STORABLE_KERNELS}
    name = data["class"]
    if "family" in data:
        known = classes_of(data["family"])
        if not known:
            raise ValueError(
                f"the kernel {name!r} is of the family {data['family']!r}, which is not registered"
            )
    if name not in known:
        raise ValueError(f"unknown kernel {name!r}; known are {', '.join(sorted(known))}")
    parameters: dict[str, Any] = {}
    for key, value in data.items():
        if key in ("class", "family"):
            continue
        if key == "laplacian":
            if graph is None:
                raise ValueError("a stored diffusion kernel needs its graph again")
            value = GraphLaplacian.of(graph, value["normalised"])
        elif isinstance(value, dict):
            value = kernel_from_dict(value, graph)
        elif key.endswith("_bounds") and not isinstance(value, str):
            value = tuple(value) if np.ndim(value) == 1 else np.array(value)
        elif isinstance(value, list):
            value = np.array(value)
        parameters[key] = value
    return known[name](**parameters)
