"""Methods of `scipy.optimize` as agents: baselines that are told the composed value only.

SciPy's methods call a function, agents are asked and told. So the method is run anew at every `ask`, from its
start, with the values that were told; the first point whose value nobody knows is the policy to try next.
That costs microseconds a round told, and leaves the agent without any state of its own.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.optimize import differential_evolution, minimize

from bridges.agents.unit_box import SAME, UnitBox
from optimizer.agents.baselines import ObservingAgent
from optimizer.arrays import Array, Policies
from optimizer.composition.linear import BaseComposition
from optimizer.space.search_space import SearchSpace

MethodName = Literal["de", "nelder-mead"]
Loss = Callable[[Array], float]

FOREVER = 10**9
"""Evaluations and iterations that a method may take: others end it."""

STEP = 0.2
"""Edge of Nelder-Mead's first simplex, as a share of each entry's range."""


class SciPyAgent(ObservingAgent):
    """Differential evolution, or Nelder-Mead, of the composed value.

    The method works on the unit box over the policies (`UnitBox`); where entries are whole numbers, its
    points become the nearest policies, and `projected` says so. Its first max(5, 2 d) policies are those that
    it was told before it was asked, completed by a Sobol design: they are the first population of
    differential evolution, and Nelder-Mead starts from the best of them. A method that has converged starts
    again elsewhere. A policy that failed has no value; the method is told that it is infinitely bad, and
    turns away.

    Parameters
    ----------
    method : {"de", "nelder-mead"}
        `scipy.optimize.differential_evolution` with its defaults but for the population, and without the
        final polish; or `scipy.optimize.minimize(method="Nelder-Mead")` with bounds.
    seed : int, default=0
        Of the Sobol designs and of differential evolution.

    Raises
    ------
    ValueError
        If the method is unknown, or a policy has categories.

    Attributes
    ----------
    projected : list of bool
        For each policy asked for, whether the method's own point was not feasible and had to be moved.
    """

    def __init__(
        self, space: SearchSpace, composition: BaseComposition, *, method: MethodName, seed: int = 0
    ) -> None:
        if method not in _METHODS:
            raise ValueError(f"method={method!r}; accepted: {', '.join(map(repr, _METHODS))}")
        super().__init__(f"scipy-{method}", space, composition.sign, seed)
        self.method = method
        self.box: UnitBox = UnitBox(space)
        self.box.refuse_categories(f"method {method!r}")
        self.design_size: int = max(5, 2 * self.box.d)
        self.projected: list[bool] = []
        self._points = np.empty((0, self.box.d))
        self._losses = np.empty(0)

    def note(self, policies: Policies, values: Array) -> None:
        """Keep the points of the unit box and their losses."""
        self._points = np.concatenate([self._points, self.box.points(policies)])
        self._losses = np.concatenate(
            [self._losses, np.where(np.isnan(values), np.inf, -self._sign * values)]
        )

    def ask(self, n: int = 1, context: Any = None) -> Policies:
        """The points whose values the method wants to know next.

        Each one after the first is chosen as if the earlier ones had returned the mean of what was told.
        """
        chosen: list[Any] = []
        for _ in range(n):
            chosen.append(self._next(np.asarray(chosen)))
        return np.asarray(chosen)

    def _next(self, pending: Policies) -> Any:
        points, losses = self._points, self._losses
        if len(pending):
            known = losses[np.isfinite(losses)]
            guess = float(known.mean()) if len(known) else 0.0
            points = np.concatenate([points, self.box.points(pending)])
            losses = np.concatenate([losses, np.full(len(pending), guess)])
        if len(points) < self.design_size or not self.box.d:
            self.projected.append(False)
            return self.space.sobol(len(points) + 1, self.seed)[-1]
        answers = _Answers(self.box, points, losses)
        design, best = points[: self.design_size], int(np.argmin(losses[: self.design_size]))
        start, run = np.roll(design, -best, axis=0), 0
        with np.errstate(invalid="ignore"):  # of infinite losses SciPy takes differences
            try:
                while True:  # ends: a start consumes answers, and there are only so many
                    _METHODS[self.method](answers.loss, start, np.random.default_rng([self.seed, run]))
                    run += 1
                    start = self.box.points(
                        self.space.sobol(self.design_size, np.random.SeedSequence([self.seed, run]))
                    )
            except _Unanswered as asked:
                self.projected.append(asked.projected)
                return asked.policy


class _Unanswered(Exception):
    def __init__(self, policy: Any, projected: bool) -> None:
        super().__init__("the value of this policy is not known")
        self.policy, self.projected = policy, projected


class _Answers:
    """The losses observed, each used once: a policy that is tried twice is observed twice."""

    def __init__(self, box: UnitBox, points: Array, losses: Array) -> None:
        self._box, self._points, self._losses = box, points, losses
        self._unused = np.ones(len(points), dtype=bool)

    def loss(self, point: Array) -> float:
        policy, moved = self._box.policy(point)
        here = self._box.points(np.asarray([policy]))
        same = np.flatnonzero(self._unused & (np.abs(self._points - here) <= SAME).all(axis=1))
        if not len(same):
            raise _Unanswered(policy, moved)
        self._unused[same[0]] = False
        return float(self._losses[same[0]])


def _differential_evolution(loss: Loss, start: Array, rng: np.random.Generator) -> None:
    box = [(0.0, 1.0)] * start.shape[1]
    differential_evolution(loss, box, init=start, seed=rng, tol=0.0, maxiter=FOREVER, polish=False)


def _nelder_mead(loss: Loss, start: Array, rng: np.random.Generator) -> None:
    first, d = start[0], start.shape[1]
    edges = np.diag(np.where(first + STEP <= 1.0, STEP, -STEP))
    minimize(
        loss,
        first,
        method="Nelder-Mead",
        bounds=[(0.0, 1.0)] * d,
        options={
            "initial_simplex": np.vstack([first, first + edges]),
            "xatol": 1e-3,
            "fatol": np.inf,
            "maxiter": FOREVER,
            "maxfev": FOREVER,
        },
    )


_METHODS: dict[str, Callable[[Loss, Array, np.random.Generator], None]] = {
    "de": _differential_evolution,
    "nelder-mead": _nelder_mead,
}
