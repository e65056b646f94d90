"""Cumulative and average regret, drawn."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from policyloop.plain_text import for_figure
from scenarios.figures.drawing import Bounds, columns, looks, new_figure
from scenarios.results.intervals import FEWEST
from scenarios.results.statistics import curves
from scenarios.study.study import Study

FLAT = 6.0
"""How many times the best agent's regret the worst one's is where a linear axis presses the best flat."""


def regret_figure(
    study: Study, measure: str, average: bool, bounds: Bounds | None = None, *, log: bool | None = None
) -> Figure | None:
    """Draw the mean over trials with its 95 % band, round by round (the paper's figures 3 and 4).

    None where no round is complete.

    Parameters
    ----------
    study : Study
    measure : {"regret", "objective"}
    average : bool
        Divide by the round.
    bounds : mapping, optional
        By agent, what the theory says that its cumulative regret stays below, (T,). Bounds are loose: the
        axis is logarithmic then.
    log : bool, optional
        Whether the axis is logarithmic; left out, it is where one agent's regret would press all others flat.
    """
    found = curves(study, measure, average)
    if not found:
        return None
    figure = new_figure(6.4, 4.2)
    axes = figure.add_subplot()
    look = looks(study)
    trials = max(curve.trials for curve in found.values())
    top = 0.0
    for label, curve in found.items():
        colour, line = look[label]
        axes.plot(
            curve.rounds, curve.mean, color=colour, linestyle=line, linewidth=1.8, label=for_figure(label)
        )
        if curve.trials >= FEWEST:
            axes.fill_between(curve.rounds, curve.low, curve.high, color=colour, alpha=0.13, linewidth=0)
            top = max(top, float(curve.high.max()))
    unit = for_figure(study.environment.objective_unit)
    kind = "Average" if average else "Cumulative"
    axes.set_xlabel("round")
    axes.set_ylabel(f"{kind.lower()} {measure}" + (f" ({unit})" if unit else ""))
    band = f"mean and 95 % band over {trials} trials" if trials > 1 else "one trial"
    if 1 < trials < FEWEST:
        band = f"mean over {trials} trials, too few for a band"
    axes.set_title(f"{study.scenario.name}: {kind.lower()} {measure}, {band}", fontsize=10, loc="left")
    axes.set_xlim(1, study.scenario.rounds if study.scenario.rounds > 1 else 1.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for label, bound in (bounds or {}).items():
        colour = look[label][0]
        axes.plot(
            np.arange(1, len(bound) + 1),
            bound,
            color=colour,
            linestyle=(0, (1, 2)),
            label=f"bound of {for_figure(label)}",
        )
    if log is None:
        ends = [float(curve.mean[-1]) for curve in found.values()]
        log = measure == "regret" and max(ends) > FLAT * min(ends) > 0
    if log or bounds:
        axes.set_yscale("log")
        if not bounds:
            lowest = min(float(curve.mean[curve.mean > 0].min()) for curve in found.values())
            axes.set_ylim(bottom=0.7 * lowest)
    elif measure == "regret":
        # Bands of few trials can dwarf the curves: they may leave the frame.
        tallest = max(float(curve.mean.max()) for curve in found.values())
        axes.set_ylim(0, 1.04 * max(tallest, min(top, 1.6 * tallest)) or None)
    figure.legend(
        loc="outside lower center",
        ncols=columns(axes.get_legend_handles_labels()[1], 5),
        handlelength=2.6,
        columnspacing=1.6,
    )
    return figure
