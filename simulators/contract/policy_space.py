"""The set of policies that may be tried: a box with linear constraints, or a finite list of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint

from simulators.arrays import Array, Mask, Rows
from simulators.contract.levers import Lever, OneOf
from simulators.contract.limits import Limits


class PolicySpace:
    """Labels, units and limits of policies; made by its name, it is one of its two kinds.

    A `BoundedPolicySpace` has `bounds` and perhaps a `constraint`; a policy is a `(d,)` array of float, and n
    of them are `(n, d)`. A `FinitePolicySpace` has `candidates`; a policy is an integer candidate row,
    everywhere, and n of them are `(n,)`. Limits given beside candidates say which rows are feasible. A space
    that embeds its policies in its own way derives from one of the two.

    Parameters
    ----------
    labels, units : sequence of str
        One label and one unit for each of the d entries.
    bounds : scipy.optimize.Bounds, optional
        Finite lower and upper limits, scalars or `(d,)`, of real numbers. Needed unless `levers` or
        `candidates` are given. Equal limits fix an entry.
    levers : sequence of Real, Whole or OneOf, optional
        In place of `bounds`: what each entry is. A category is its place among the names, counted from 0;
        `check` takes its name as well.
    constraint : scipy.optimize.LinearConstraint, optional
        `lb <= A x <= ub` with `A` of shape `(m, d)` or `(d,)`; equal limits make an equation. Categories have
        no size, and so the coefficient 0.
    candidates : (n, d) array-like, optional
        The finite set of policies.
    features : (n, p) array-like, optional
        What kernels see of each candidate; the candidates themselves by default. Only with `candidates`.

    Raises
    ------
    ValueError
        Wrong lengths, nan, bounds upside down or infinite, or limits that no policy satisfies. One line that
        names the entry.

    Attributes
    ----------
    levers : tuple of Real, Whole or OneOf
        What each entry is; of candidates real numbers.
    finite : bool
        Whether policies are rows of `candidates`.
    size : int or None
        Number of candidates; None in a bounded space.
    """

    labels: tuple[str, ...]
    units: tuple[str, ...]
    levers: tuple[Lever, ...]
    bounds: Bounds | None
    constraint: LinearConstraint | None
    candidates: Array | None
    finite: ClassVar[bool]
    size: int | None

    def __new__(cls, *_: Any, candidates: ArrayLike | None = None, **__: Any) -> Self:
        """A space of the kind that is asked for."""
        kind: Any = cls
        if cls is PolicySpace:
            kind = BoundedPolicySpace if candidates is None else FinitePolicySpace
        space: Self = super().__new__(kind)
        return space

    def __init__(
        self,
        labels: Sequence[str],
        units: Sequence[str],
        *,
        bounds: Bounds | None = None,
        levers: Sequence[Lever] | None = None,
        constraint: LinearConstraint | None = None,
        candidates: ArrayLike | None = None,
        features: ArrayLike | None = None,
    ) -> None:
        self.labels = tuple(labels)
        self.units = tuple(units)
        if not self.labels:
            raise ValueError("labels must name at least one policy entry")
        if len(set(self.labels)) < len(self.labels):
            raise ValueError(f"labels must differ from each other, got {list(self.labels)}")
        if len(self.units) != self.d:
            raise ValueError(f"units must have one entry a label: {self.d} expected, got {len(self.units)}")
        if levers is not None:
            if bounds is not None or candidates is not None:
                raise ValueError(
                    "levers have limits of their own: neither bounds nor candidates go with them"
                )
            if len(levers) != self.d:
                raise ValueError(f"levers must be one a label: {self.d} expected, got {len(levers)}")
            bounds = Bounds([lever.low for lever in levers], [lever.high for lever in levers])
        if bounds is None and candidates is None:
            raise ValueError("a policy space needs bounds, levers or candidates")
        if features is not None and candidates is None:
            raise ValueError("features belong to candidates, and there are none")
        self._limits = Limits(self.labels, bounds, constraint, levers or ())
        self.levers = self._limits.levers
        self.bounds, self.constraint = self._limits.bounds, self._limits.constraint
        self._set_candidates(candidates, features)

    def _set_candidates(self, candidates: ArrayLike | None, features: ArrayLike | None) -> None:
        """Set what only one kind has, and check that there is a feasible policy."""
        raise TypeError("a policy space derives from BoundedPolicySpace or FinitePolicySpace")

    @property
    def d(self) -> int:
        """Number of entries of a policy."""
        return len(self.labels)

    def __repr__(self) -> str:
        kind = f"{self.size} candidates" if self.finite else "bounded"
        return f"PolicySpace({', '.join(self.labels)}; {kind}, {len(self._limits.A)} linear constraint(s))"

    def same_form(self, policy: Any) -> Any:
        """A policy in the one form in which it travels, unchecked: a (d,) array of float, or an int."""
        raise NotImplementedError

    def check(self, policy: Any) -> Any:
        """A feasible policy in its one form, or say what is wrong with it.

        Returns
        -------
        (d,) array of float, or int
            A copy in a bounded space; the argument is never changed.

        Raises
        ------
        ValueError
            Wrong length, nan, or outside the limits: names the entry, its value and its bound.
        """
        raise NotImplementedError

    def contains(self, policies: ArrayLike) -> Mask:
        """Which policies are feasible, within 1e-9 relative, (n,)."""
        raise NotImplementedError

    def resolve(self, policies: ArrayLike) -> Array:
        """The coordinates (n, d) of policies; rows must exist."""
        raise NotImplementedError

    @property
    def steps(self) -> Array:
        """The step of every entry (d,): 0 of a real number, 1 of a category."""
        return self._limits.steps

    def named(self, policy: Any) -> dict[str, float | int | str]:
        """A policy's entries by label, as people and models read them: float, int, or a category's name."""
        numbers = self.resolve(np.asarray([policy]))[0].tolist()
        return {
            label: lever.value(x) for label, lever, x in zip(self.labels, self.levers, numbers, strict=True)
        }

    def embed(self, policies: ArrayLike) -> Array:
        """The features (n, p) that kernels see: the coordinates, or the candidates' own `features`."""
        return self.resolve(policies)

    def project(self, policy: Any) -> Any:
        """The feasible policy nearest to a point, in the Euclidean distance of the coordinates.

        Parameters
        ----------
        policy : (d,) array-like
            Any finite point. In a finite space a candidate row (int) will do as well.

        Returns
        -------
        (d,) array of float, or int
            In a finite space the nearest feasible row, the lowest one of several.

        Raises
        ------
        ValueError
            Wrong length, or an entry that is not finite.
        """
        raise NotImplementedError

    def _point(self, policy: Any) -> Array:
        point = np.array(policy, dtype=float)
        if point.shape != (self.d,) or not np.isfinite(point).all():
            raise ValueError(f"a point to project must be {self.d} finite numbers, got {policy!r}")
        return point


class BoundedPolicySpace(PolicySpace):
    """Policies are points `(d,)` of a box that linear constraints may cut. See `PolicySpace`."""

    bounds: Bounds
    candidates: None
    finite = False
    size: None

    def _set_candidates(self, candidates: ArrayLike | None, features: ArrayLike | None) -> None:
        if candidates is not None:
            raise ValueError("candidates belong to a finite policy space, and this is a bounded one")
        self.candidates = self.size = None
        self._limits.refuse_empty()

    def same_form(self, policy: Any) -> Array:
        """The policy as an array of float."""
        return np.asarray(policy, dtype=float)

    def check(self, policy: Any) -> Array:
        """A feasible policy as a new array of float, or ValueError."""
        try:
            x = self._numbers(policy)
        except TypeError:
            raise ValueError(f"a policy must be {self.d} numbers, got {policy!r}") from None
        if x.shape != (self.d,):
            raise ValueError(
                f"a policy must have {self.d} entries ({', '.join(self.labels)}), got shape {x.shape}"
            )
        self._limits.explain(x)
        return self._limits.snap(x)

    def _numbers(self, policy: Any) -> Array:
        """A policy as numbers (d,): names of categories become theirs."""
        if np.size(policy) == self.d and any(isinstance(lever, OneOf) for lever in self.levers):
            policy = list(policy)
            for i, (label, lever) in enumerate(zip(self.labels, self.levers, strict=True)):
                if isinstance(lever, OneOf):
                    try:
                        policy[i] = lever.number(policy[i])
                    except ValueError as error:
                        raise ValueError(f"policy entry {label!r}: {error}") from None
        try:
            return np.array(policy, dtype=float)
        except ValueError:
            raise TypeError from None

    def snap(self, policies: ArrayLike) -> Array:
        """Points (n, d), each entry that has a step on the nearest one."""
        return self._limits.snap(np.asarray(policies, dtype=float))

    def contains(self, policies: ArrayLike) -> Mask:
        """Which policies (n, d) are feasible, (n,)."""
        return self._limits.satisfied(self.resolve(policies))

    def resolve(self, policies: ArrayLike) -> Array:
        """The policies (n, d) as an array of float, or ValueError for another shape."""
        x = np.ascontiguousarray(policies, dtype=float)
        if x.ndim != 2 or x.shape[1] != self.d:
            raise ValueError(f"policies must have shape (n, {self.d}), got {x.shape}")
        return x

    def project(self, policy: Any) -> Array:
        """The feasible policy nearest to a point (d,).

        Where entries have steps: within one percent, in the sum of their distances, each relative to its
        range.
        """
        return self._limits.project(self._point(policy))


class FinitePolicySpace(PolicySpace):
    """Policies are rows of `candidates`, of which limits may bar some. See `PolicySpace`."""

    candidates: Array
    finite = True
    size: int

    def _set_candidates(self, candidates: ArrayLike | None, features: ArrayLike | None) -> None:
        self.candidates = _table(candidates, "candidates", self.d)
        self.size = len(self.candidates)
        self._features = self.candidates if features is None else _table(features, "features", None)
        if len(self._features) != self.size:
            raise ValueError(
                f"features must have one row a candidate: {self.size} expected, got {len(self._features)}"
            )
        if not self._limits.satisfied(self.candidates).any():
            raise ValueError("no candidate lies within the bounds and the constraint")

    def same_form(self, policy: Any) -> int:
        """The candidate row as an int."""
        return int(policy)

    def check(self, policy: Any) -> int:
        """A feasible candidate row as an int, or ValueError."""
        row = self._row(policy)
        self._limits.explain(self.candidates[row])
        return row

    def _row(self, policy: Any) -> int:
        value = np.asarray(policy)
        if value.ndim != 0 or value.dtype.kind not in "iuf" or value != np.floor(value):
            raise ValueError(f"a policy of this finite space must be a whole number (a row), got {policy!r}")
        if not 0 <= value < self.size:
            raise ValueError(f"candidate row {value} is outside 0..{self.size - 1}")
        return int(value)

    def contains(self, policies: ArrayLike) -> Mask:
        """Which candidate rows (n,) exist and are feasible, (n,)."""
        rows = _line(policies)
        whole = np.equal(rows, np.floor(rows)) & (rows >= 0) & (rows < self.size)
        index = np.where(whole, rows, 0).astype(int)
        return np.asarray(whole & self._limits.satisfied(self.candidates[index]), dtype=bool)

    def rows(self, policies: ArrayLike) -> Rows:
        """Candidate rows (n,), feasible or not, as integers; ValueError if one does not exist."""
        rows = _line(policies)
        if not (np.equal(rows, np.floor(rows)) & (rows >= 0) & (rows < self.size)).all():
            raise ValueError(f"candidate rows must be whole numbers in 0..{self.size - 1}")
        return rows.astype(np.intp)

    def resolve(self, policies: ArrayLike) -> Array:
        """The coordinates (n, d) of candidate rows (n,)."""
        return self.candidates[self.rows(policies)]

    def embed(self, policies: ArrayLike) -> Array:
        """The features (n, p) of candidate rows (n,)."""
        return self._features[self.rows(policies)]

    def project(self, policy: Any) -> int:
        """The feasible row nearest to a point (d,), or to a candidate row."""
        if np.ndim(policy) == 0:
            policy = self.candidates[self._row(policy)]
        distance = np.square(self.candidates - self._point(policy)).sum(axis=1)
        distance[~self._limits.satisfied(self.candidates)] = np.inf
        return int(np.argmin(distance))


def _line(policies: ArrayLike) -> NDArray[Any]:
    rows = np.asarray(policies)
    if rows.ndim != 1:
        raise ValueError(f"policies of a finite space are (n,) candidate rows, got shape {rows.shape}")
    return rows


def _table(values: ArrayLike | None, what: str, columns: int | None) -> Array:
    table = np.array(values, dtype=float, order="C")
    if table.ndim != 2 or len(table) == 0 or (columns is not None and table.shape[1] != columns):
        raise ValueError(f"{what} must have shape (n, {columns or 'p'}) with n >= 1, got {table.shape}")
    if not np.isfinite(table).all():
        row, entry = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(f"{what}: row {row}: entry {entry} is {table[row, entry]}, not a finite number")
    table.flags.writeable = False
    return table
