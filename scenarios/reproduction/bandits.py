"""Figures 3 and 4: cumulative and average regret of the paper's four agents in scenarios of the catalogue."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from scenarios.declaration import catalogue
from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.figures.regret import regret_figure
from scenarios.numbers import between, significant
from scenarios.reproduction.claims import Claim
from scenarios.reproduction.settings import AGENTS, Settings
from scenarios.results.bounds import study_bounds
from scenarios.results.intervals import POSITIVE, mean_interval
from scenarios.results.statistics import ALL_OF_IT, curves, paired_gain
from scenarios.running.progress import Progress
from scenarios.running.run import run
from scenarios.study.study import Study

Bounds = dict[str, NDArray[np.float64]]

CLAIMED = 10.0, 20.0
"""Percent by which the paper's D-GPUCB lowers GP-UCB's cumulative regret."""

_APART = 4.0  # how many times worse the worst agent may be before only a logarithmic axis shows the others

OURS, THEIRS = "d-gpucb", "gp-ucb"

ABOUT = {
    "synthetic": "New functions in every trial, drawn from kernels with length scales 0.02 to 0.2, a range "
    "that the paper does not print; all agents are given the kernels of their trial.",
    "flu-treatment": "The dynamics, budget and numbers of the published code of the paper's authors, from "
    "which its curves come: a policy is the rate at which the infected of each age group are removed. (The "
    "paper's text describes a vaccination season instead; that is the scenario `flu`.) Kernels are learned "
    "once from samples outside the trials, then frozen; aggregate agents work with the composed kernel.",
    "weather": "1,439 stations of the contiguous United States on 14 October 2007, in place of the paper's "
    "2,906 of 14 March 2017, whose licence keeps them out of the package (the scenario `weather-paper` takes "
    "them by --data), and the perceived temperature by the rules of the National Weather Service. In every "
    "trial a random third of the stations is set aside to learn the kernels from, and the others are the "
    "candidates. Aggregate agents work with a kernel fitted to the perceived temperatures; D-GPUCB carries "
    "its posterior through the composition by the default propagation, not by the bound of Algorithm 3.",
}


def plan(name: str, settings: Settings) -> Scenario:
    """A scenario of the catalogue with the paper's agents, shortened as the settings say."""
    declared = catalogue.load(name)
    samples = settings.samples if declared.prior.source == "samples" else None
    found = catalogue.load(
        name,
        {
            "agents": AGENTS,
            "seed": settings.seed,
            "trials": settings.trials,
            "rounds": settings.rounds,
            "samples": samples,
        },
    )
    if name != "weather":
        return found
    # The published figures are of all stations, also of those that the quality control leaves out, and of
    # kernels that are frozen.
    options = {**found.environment.options, "quality": "off"}
    environment = found.environment.model_copy(update={"options": options})
    prior = found.prior.model_copy(update={"goes_on": False})
    return found.model_copy(update={"environment": environment, "prior": prior})


def run_panel(name: str, settings: Settings, path: Path, *, jobs: int, progress: Progress) -> Study:
    """Run the scenario of a panel, or go on with it where it was stopped."""
    return run(plan(name, settings), out=path, jobs=jobs, resume=True, progress=progress)


def bounds_of(found: Study) -> tuple[Bounds, str]:
    """The theory's bounds for a study, and if there are none, a line that says why."""
    try:
        return study_bounds(found), ""
    except UserError as error:
        return {}, str(error).removeprefix(f"{found.path}: ")


def cumulative(
    found: Study, bounds: Bounds, missing: str = ""
) -> tuple[Figure, pd.DataFrame, list[Claim], list[str]]:
    """A panel of figure 3, its numbers, its claims and what the report says about it.

    `bounds` are drawn unless empty; `missing` says why there are none, where they were asked for.
    """
    totals = {label: table.sum(axis=1) for label, table in _regret(found).items()}
    trials = len(totals[OURS])
    claims = []
    for other, words in ((THEIRS, "GP-UCB's"), ("ei", "EI's"), ("mpi", "MPI's")):
        size = CLAIMED[0] if other == THEIRS else None
        claim = (
            f"Cumulative regret of D-GPUCB is {CLAIMED[0]:.0f}-{CLAIMED[1]:.0f} % below {words}"
            if size is not None
            else f"Cumulative regret of D-GPUCB is below {words}"
        )
        claims.append(
            Claim(
                claim=claim,
                measured=f"paired difference in percent of {words} mean, {found.scenario.rounds} rounds, "
                f"{trials} trials",
                unit="%",
                size=size,
                **paired_gain(totals[OURS], totals[other], most=ALL_OF_IT),
            )
        )
    unit = found.environment.objective_unit
    notes = [ABOUT.get(found.scenario.name, found.scenario.title)]
    means = [f"{label} {_with_interval(totals[label])}" for label in found.scenario.labels]
    notes.append(f"Cumulative regret after {found.scenario.rounds} rounds, in {unit}: {'; '.join(means)}.")
    wins = int((totals[THEIRS] - totals[OURS] > 0).sum())
    notes.append(f"D-GPUCB has less regret than GP-UCB in {wins} of {trials} trials.")
    for label, bound in bounds.items():
        share = bound[-1] / totals[label].mean()
        notes.append(
            f"The theory's bound for {label} at the end is {significant(float(bound[-1]))} {unit}: "
            f"{share:.0f} times the regret it had (it speaks of beta_t that is not scaled down)."
        )
    if missing:
        notes.append(missing[0].upper() + missing[1:] + ".")
    ends = [table.mean() for table in totals.values()]
    figure = _drawn(found, False, bounds, log=max(ends) > _APART * min(ends))
    numbers = _numbers(found, False)
    for label, bound in bounds.items():
        numbers.loc[numbers["agent"] == label, "bound"] = bound
    return figure, numbers, claims, notes


def average(found: Study) -> tuple[Figure, pd.DataFrame, list[Claim], list[str]]:
    """A panel of figure 4, its numbers, its claim and what the report says about it."""
    rounds = found.scenario.rounds
    half = max(1, rounds // 2)
    regret = _regret(found)
    own = regret[OURS]
    at_end, at_half = own.sum(axis=1) / rounds, own.loc[:, :half].sum(axis=1) / half
    claim = Claim(
        claim="Average regret of D-GPUCB tends to zero",
        measured=f"fall of its average regret from round {half} to round {rounds} "
        f"({100 * (1 - half / rounds):.0f} %: no regret was added), {len(own)} trials",
        unit="%",
        **paired_gain(at_end, at_half, most=ALL_OF_IT),
    )
    unit = found.environment.objective_unit
    lines = []
    for label, mine in regret.items():
        last = mine.loc[:, rounds - rounds // 10 :].mean(axis=1)
        lines.append(
            f"{label} {_with_interval(mine.sum(axis=1) / rounds)}, "
            f"and {significant(float(last.mean()), 3)} in the last tenth of them"
        )
    notes = [f"Average regret a round over {rounds} rounds, in {unit}: {'; '.join(lines)}."]
    return _drawn(found, True, {}), _numbers(found, True), [claim], notes


def _regret(found: Study) -> dict[str, pd.DataFrame]:
    """By agent the regret of its complete trials, a row a trial and a column a round."""
    frame = found.to_dataframe()
    tables = {
        label: frame[frame["agent"] == label].pivot(index="trial", columns="round", values="regret").dropna()
        for label in found.scenario.labels
    }
    if any(table.empty or table.shape[1] != found.scenario.rounds for table in tables.values()):
        raise UserError(f"{found.path}: an agent has no complete trial with known regret")
    return tables


def _drawn(found: Study, averaged: bool, bounds: Bounds, *, log: bool = False) -> Figure:
    figure = regret_figure(found, "regret", averaged, bounds, log=log)
    if figure is None:
        raise UserError(f"{found.path}: holds no complete round yet, there is nothing to draw")
    return figure


def _numbers(found: Study, averaged: bool) -> pd.DataFrame:
    name = "average_regret" if averaged else "cumulative_regret"
    tables = [
        pd.DataFrame(
            {
                "agent": label,
                "round": curve.rounds.astype(int),
                name: curve.mean,
                "low": curve.low,
                "high": curve.high,
                "trials": curve.trials,
            }
        )
        for label, curve in curves(found, "regret", averaged).items()
    ]
    return pd.concat(tables, ignore_index=True)


def _with_interval(values: pd.Series) -> str:
    found = mean_interval(values, POSITIVE)
    return f"{significant(found['mean'])} {between(found['low'], found['high'])}".rstrip()
