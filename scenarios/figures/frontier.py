"""Trade-offs, drawn: the frontier with its credible bands, the knee, and the policies that were simulated."""

from __future__ import annotations

import itertools
import textwrap
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from policyloop.plain_text import for_figure
from scenarios.figures.drawing import STYLE, new_figure, save
from scenarios.questions.frontier import Frontier, FrontierPoint

_FRONTIER, _SIMULATED, _KNEE, _PALE = "#0072B2", "#7F7F7F", "#D55E00", "#9CC7E3"
_FEW, _ROOM = 6, 0.6
"""Intervals drawn where they are wide; how far an axis goes beyond the means, as a share of their range."""
_LINE = 36
"""Letters in a line beside an axis."""

Values = NDArray[np.float64]
"""Means, lower and upper ends (3, n)."""


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
    panels = figure.subplots(1, len(pairs), squeeze=False)[0]
    for axes, (a, b) in zip(panels, pairs, strict=True):
        x, y = _values(leading, frontier, a), _values(leading, frontier, b)
        _errors(axes, x, y)
        style = "o-" if len(pairs) == 1 else "o"
        axes.plot(x[0], y[0], style, color=_FRONTIER, markersize=5, linewidth=1.4, zorder=3, label="frontier")
        if others:
            seen_x, seen_y = _values(others, frontier, a)[0], _values(others, frontier, b)[0]
            axes.scatter(seen_x, seen_y, color=_SIMULATED, s=10, zorder=2, label="other policies simulated")
        for one in leading:
            if one.knee:
                at_x, at_y = (_values([one], frontier, k)[0] for k in (a, b))
                axes.scatter(at_x, at_y, color=_KNEE, marker="D", s=55, zorder=4, label="knee")
        axes.set_xlabel(_label(frontier, a))
        axes.set_ylabel(_label(frontier, b))
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=2)
    return figure


def _values(points: list[FrontierPoint], frontier: Frontier, k: int) -> Values:
    found = [one.objectives[frontier.objectives[k]] for one in points]
    return np.array([[one.mean for one in found], [one.low for one in found], [one.high for one in found]])


def _errors(axes: Axes, x: Values, y: Values) -> None:
    """The axes by the means, and pale intervals behind; one that ends outside has an arrow there.

    Where intervals are wide beside the frontier, all of them would hide it: a few, evenly spread, are drawn.
    """
    limits = [_around(values) for values in (x, y)]
    wide = any(float((v[2] - v[1]).max()) > high - low for v, (low, high) in zip((x, y), limits, strict=True))
    many = x.shape[1]
    shown = np.unique(np.linspace(0, many - 1, min(many, _FEW if wide else many)).round().astype(int))
    at = x[:, shown], y[:, shown]
    ends = {"xerr": np.abs(at[0][1:] - at[0][0]), "yerr": np.abs(at[1][1:] - at[1][0])}
    label = "95 % credible" if len(shown) == many else "95 % credible, of some"
    axes.errorbar(at[0][0], at[1][0], **ends, fmt="none", ecolor=_PALE, elinewidth=1.4, zorder=1, label=label)
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])
    for values, (low, high), other, signs, across in (
        (at[0], limits[0], at[1][0], "<>", True),
        (at[1], limits[1], at[0][0], "v^", False),
    ):
        for sign, beyond, end in zip(signs, (values[1] < low, values[2] > high), (low, high), strict=True):
            if not beyond.any():
                continue
            here = np.full(int(beyond.sum()), end)
            place = (here, other[beyond]) if across else (other[beyond], here)
            axes.plot(*place, sign, color=_PALE, markersize=5, clip_on=False, zorder=1)


def _around(values: Values) -> tuple[float, float]:
    """Ends of an axis: the means, and room for their intervals, but no more than the means take."""
    low, high = float(values[0].min()), float(values[0].max())
    span = (high - low) or float(values[2].max() - values[1].min()) or 0.05 * abs(low) or 1.0
    first, last = (
        max(float(values[1].min()), low - _ROOM * span),
        min(float(values[2].max()), high + _ROOM * span),
    )
    edge = 0.06 * (last - first) or 0.5 * span
    return first - edge, last + edge


def _label(frontier: Frontier, k: int) -> str:
    better = "less" if frontier.senses[k] == "minimize" else "more"
    unit = f", {frontier.units[k]}" if frontier.units[k] else ""
    name = "\n".join(textwrap.wrap(for_figure(f"{frontier.objectives[k]}{unit}"), _LINE))
    return f"{name}\n({better} is better)"
