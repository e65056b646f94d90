"""Trade-offs, drawn: the frontier with its credible bands, the knee, and the policies that were simulated."""

from __future__ import annotations

import itertools
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from policyloop.plain_text import for_figure
from scenarios.figures.drawing import STYLE, new_figure, save
from scenarios.questions.frontier import Frontier, FrontierPoint

_FRONTIER, _SIMULATED, _KNEE = "#0072B2", "#7F7F7F", "#D55E00"


def draw(frontier: Frontier, path: Path) -> list[Path]:
    """Draw a frontier, and write it."""
    with matplotlib.rc_context(STYLE):
        return save(frontier_figure(frontier), path)


def frontier_figure(frontier: Frontier) -> Figure:
    """A panel for every pair of a frontier's objectives."""
    pairs = list(itertools.combinations(range(len(frontier.objectives)), 2))
    leading = [one for one in frontier.points if one.on_frontier]
    others = [one for one in frontier.points if not one.on_frontier]
    figure = new_figure(4.6 * len(pairs), 3.8)
    for place, (a, b) in enumerate(pairs):
        axes = figure.add_subplot(1, len(pairs), place + 1)
        x, y = _values(leading, frontier, a), _values(leading, frontier, b)
        errors = {"xerr": np.abs(x[1:] - x[0]), "yerr": np.abs(y[1:] - y[0])}
        style = "o-" if len(pairs) == 1 else "o"
        axes.errorbar(
            x[0],
            y[0],
            **errors,
            fmt=style,
            color=_FRONTIER,
            markersize=4,
            elinewidth=0.7,
            label="frontier",
        )
        if others:
            seen_x, seen_y = _values(others, frontier, a)[0], _values(others, frontier, b)[0]
            axes.scatter(seen_x, seen_y, color=_SIMULATED, s=10, label="other policies simulated")
        for one in leading:
            if one.knee:
                at_x, at_y = (_values([one], frontier, k)[0] for k in (a, b))
                axes.scatter(at_x, at_y, color=_KNEE, marker="D", s=50, zorder=3, label="knee")
        axes.set_xlim(_around(x))
        axes.set_ylim(_around(y))
        axes.set_xlabel(_label(frontier, a))
        axes.set_ylabel(_label(frontier, b))
        if place == 0:
            axes.legend()
    return figure


def _values(
    points: list[FrontierPoint], frontier: Frontier, k: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Mean, low and high of an objective, (3, n)."""
    found = [one.objectives[frontier.objectives[k]] for one in points]
    return np.array([[one.mean for one in found], [one.low for one in found], [one.high for one in found]])


def _around(values: NDArray[np.float64]) -> tuple[float, float]:
    """Ends of an axis on which the frontier fills the middle half: what lies far from it is left out."""
    low, high = float(values.min()), float(values.max())
    room = 0.5 * (high - low) or 0.05 * abs(low) or 1.0
    return low - room, high + room


def _label(frontier: Frontier, k: int) -> str:
    better = "less" if frontier.senses[k] == "minimize" else "more"
    unit = f", {frontier.units[k]}" if frontier.units[k] else ""
    return f"{for_figure(f'{frontier.objectives[k]}{unit}')}\n({better} is better)"
