"""The set of policies that may be tried: a box with linear constraints, or a finite list of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog

from simulators.arrays import Array
from simulators.contract.projection import project

TOLERANCE = 1e-9
"""Feasible means violated by no more than this times `max(1, |bound|)`."""


class PolicySpace:
    """Labels, units and limits of policies.

    A bounded space has `bounds` and perhaps a `constraint`; its policies are `(d,)` float arrays. A
    finite space has `candidates`; its policies are integer candidate rows, everywhere. Limits given beside
    candidates say which rows are feasible.

    Parameters
    ----------
    labels, units : sequence of str
        One label and one unit for each of the d entries.
    bounds : scipy.optimize.Bounds, optional
        Finite lower and upper limits, scalars or `(d,)`. Needed unless `candidates` are given. Equal
        limits fix an entry.
    constraint : scipy.optimize.LinearConstraint, optional
        `lb <= A x <= ub` with `A` of shape `(m, d)` or `(d,)`; equal limits make an equation.
    candidates : (n, d) array-like, optional
        The finite set of policies.
    features : (n, p) array-like, optional
        What kernels see of each candidate; the candidates themselves by default. Only with `candidates`.

    Raises
    ------
    ValueError
        Wrong lengths, nan, bounds upside down or infinite, or limits that no policy satisfies. One line that
        names the entry.
    """

    labels: tuple[str, ...]
    units: tuple[str, ...]
    bounds: Bounds | None
    constraint: LinearConstraint | None
    candidates: Array | None

    def __init__(
        self,
        labels: Sequence[str],
        units: Sequence[str],
        *,
        bounds: Bounds | None = None,
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
        if bounds is None and candidates is None:
            raise ValueError("a policy space needs bounds or candidates")
        if features is not None and candidates is None:
            raise ValueError("features belong to candidates, and there are none")
        self._lower, self._upper = self._box(bounds)
        self._A, self._row_lower, self._row_upper = self._rows_of(constraint)
        self.bounds = None if bounds is None else Bounds(self._lower, self._upper)
        self.constraint = (
            None if constraint is None else LinearConstraint(self._A, self._row_lower, self._row_upper)
        )
        self.candidates = None if candidates is None else _table(candidates, "candidates", self.d)
        self._features = self.candidates if features is None else _table(features, "features", None)
        if self.candidates is not None and self._features is not None:
            if len(self._features) != len(self.candidates):
                raise ValueError(
                    f"features must have one row a candidate: {len(self.candidates)} expected, "
                    f"got {len(self._features)}"
                )
            if not self._satisfies(self.candidates).any():
                raise ValueError("no candidate lies within the bounds and the constraint")
        else:
            self._refuse_infeasible()

    @property
    def d(self) -> int:
        """Number of entries of a policy."""
        return len(self.labels)

    @property
    def finite(self) -> bool:
        """Whether policies are rows of `candidates`."""
        return self.candidates is not None

    @property
    def size(self) -> int | None:
        """Number of candidates; None in a bounded space."""
        return None if self.candidates is None else len(self.candidates)

    def __repr__(self) -> str:
        kind = f"{self.size} candidates" if self.finite else "bounded"
        return f"PolicySpace({', '.join(self.labels)}; {kind}, {len(self._A)} linear constraint(s))"

    def check(self, policy: Any) -> Any:
        """A policy in its standard form, or say what is wrong with it.

        Parameters
        ----------
        policy : (d,) array-like, or int
            A policy, or a candidate row in a finite space. Never changed.

        Returns
        -------
        (d,) array of float, or int
            A copy in a bounded space.

        Raises
        ------
        ValueError
            Wrong length, nan, or outside the limits: names the entry, its value and its bound.
        """
        if self.candidates is not None:
            row = _row(policy, len(self.candidates))
            self._explain(self.candidates[row])
            return row
        try:
            x = np.array(policy, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"a policy must be {self.d} numbers, got {policy!r}") from None
        if x.shape != (self.d,):
            raise ValueError(
                f"a policy must have {self.d} entries ({', '.join(self.labels)}), got shape {x.shape}"
            )
        self._explain(x)
        return x

    def contains(self, policies: ArrayLike) -> NDArray[np.bool_]:
        """Which policies are feasible, within 1e-9 relative.

        Parameters
        ----------
        policies : (n, d) array-like, or (n,) candidate rows
            The policies.

        Returns
        -------
        (n,) array of bool
        """
        if self.candidates is None:
            return self._satisfies(self._as_table(policies))
        rows = np.asarray(policies)
        if rows.ndim != 1:
            raise ValueError(f"policies of a finite space are (n,) candidate rows, got shape {rows.shape}")
        whole = np.equal(rows, np.floor(rows)) & (rows >= 0) & (rows < len(self.candidates))
        index = np.where(whole, rows, 0).astype(int)
        return np.asarray(whole & self._satisfies(self.candidates[index]), dtype=bool)

    def resolve(self, policies: ArrayLike) -> Array:
        """The coordinates of policies.

        Parameters
        ----------
        policies : (n, d) array-like, or (n,) candidate rows
            The policies; rows must exist.

        Returns
        -------
        (n, d) array of float
        """
        return self._as_table(policies) if self.candidates is None else self.candidates[self._rows(policies)]

    def embed(self, policies: ArrayLike) -> Array:
        """The features that kernels see: the coordinates, or the candidates' own `features`.

        Parameters
        ----------
        policies : (n, d) array-like, or (n,) candidate rows
            The policies; rows must exist.

        Returns
        -------
        (n, p) array of float
        """
        return self.resolve(policies) if self._features is None else self._features[self._rows(policies)]

    def project(self, policy: Any) -> Any:
        """The feasible policy nearest to a point, in the Euclidean distance of the coordinates.

        Parameters
        ----------
        policy : (d,) array-like
            Any finite point. In a finite space a candidate row (int) will do as well.

        Returns
        -------
        (d,) array of float, or int
            The nearest feasible policy; in a finite space, the nearest feasible row, the lowest one of
            several.

        Raises
        ------
        ValueError
            Wrong length, or an entry that is not finite.
        """
        if self.candidates is not None and np.ndim(policy) == 0:
            policy = self.candidates[_row(policy, len(self.candidates))]
        point = np.array(policy, dtype=float)
        if point.shape != (self.d,) or not np.isfinite(point).all():
            raise ValueError(f"a point to project must be {self.d} finite numbers, got {policy!r}")
        if self.candidates is not None:
            distance = np.square(self.candidates - point).sum(axis=1)
            distance[~self._satisfies(self.candidates)] = np.inf
            return int(np.argmin(distance))
        return project(point, self._lower, self._upper, self._A, self._row_lower, self._row_upper)

    def _as_table(self, policies: ArrayLike) -> Array:
        x = np.ascontiguousarray(policies, dtype=float)
        if x.ndim != 2 or x.shape[1] != self.d:
            raise ValueError(f"policies must have shape (n, {self.d}), got {x.shape}")
        return x

    def _rows(self, policies: ArrayLike) -> NDArray[np.intp]:
        assert self.candidates is not None
        rows = np.asarray(policies)
        if rows.ndim != 1 or not np.equal(rows, np.floor(rows)).all():
            raise ValueError(f"policies of a finite space are (n,) candidate rows, got shape {rows.shape}")
        if len(rows) and not (rows.min() >= 0 and rows.max() < len(self.candidates)):
            raise ValueError(f"candidate rows must lie in 0..{len(self.candidates) - 1}")
        return rows.astype(np.intp)

    def _satisfies(self, x: Array) -> NDArray[np.bool_]:
        feasible = np.isfinite(x).all(axis=1)
        feasible &= (_excess(x, self._lower, self._upper) <= 0).all(axis=1)
        feasible &= (_excess(_products(self._A, x), self._row_lower, self._row_upper) <= 0).all(axis=1)
        return np.asarray(feasible, dtype=bool)

    def _explain(self, x: Array) -> None:
        """Raise ValueError with the first reason why x is not feasible."""
        for label, value in zip(self.labels, x, strict=True):
            if not np.isfinite(value):
                raise ValueError(f"policy entry {label!r} is {value}, which is not a finite number")
        for j in np.flatnonzero(_excess(x, self._lower, self._upper) > 0)[:1]:
            raise ValueError(
                f"policy entry {self.labels[j]!r} is {x[j]:.12g}, outside its bounds "
                f"{self._lower[j]:g}..{self._upper[j]:g}"
            )
        values = _products(self._A, x[None])[0]
        for i in np.flatnonzero(_excess(values, self._row_lower, self._row_upper) > 0)[:1]:
            raise ValueError(
                f"policy has {self._row_text(i)} = {values[i]:.12g}, outside the constraint's limits "
                f"{self._row_lower[i]:.12g}..{self._row_upper[i]:.12g}"
            )

    def _row_text(self, i: int) -> str:
        terms = zip(self._A[i], self.labels, strict=True)
        return " + ".join(f"{a:.4g}*[{label}]" for a, label in terms if a != 0) or "0"

    def _box(self, bounds: Bounds | None) -> tuple[Array, Array]:
        """The checked (d,) limits of the entries, infinite where there are none."""
        if bounds is None:
            return np.full(self.d, -np.inf), np.full(self.d, np.inf)
        sides = []
        for side, values in (("lower", bounds.lb), ("upper", bounds.ub)):
            try:
                sides.append(np.array(np.broadcast_to(np.asarray(values, dtype=float), (self.d,))))
            except ValueError:
                raise ValueError(
                    f"bounds: {side} limits must be one number or {self.d}, got {values}"
                ) from None
        for label, lo, hi in zip(self.labels, *sides, strict=True):
            if not (np.isfinite(lo) and np.isfinite(hi)):
                raise ValueError(f"bounds of {label!r} must be finite, got {lo:g}..{hi:g}")
            if lo > hi:
                raise ValueError(f"bounds of {label!r} are upside down: lower {lo:g} is above upper {hi:g}")
        return sides[0], sides[1]

    def _rows_of(self, constraint: LinearConstraint | None) -> tuple[Array, Array, Array]:
        """The checked (m, d) coefficients and (m,) limits, m = 0 without a constraint."""
        if constraint is None:
            return np.empty((0, self.d)), np.empty(0), np.empty(0)
        A: Any = constraint.A
        A = np.atleast_2d(np.array(A.toarray() if hasattr(A, "toarray") else A, dtype=float))
        if A.ndim != 2 or A.shape[1] != self.d:
            raise ValueError(f"constraint: each row must have {self.d} coefficients, got shape {A.shape}")
        try:
            lb = np.array(np.broadcast_to(np.asarray(constraint.lb, dtype=float), (len(A),)))
            ub = np.array(np.broadcast_to(np.asarray(constraint.ub, dtype=float), (len(A),)))
        except ValueError:
            raise ValueError(f"constraint: lb and ub must be one number or {len(A)}") from None
        for i in range(len(A)):
            if not np.isfinite(A[i]).all():
                raise ValueError(f"constraint {i + 1}: coefficients must be finite, got {A[i].tolist()}")
            if not lb[i] <= ub[i]:
                raise ValueError(
                    f"constraint {i + 1}: limits must be numbers with lower <= upper, "
                    f"got {lb[i]:g}..{ub[i]:g}"
                )
        return A, lb, ub

    def _refuse_infeasible(self) -> None:
        A, lb, ub = self._A, self._row_lower, self._row_upper
        least = np.minimum(A * self._lower, A * self._upper).sum(axis=1)
        most = np.maximum(A * self._lower, A * self._upper).sum(axis=1)
        for i in range(len(A)):
            if least[i] > ub[i] + _slack(ub[i]) or most[i] < lb[i] - _slack(lb[i]):
                raise ValueError(
                    f"infeasible constraint {i + 1}: within the bounds {self._row_text(i)} lies in "
                    f"{least[i]:.6g}..{most[i]:.6g}, never in {lb[i]:.6g}..{ub[i]:.6g}"
                )
        if len(A) > 1:
            rows, limits = np.vstack([A, -A]), np.concatenate([ub + _slack(ub), _slack(lb) - lb])
            finite = np.isfinite(limits)
            answer = linprog(
                np.zeros(self.d),
                A_ub=rows[finite],
                b_ub=limits[finite],
                bounds=list(zip(self._lower.tolist(), self._upper.tolist(), strict=True)),
            )
            if answer.status == 2:
                raise ValueError(
                    "infeasible constraints: no policy within the bounds satisfies all of them at once"
                )


def _slack(limit: Any) -> Any:
    return TOLERANCE * np.maximum(1.0, np.where(np.isfinite(limit), np.abs(limit), 0.0))


def _excess(values: Array, lower: Array, upper: Array) -> Array:
    """How far values lie outside their limits, tolerance taken off; positive means infeasible."""
    excess: Array = np.maximum(lower - _slack(lower) - values, values - upper - _slack(upper))
    return excess


def _products(A: Array, x: Array) -> Array:
    """A x for every row of x, (n, m), each row in the same order whatever its neighbours."""
    return np.asarray((x[:, None, :] * A).sum(axis=-1), dtype=float)


def _table(values: ArrayLike, what: str, columns: int | None) -> Array:
    table = np.array(values, dtype=float, order="C")
    if table.ndim != 2 or len(table) == 0 or (columns is not None and table.shape[1] != columns):
        raise ValueError(f"{what} must have shape (n, {columns or 'p'}) with n >= 1, got {table.shape}")
    if not np.isfinite(table).all():
        row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise ValueError(f"{what}: row {row} has an entry that is not a finite number: {table[row].tolist()}")
    table.flags.writeable = False
    return table


def _row(policy: Any, size: int) -> int:
    value = np.asarray(policy)
    if value.ndim != 0 or value.dtype.kind not in "iuf" or value != np.floor(value):
        raise ValueError(f"a policy of this finite space must be a whole number (a row), got {policy!r}")
    if not 0 <= value < size:
        raise ValueError(f"candidate row {value} is outside 0..{size - 1}")
    return int(value)
