"""Which figures there are, and how much is computed for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from policyloop.messages import unknown_name
from scenarios.declaration import catalogue
from scenarios.errors import UserError

ILLUSTRATION = "1"

REGRESSIONS = {"2a": "rbf", "2b": "matern", "2c": "rq", "2d": "flu"}
"""Panels of figure 2, and the domain of each."""

BANDITS = {"a": "synthetic", "b": "flu-treatment", "c": "weather"}
"""Panels of figures 3 (cumulative regret) and 4 (average regret), and the catalogue's scenario of each.

The published results behind the paper's flu panel come from the authors' code, whose dynamics and numbers are
those of `flu-treatment`; the paper's text describes `flu`.
"""

FIGURES = (ILLUSTRATION, *REGRESSIONS, *(f"{number}{panel}" for number in (3, 4) for panel in BANDITS))

AGENTS = ["d-gpucb", "gp-ucb", "ei", "mpi"]
"""The paper's four."""


@dataclass(frozen=True)
class Settings:
    """How much is computed.

    Attributes
    ----------
    seed : int, default 0
        The root of all randomness.
    quick : bool, default False
        What the report says of it: a shortened run, not the paper's numbers.
    draws : int, default 100
        Figure 1: draws of the sampled points, for an interval.
    runs, observations : int, default 100 and 50
        Figure 2: independent runs, and the largest T.
    samples : int, default 1000
        Samples from which the kernels of the flu domains are learned.
    flu_groups : tuple of int, default (5, 9)
        Figure 2d: the numbers of age groups.
    trials, rounds : int or None, default None
        Figures 3 and 4, in place of the scenario's.
    """

    seed: int = 0
    quick: bool = False
    draws: int = 100
    runs: int = 100
    observations: int = 50
    samples: int = 1000
    flu_groups: tuple[int, ...] = (5, 9)
    trials: int | None = None
    rounds: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain data, as stored beside the results."""
        return {**asdict(self), "flu_groups": list(self.flu_groups)}


def paper(seed: int = 0) -> Settings:
    """The paper's numbers of runs, trials, rounds and samples."""
    return Settings(seed=seed)


def quick(seed: int = 0) -> Settings:
    """Fewer of all, for a look and for a check that all of it works: about a minute on two cores."""
    return Settings(
        seed=seed,
        quick=True,
        draws=20,
        runs=10,
        observations=20,
        samples=150,
        flu_groups=(5,),
        trials=5,
        rounds=40,
    )


def resolve(wanted: Iterable[str]) -> tuple[list[str], list[str]]:
    """The wanted figures in the paper's order, and one line about each that cannot be made yet.

    Names of `FIGURES`; none means all.
    """
    chosen = [name.lower().removeprefix("figure").strip(" -") for name in wanted] or list(FIGURES)
    for name in chosen:
        if name not in FIGURES:
            raise UserError(f"command line: {unknown_name('figure', name, FIGURES)}")
    known = catalogue.names()
    made, left_out = [], []
    for name in FIGURES:
        if name not in chosen:
            continue
        scenario = BANDITS[name[1]] if name[0] in "34" else None
        if scenario is None or scenario in known:
            made.append(name)
        else:
            left_out.append(f"figure {name} is left out: the catalogue has no scenario {scenario!r} yet")
    return made, left_out
