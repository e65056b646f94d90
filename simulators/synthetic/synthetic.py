"""A world drawn from the model that the agents assume: J independent draws of Gaussian processes on a grid.

The paper's synthetic data, sections 8.1.1 and 8.2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern, RationalQuadratic
from threadpoolctl import threadpool_limits

from simulators.arrays import Array
from simulators.contract.environment import Environment, Outcomes
from simulators.contract.policy_space import FinitePolicySpace
from simulators.contract.seeds import as_sequence, child
from simulators.contract.validation import choice, entry, number, per_group, whole
from simulators.synthetic.gaussian_field import draw, grid_points

Weights = Callable[[Array], ArrayLike]

POINTS = {1: (1000,), 2: (32, 32), 3: (10, 10, 10)}
"""Default grids, about 1,000 candidates each."""

LENGTH_SCALE, ALPHA, NU = (0.02, 0.2), (0.05, 0.25), (1.0, 2.0)
"""Default ranges of the hyperparameters: a bandit's length scales; alpha and nu as the paper's authors."""

UNIT = "prior s.d. of a function"
"""The functions have prior variance 1."""

FAMILIES = ("rbf", "matern", "rq")


def linear_weights(x: Array, groups: int) -> Array:
    """Weights (n, J) of mean 1, from 1 - s to 1 + s along the first entry, s in -1..1 by group."""
    slopes = np.linspace(-1.0, 1.0, groups) if groups > 1 else np.zeros(1)
    return 1.0 + slopes * (2.0 * x[:, :1] - 1.0)


def cosine_weights(x: Array, groups: int) -> Array:
    """Weights (n, J) = cos(2 pi (x_1 + j / J)), j from 0: they change sign and add up to 0."""
    weights: Array = np.cos(2 * np.pi * (x[:, :1] + np.arange(groups) / groups))
    return weights


WEIGHTS = {"linear": linear_weights, "cosine": cosine_weights}
"""Weights g_j(x) that a scenario file can name."""


class Synthetic(Environment):
    """J functions drawn independently from J Gaussian processes, on a grid of candidates in [0, 1]^d.

    The objective is `sum_j g_j(x) f_j(x)`, to be maximised (Definition 1 of the paper), and its optimum is
    known by enumeration. Group j's kernel and function depend on the seed and on j alone: a world of more
    groups holds the functions of a smaller one.

    Ranges of length scales in use: 0.5..2 for the regression study of the paper's authors, with the ranges of
    alpha and nu that are the defaults here; 0.02..0.2 for a bandit of ordinary difficulty, the default;
    0.01..0.1 and 0.001..0.02 for ever harder bandits.

    Parameters
    ----------
    groups : int, default 10
        J, the number of functions.
    family : {"rbf", "matern", "rq"}, default "rbf"
        Squared-exponential, Matern or rational quadratic kernels, of variance 1.
    length_scale : float or (low, high), default (0.02, 0.2)
        Range in which each kernel's length scale is drawn uniformly; one number fixes it.
    alpha : float or (low, high), optional
        Range of the rational quadratic kernels' scale mixture, (0.05, 0.25) by default. With "rq" only.
    nu : float or (low, high), optional
        Range of the Matern kernels' smoothness, (1, 2) by default. With "matern" only.
    d : {1, 2, 3}, default 1
        Number of policy entries.
    points : int or sequence of d int, optional
        Grid points along each axis, both ends included: 1000, 32 or 10 by default for d = 1, 2, 3.
    noise_variance : float or (J,) array-like, default 1e-4
        Variance of an observation's noise.
    weights : float, (J,) array-like, {"linear", "cosine"} or callable, default 1.0
        `g_j`: constants; `linear_weights` or `cosine_weights` by name; or a function from policies (n, d)
        to (n, J).
    seed : int or numpy.random.SeedSequence, default 0
        Of kernels and functions: equal seeds give the same world, bit for bit.

    Raises
    ------
    ValueError
        One line with the parameter, its value and what is accepted.

    Attributes
    ----------
    kernels : tuple of J sklearn kernels
        What the functions were drawn from: with `noise_variances`, and means of zero, the true prior.
    noise_variances : (J,) array
    """

    sense: Literal["minimize", "maximize"] = "maximize"
    objective_unit = UNIT
    policy_space: FinitePolicySpace

    def __init__(
        self,
        *,
        groups: int = 10,
        family: Literal["rbf", "matern", "rq"] = "rbf",
        length_scale: float | Sequence[float] = LENGTH_SCALE,
        alpha: float | Sequence[float] | None = None,
        nu: float | Sequence[float] | None = None,
        d: Literal[1, 2, 3] = 1,
        points: int | Sequence[int] | None = None,
        noise_variance: ArrayLike = 1e-4,
        weights: ArrayLike | str | Weights = 1.0,
        seed: int | np.random.SeedSequence = 0,
    ) -> None:
        J = whole("groups", groups)
        self.groups: tuple[str, ...] = tuple(f"f{j}" for j in range(1, J + 1))
        self.group_units = (UNIT,) * J
        self.family = choice("family", family, FAMILIES)
        for name, value, owner in (("alpha", alpha, "rq"), ("nu", nu, "matern")):
            if value is not None and family != owner:
                raise ValueError(f"{name}={value!r} has no meaning for family={family!r}; leave it out")
        self.shape: tuple[int, ...] = _shape(int(choice("d", d, tuple(POINTS))), points)
        self.noise_variances: Array = per_group("noise_variance", noise_variance, self.groups, least=0)
        self.noise_variances.flags.writeable = False
        self.seed = as_sequence(seed)
        ranges = {
            "length_scale": _range("length_scale", length_scale),
            "alpha": _range("alpha", ALPHA if alpha is None else alpha),
            "nu": _range("nu", NU if nu is None else nu),
        }
        self.kernels: tuple[Kernel, ...] = tuple(self._kernel(j, ranges) for j in range(J))
        labels = ("x",) if d == 1 else tuple(f"x{i}" for i in range(1, d + 1))
        candidates = grid_points(self.shape)
        self.policy_space = FinitePolicySpace(labels, ("dimensionless",) * d, candidates=candidates)
        self._weights = _weights(weights, candidates, self.groups)

    @cached_property
    def functions(self) -> Array:
        """Noise-free outcomes (n, J) of all candidates: the world, drawn when it is first asked for."""
        # One BLAS thread: the same rounding in every process, and faster at these sizes.
        with threadpool_limits(1):
            drawn = [draw(k, self.shape, self._generator(1, j)) for j, k in enumerate(self.kernels)]
        functions = np.stack(drawn, axis=1)
        functions.flags.writeable = False
        return functions

    def step(self, policy: Any) -> Outcomes:
        """Observe every function at a candidate row, with Gaussian noise."""
        row = self.policy_space.check(policy)
        noise = np.sqrt(self.noise_variances) * self.rng.standard_normal(len(self.groups))
        return Outcomes(self.functions[row] + noise, self.noise_variances)

    def expected(self, policies: ArrayLike) -> Array:
        """The functions' values at candidate rows (n,), shape (n, J)."""
        return self.functions[self.policy_space.rows(policies)]

    def compose(self, outcomes: ArrayLike, policies: ArrayLike) -> Array:
        """`sum_j g_j(x) f_j` of outcomes (..., J) at candidate rows (...,), shape (...,)."""
        rows = self.policy_space.rows(np.ravel(policies)).reshape(np.shape(policies))
        terms = np.asarray(outcomes, dtype=float) * self._weights[rows]
        # One memory layout, hence one order of summation: a row's value must not depend on its neighbours.
        total: Array = np.ascontiguousarray(terms).sum(axis=-1)
        return total

    def weights(self, policies: ArrayLike) -> Array:
        """The weights `g_j(x)` at candidate rows (n,), shape (n, J)."""
        return self._weights[self.policy_space.rows(policies)]

    def _generator(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng(child(self.seed, *purpose))

    def _kernel(self, j: int, ranges: dict[str, tuple[float, float]]) -> Kernel:
        rng = self._generator(0, j)
        # Drawn in this order whatever the family, so that families differ in nothing else.
        scale, alpha, nu = (float(rng.uniform(*ranges[name])) for name in ("length_scale", "alpha", "nu"))
        if self.family == "rbf":
            return RBF(scale, "fixed")
        if self.family == "matern":
            return Matern(scale, "fixed", nu=nu)
        return RationalQuadratic(scale, alpha, "fixed", "fixed")


def _shape(d: int, points: Any) -> tuple[int, ...]:
    if points is None:
        return POINTS[d]
    if np.ndim(points) == 0:
        return (whole("points", points),) * d
    if np.shape(points) != (d,):
        raise ValueError(f"points={points!r} must be one whole number, or {d} of them, one an axis")
    return tuple(whole("points", m) for m in points)


def _range(name: str, value: Any) -> tuple[float, float]:
    if np.ndim(value) == 0:
        value = (value, value)
    if np.shape(value) != (2,):
        raise ValueError(f"{name}={value!r} must be one number, or two: the ends of a range")
    low, high = (number(name, end, above=0) for end in value)
    if low > high:
        raise ValueError(f"{name}={value!r} is upside down: {low:g} is above {high:g}")
    return low, high


def _weights(weights: Any, candidates: Array, groups: tuple[str, ...]) -> Array:
    """`g_j` of every candidate, (n, J)."""
    shape = (len(candidates), len(groups))
    if isinstance(weights, str):
        named = entry("weights", weights, WEIGHTS)
        table = named(candidates, len(groups))
    elif callable(weights):
        table = np.array(weights(candidates), dtype=float)
        if table.shape != shape or not np.isfinite(table).all():
            raise ValueError(f"weights of the candidates must be finite and of shape {shape}")
    else:
        table = np.tile(per_group("weights", weights, groups), (shape[0], 1))
    table = np.ascontiguousarray(table)
    table.flags.writeable = False
    return table
