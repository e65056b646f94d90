"""The search of a bounded space for its best policy: many starts, and a local search near the best of them.

`climb` takes all starts together a few steps uphill, so that each step costs one evaluation of a batch of
policies, and shows which start has the best hill. SciPy's SLSQP (Kraft 1988) then finishes that one, with
analytic gradients.

SciPy has no optimizer that moves several starts together under linear constraints. SLSQP on each of ten
starts takes 45 to 51 ms at 5 entries, 5 groups and 100 observations, most of it SLSQP's own and of policies
evaluated one by one; `climb` from ten starts with one SLSQP 12 to 17 ms, of which 6 for the screening, with
the same results (benchmarks/bench_search.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from optimizer.arrays import Array, Policies
from optimizer.space.polytope import Polytope

Value = Callable[[Policies], Array]
ValueAndGradient = Callable[[Array], tuple[Array, Array]]

# In 120 searches of problems like the flu's, ten starts fell short of the best of 200 by up to 0.45 prior
# deviations, thirty by 0.011 at most (one search). One step tells which eight of the thirty to follow, so
# that they cost little more than ten. Following fewer, or for less long, misses again.
_STEPS = 5
_LOOK = 1
_KEPT = 8


def search(
    space: Polytope,
    value: Value,
    value_and_gradient: ValueAndGradient | None,
    rng: np.random.Generator,
    points: int,
    starts: int,
    extra: Array | None = None,
) -> tuple[Array, float]:
    """The best policy (d,) of many starts, and its value; see `SearchSpace.maximise`.

    `points` random policies and those of `extra` are evaluated together, the best few that lie apart climb a
    few steps together, SLSQP with gradients finishes the best of those, and the best of all that was
    evaluated is returned.
    """
    v = space.scatter(points if space.k else 1, rng)
    x = space.lift(v)
    if extra is not None:
        x, v = np.concatenate((x, extra)), np.concatenate((v, space.drop(extra)))
    values = np.asarray(value(x), dtype=np.float64)
    best = highest(values)
    policy, reached = x[best], float(values[best])
    if value_and_gradient is None or not space.k or starts < 1:
        return policy, reached
    ends = refine(space, value_and_gradient, v[apart(v, values, starts)], spread(values))
    x = space.lift(ends)
    x = x[space.contains(x)]
    if len(x):
        values = np.asarray(value(x), dtype=np.float64)
        best = int(np.where(np.isnan(values), -np.inf, values).argmax())
        if values[best] > reached:
            policy, reached = x[best], float(values[best])
    return policy, reached


def refine(space: Polytope, value_and_gradient: ValueAndGradient, starts: Array, spread: float) -> Array:
    """Feasible coordinates (m, k), where the climbs from `starts` and the last search ended.

    Parameters
    ----------
    space : Polytope
        The feasible set; coordinates are its v.
    value_and_gradient : callable
        Takes policies (m, d) to values (m,), to be maximised, and gradients (m, d).
    starts : (n, k) array
        Feasible coordinates.
    spread : float
        How much values differ over the set: the search stops where they change by less than 1e-5 of it.

    Returns
    -------
    (m, k) array
        At most n + 1 rows. Starts soon seen to be low are not followed to their end. Starts with a value or a
        gradient that is not finite are left out, and so is whatever ends with an ArithmeticError or a
        ValueError (a matrix that cannot be factorised is one).
    """

    def evaluate(v: Array) -> tuple[Array, Array]:
        values, gradients = value_and_gradient(space.lift(v))
        return values, gradients @ space.map

    try:
        ends, values = climb(space, evaluate, starts, _STEPS, look=_LOOK, kept=_KEPT)
    except (ArithmeticError, ValueError):
        ends, values = starts, np.zeros(len(starts))
    if not len(ends):
        return ends
    try:
        last = _finish(space, evaluate, ends[values.argmax()], spread)
    except (ArithmeticError, ValueError):
        return ends
    return np.concatenate((ends, last[None])) if np.isfinite(last).all() else ends


def climb(
    space: Polytope,
    value_and_gradient: ValueAndGradient,
    starts: Array,
    steps: int,
    *,
    look: int,
    kept: int,
) -> tuple[Array, Array]:
    """Take some steps of the spectral projected gradient method from all starts together.

    Birgin, Martinez & Raydan (2000), SIAM J. Optim. 10, 1196: a step goes toward the projection of
    `v + alpha gradient`, where alpha is the Barzilai-Borwein step length, and is shortened where the value
    rises less than a line of small slope. Here the value must rise (their memory of earlier values is 1),
    each step costs one evaluation whether it is taken or shortened, and the starts share evaluations but
    nothing else.

    Parameters
    ----------
    space : Polytope
        The feasible set.
    value_and_gradient : callable
        Takes coordinates (n, k) to values (n,) and gradients by them (n, k).
    starts : (n, k) array
        Feasible coordinates.
    steps : int
        Evaluations after the first.
    look, kept : int
        After `look` steps only the `kept` highest go on.

    Returns
    -------
    ends, values : (m, k) and (m,) arrays
        Feasible, and never lower than at their start; starts that are not finite are left out.
    """
    f, g = value_and_gradient(starts)
    sound = np.isfinite(f) & np.isfinite(g).all(axis=1)
    v, f, g = starts[sound], f[sound], g[sound]
    if not len(v):
        return v, f
    alpha = 0.1 * _longest(g)  # a tenth of the unit box in the steepest coordinate
    d, t = space.project(v + alpha[:, None] * g) - v, np.ones(len(v))
    for step in range(steps):
        if step == look and len(v) > kept:
            best = np.sort(np.argsort(-f, kind="stable")[:kept])
            v, f, g, d, t, alpha = v[best], f[best], g[best], d[best], t[best], alpha[best]
        ahead = v + t[:, None] * d
        f_ahead, g_ahead = value_and_gradient(ahead)
        slope = (g * d).sum(axis=1)
        rise = f_ahead - f
        taken = (rise >= 1e-4 * t * slope) & np.isfinite(f_ahead) & np.isfinite(g_ahead).all(axis=1)
        # Where taken: the Barzilai-Borwein length, or the longest one where the curvature is upward.
        s, y = ahead - v, g - np.where(taken[:, None], g_ahead, g)
        sy, ss = (s * y).sum(axis=1), (s * s).sum(axis=1)
        downward = sy > 1e-12 * ss
        length = np.where(downward, ss / np.where(downward, sy, 1.0), np.inf)
        # Where not: the top of the parabola through both values and the slope, within a tenth and a half.
        bend = np.where(taken | ~np.isfinite(rise), np.inf, t * slope - rise)
        shorter = np.clip(0.5 * slope * t**2 / np.maximum(bend, 1e-300), 0.1 * t, 0.5 * t)
        v, f = np.where(taken[:, None], ahead, v), np.where(taken, f_ahead, f)
        g = np.where(taken[:, None], g_ahead, g)
        alpha = np.where(taken, np.minimum(length, _longest(g)), alpha)
        onward = space.project(v + alpha[:, None] * g) - v
        d, t = np.where(taken[:, None], onward, d), np.where(taken, 1.0, shorter)
    return v, f


def _longest(g: Array) -> Array:
    """The step lengths (n,) at which gradients (n, k) cross the unit box in their steepest entry."""
    steepest = np.abs(g).max(axis=1)
    lengths: Array = np.divide(1.0, steepest, out=np.zeros_like(steepest), where=steepest > 1e-300)
    return lengths


def _finish(space: Polytope, value_and_gradient: ValueAndGradient, start: Array, spread: float) -> Array:
    """The feasible coordinates (k,) where SLSQP from `start` ends."""

    def negative(v: Array) -> tuple[float, Array]:
        if not np.isfinite(v).all():
            raise ValueError("the search left the space")
        values, gradients = value_and_gradient(v[None])
        return -values[0] / spread, -gradients[0] / spread

    # A dict and not a LinearConstraint, whose conversion takes half as long again as the search itself.
    rows: dict[str, Any] = {"type": "ineq", "fun": lambda v: space.h - space.G @ v, "jac": lambda v: -space.G}
    constraints: Any = rows if len(space.G) else ()
    with warnings.catch_warnings():
        # SLSQP may step over a bound by a rounding error, and says so when it steps back.
        warnings.filterwarnings("ignore", "Values in x were outside bounds", RuntimeWarning)
        found = minimize(
            negative,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * space.k,
            constraints=constraints,
            options={"ftol": 1e-5, "maxiter": 50},
        )
    end: Array = space.repair(found.x[None])[0]
    return end


def spread(values: Array) -> float:
    """How far the best value lies above the median, 1 where it does not: the scale of a search.

    The median and not the mean or deviation, which a score that falls without bound far from the best would
    swamp.
    """
    finite = values[np.isfinite(values)]
    spread = float(finite.max() - np.median(finite)) if len(finite) else 0.0
    return spread if spread > 0 else 1.0


def apart(v: Array, values: Array, starts: int) -> NDArray[np.intp]:
    """The rows of the best points (n, k), best first, that lie apart.

    No two are closer than a tenth of the unit box's diagonal; in a set smaller than the unit box, accordingly
    less.
    """
    deviation = v.std(axis=0)
    scaled = v / np.where(deviation > 0, deviation, 1.0)
    nearest = 0.12 * v.shape[1]  # (0.1 / the uniform deviation sqrt(1/12))^2 an entry
    known = np.count_nonzero(~np.isnan(values))
    # Far more of the best than starts, so that some lie apart, but not all of them: that would cost as much
    # again.
    best = np.argsort(-values, kind="stable")[: min(8 * starts, known)]
    close = cdist(scaled[best], scaled[best], "sqeuclidean") <= nearest
    chosen: list[int] = []
    left = np.ones(len(best), dtype=bool)
    while len(chosen) < starts and left.any():
        chosen.append(int(left.argmax()))
        left &= ~close[chosen[-1]]
        left[chosen[-1]] = False
    return best[chosen]


def highest(values: Array) -> int:
    """The first index of the largest value, nan passed over."""
    best = int(values.argmax())
    if not np.isnan(values[best]):  # a nan anywhere would have been taken for the largest
        return best
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        raise ValueError("the value is nan at every policy")
    return int(known[values[known].argmax()])
