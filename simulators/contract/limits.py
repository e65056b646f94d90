"""What policies must keep: a box, cut by linear constraints, and the steps of entries that are not real.

Feasible is `lower <= x <= upper` and `row_lower <= A x <= row_upper`, each within `TOLERANCE`, and
`x = lower + step * k` with a whole k where an entry has a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from simulators.arrays import Array, Mask
from simulators.contract.levers import Lever, OneOf, Real, steps_of
from simulators.contract.projection import WHOLE_NUMBERS, project, project_on_steps

TOLERANCE = 1e-9
"""Feasible means violated by no more than this times `max(1, |bound|)`."""


class Limits:
    """The limits of policies with d labels, checked; the labels are for messages.

    Attributes
    ----------
    bounds, constraint : Bounds, LinearConstraint or None
        As given, in full: (d,) limits, (m, d) coefficients and (m,) limits.
    lower, upper : (d,) array
        Infinite without bounds.
    steps : (d,) array
        0 for real numbers; else entries lie on `lower + step * k`.
    A, row_lower, row_upper : (m, d) and (m,) array
        m = 0 without a constraint.
    """

    def __init__(
        self,
        labels: tuple[str, ...],
        bounds: Bounds | None,
        constraint: LinearConstraint | None,
        levers: Sequence[Lever] = (),
    ) -> None:
        self.labels: tuple[str, ...]
        self.d: int
        self.labels, self.d = labels, len(labels)
        self.lower: Array
        self.upper: Array
        self.lower, self.upper = self._box(bounds)
        self.levers: tuple[Lever, ...] = tuple(levers) or tuple(
            map(Real, self.lower.tolist(), self.upper.tolist())
        )
        self.steps: Array = steps_of(self.levers)
        self._stepped = np.flatnonzero(self.steps)
        self.row_lower: Array
        self.row_upper: Array
        self.A, self.row_lower, self.row_upper = self._rows(constraint)
        self.bounds = None if bounds is None else Bounds(self.lower, self.upper)
        self.constraint: LinearConstraint | None = (
            None if constraint is None else LinearConstraint(self.A, self.row_lower, self.row_upper)
        )

    def satisfied(self, x: Array) -> Mask:
        """Which rows of x (n, d) are feasible, (n,)."""
        feasible = np.isfinite(x).all(axis=1)
        feasible &= (_excess(x, self.lower, self.upper) <= 0).all(axis=1)
        feasible &= (_excess(_products(self.A, x), self.row_lower, self.row_upper) <= 0).all(axis=1)
        if len(self._stepped):
            feasible &= (np.abs(x - self.snap(x)) <= _slack(x)).all(axis=1)
        return np.asarray(feasible, dtype=bool)

    def snap(self, x: Array) -> Array:
        """Policies (.., d), each entry that has a step on the nearest one."""
        snapped, at = np.array(x, dtype=float), self._stepped
        low, step = self.lower[at], self.steps[at]
        with np.errstate(invalid="ignore"):
            snapped[..., at] = low + step * np.rint((snapped[..., at] - low) / step)
        return snapped

    def explain(self, x: Array) -> None:
        """Raise ValueError with the first reason why a policy (d,) is not feasible."""
        for label, value in zip(self.labels, x, strict=True):
            if not np.isfinite(value):
                raise ValueError(f"policy entry {label!r} is {value}, which is not a finite number")
        for j in np.flatnonzero(_excess(x, self.lower, self.upper) > 0)[:1]:
            raise ValueError(
                f"policy entry {self.labels[j]!r} is {x[j]:.12g}, outside its bounds "
                f"{self.lower[j]:g}..{self.upper[j]:g}"
            )
        for j in np.flatnonzero(np.abs(x - self.snap(x)) > _slack(x))[:1]:
            lever = self.levers[j]
            accepted = f"whole numbers {self.lower[j]:g}..{self.upper[j]:g}"
            if isinstance(lever, OneOf):
                accepted = f"one of {', '.join(lever.names)}"
            elif self.steps[j] != 1:
                accepted += f" in steps of {self.steps[j]:g}"
            raise ValueError(f"policy entry {self.labels[j]!r} is {x[j]:.12g}; accepted: {accepted}")
        values = _products(self.A, x[None])[0]
        for i in np.flatnonzero(_excess(values, self.row_lower, self.row_upper) > 0)[:1]:
            raise ValueError(
                f"policy has {self._row_text(i)} = {values[i]:.12g}, outside the constraint's limits "
                f"{self.row_lower[i]:.12g}..{self.row_upper[i]:.12g}"
            )

    def project(self, point: Array) -> Array:
        """The feasible policy nearest to a point (d,); there must be bounds."""
        rows = self.A, self.row_lower, self.row_upper
        if not len(self._stepped):
            return project(point, self.lower, self.upper, *rows)
        near = self.snap(np.clip(point, self.lower, self.upper))
        return (
            near
            if self.satisfied(near[None])[0]
            else project_on_steps(point, self.lower, self.upper, *rows, self.steps)
        )

    def refuse_empty(self) -> None:
        """Raise ValueError if no policy within the bounds satisfies the constraint."""
        A, lb, ub = self.A, self.row_lower, self.row_upper
        least = np.minimum(A * self.lower, A * self.upper).sum(axis=1)
        most = np.maximum(A * self.lower, A * self.upper).sum(axis=1)
        for i in range(len(A)):
            if least[i] > ub[i] + _slack(ub[i]) or most[i] < lb[i] - _slack(lb[i]):
                raise ValueError(
                    f"infeasible constraint {i + 1}: within the bounds {self._row_text(i)} lies in "
                    f"{least[i]:.6g}..{most[i]:.6g}, never in {lb[i]:.6g}..{ub[i]:.6g}"
                )
        if len(A) > 1 or len(self._stepped):
            # In steps k from the lower bound, the entries that have one are whole.
            unit = np.where(self.steps > 0, self.steps, 1.0)
            shift = A @ self.lower
            answer = milp(
                np.zeros(self.d),
                integrality=self.steps > 0,
                bounds=Bounds(0, (self.upper - self.lower) / unit),
                constraints=LinearConstraint(A * unit, lb - _slack(lb) - shift, ub + _slack(ub) - shift),
                options=WHOLE_NUMBERS,
            )
            if answer.status == 2:
                what = "policy of whole numbers" if len(self._stepped) else "policy"
                raise ValueError(
                    f"infeasible constraints: no {what} within the bounds satisfies all of them at once"
                )

    def _row_text(self, i: int) -> str:
        terms = zip(self.A[i], self.labels, strict=True)
        return " + ".join(f"{a:.4g}*[{label}]" for a, label in terms if a != 0) or "0"

    def _box(self, bounds: Bounds | None) -> tuple[Array, Array]:
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

    def _rows(self, constraint: LinearConstraint | None) -> tuple[Array, Array, Array]:
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
            for label, lever, a in zip(self.labels, self.levers, A[i], strict=True):
                if isinstance(lever, OneOf) and a != 0:
                    raise ValueError(
                        f"constraint {i + 1} weighs {label!r} by {a:g}, but categories have no size; "
                        "accepted: 0 there"
                    )
            if not lb[i] <= ub[i]:
                raise ValueError(
                    f"constraint {i + 1}: limits must be numbers with lower <= upper, "
                    f"got {lb[i]:g}..{ub[i]:g}"
                )
        return A, lb, ub


def _slack(limit: Any) -> Any:
    return TOLERANCE * np.maximum(1.0, np.where(np.isfinite(limit), np.abs(limit), 0.0))


def _excess(values: Array, lower: Array, upper: Array) -> Array:
    """How far values lie outside their limits, tolerance taken off; positive means infeasible."""
    excess: Array = np.maximum(lower - _slack(lower) - values, values - upper - _slack(upper))
    return excess


def _products(A: Array, x: Array) -> Array:
    """A x for every row of x, (n, m), each row in the same order whatever its neighbours."""
    return np.asarray((x[:, None, :] * A).sum(axis=-1), dtype=float)
