"""The figures of a report that no other command draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from policyloop.plain_text import for_figure
from scenarios.figures.drawing import LineStyle, columns, new_figure
from scenarios.questions.estimate import Estimate
from scenarios.reporting.language import Language

BEFORE, AFTER, BAND = "#8A949E", "#0072B2", "#4A9BD1"
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8B6914", "#7F7F7F", "#6A5ACD")
"""Okabe and Ito's, each to be told from light and dark paper."""
WIDTH = 7.6
_LONGEST = 26

Array = NDArray[np.float64]


def bars(
    names: Sequence[str],
    before: Sequence[Estimate] | None,
    after: Sequence[Estimate],
    series: Sequence[str],
    unit: str,
    words: Language,
) -> Figure:
    """A bar a group before and after, each with its interval and its value."""
    many = len(names)
    figure = new_figure(WIDTH, 0.9 + many * (0.56 if before is not None else 0.36))
    axes = figure.add_subplot()
    places = np.arange(many, dtype=float)
    rows = [(after, AFTER, series[-1], 0.2 if before is not None else 0.0)]
    if before is not None:
        rows.insert(0, (before, BEFORE, series[0], -0.2))
    height = 0.36 if before is not None else 0.6
    for values, colour, name, shift in rows:
        means = np.array([one.mean for one in values])
        ends = np.array([[one.mean - one.low, one.high - one.mean] for one in values]).T
        # Where no noise is left there is no interval to draw.
        error = {"ecolor": "#000000", "elinewidth": 0.9, "capsize": 2.5 if np.nan_to_num(ends).any() else 0}
        axes.barh(
            places + shift,
            means,
            height,
            color=colour,
            xerr=np.nan_to_num(ends).clip(0),
            error_kw=error,
            label=for_figure(name),
        )
        for place, one in zip(places + shift, values, strict=True):
            end = one.high if math.isfinite(one.high) else one.mean
            axes.annotate(
                words.number(one.mean),
                (max(end, 0.0), place),
                (5, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
            )
    axes.set_yticks(places, [for_figure(name, _LONGEST) for name in names])
    axes.set_ylim(many - 0.45, -0.55)
    axes.margins(x=0.12)
    axes.axvline(0, color="#000000", linewidth=0.8)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(for_figure(unit))
    if before is not None:
        figure.legend(loc="outside upper left", ncols=2)
    return figure


def reaches(
    names: Sequence[str],
    ends: Sequence[tuple[float, float]],
    within: Sequence[tuple[float, float]],
    chosen: Sequence[float],
    dots: Sequence[Sequence[float]],
    units: Sequence[str],
) -> Figure:
    """How far levers may move: a panel a unit, a band a lever, dots for every trial's recommendation."""
    panels: dict[str, list[int]] = {}
    for i, unit in enumerate(units):
        panels.setdefault(unit, []).append(i)
    shares = [len(rows) + 0.9 for rows in panels.values()]
    figure = new_figure(WIDTH, 0.5 + 0.46 * sum(shares))
    grid = figure.add_gridspec(len(panels), 1, height_ratios=shares)
    for place, (unit, rows) in enumerate(panels.items()):
        axes = figure.add_subplot(grid[place])
        at = np.arange(len(rows))
        for y, i in zip(at, rows, strict=True):
            axes.plot(within[i], (y, y), color="#A9B2BB", linewidth=1.2, zorder=1)
            low, high = ends[i]
            axes.plot((low, high), (y, y), color=BAND, linewidth=9, solid_capstyle="butt", zorder=2)
            axes.plot(dots[i], np.full(len(dots[i]), y + 0.28), "o", color="#D55E00", markersize=3, zorder=3)
            axes.plot((chosen[i],) * 2, (y - 0.24, y + 0.24), color="#000000", linewidth=2.2, zorder=4)
        axes.set_yticks(at, [for_figure(names[i], _LONGEST) for i in rows])
        axes.set_ylim(len(rows) - 0.45, -0.55)
        axes.set_xlabel(for_figure(unit) if unit else "")
        axes.grid(axis="y", visible=False)
    return figure


def courses(
    curves: Mapping[str, tuple[Array, Array]], groups: Sequence[str], labels: Sequence[str]
) -> Figure:
    """Curves of groups by day, a panel a policy on one scale; of each (days (m,), values (m, J))."""
    figure = new_figure(WIDTH, 3.5)
    panels = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    last = 0.0
    for days, values in curves.values():
        busy = np.flatnonzero(values.sum(axis=1) > 0.002 * values.sum(axis=1).max())
        last = max(last, float(days[busy[-1]]) if len(busy) else float(days[-1]))
    for axes, (name, (days, values)) in zip(panels, curves.items(), strict=True):
        for j, group in enumerate(groups):
            axes.plot(
                days, values[:, j], color=COLOURS[j % len(COLOURS)], linewidth=1.6, label=for_figure(group)
            )
        axes.set_title(for_figure(name, 44), fontsize=10, loc="left")
        axes.set_xlabel(labels[0])
        axes.set_xlim(0, last)
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel(labels[1])
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=columns(names, 9))
    return figure


def best_so_far(
    curves: Mapping[str, Array],
    looks: Mapping[str, tuple[str, LineStyle]],
    label: str,
    words: Language,
    optimum: float | None,
) -> Figure:
    """The best value reached until each round (trials, T), its mean and its range over trials, by agent."""
    figure = new_figure(WIDTH, 3.4)
    axes = figure.add_subplot()
    for name, values in curves.items():
        colour, line = looks[name]
        rounds = np.arange(1, values.shape[1] + 1)
        axes.plot(
            rounds, values.mean(axis=0), color=colour, linestyle=line, linewidth=1.8, label=for_figure(name)
        )
        if len(values) > 1:
            axes.fill_between(
                rounds, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.12, linewidth=0
            )
    if optimum is not None:
        axes.axhline(
            optimum,
            color="#000000",
            linewidth=0.9,
            linestyle=(0, (2, 2)),
            label=words.say("learning.optimum"),
        )
    axes.set_xlabel(words.say("learning.round"))
    axes.set_ylabel(for_figure(label))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(x=0)
    figure.legend(loc="outside lower center", ncols=columns(axes.get_legend_handles_labels()[1], 5))
    return figure
