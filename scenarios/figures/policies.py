"""The recommended policies, drawn: a panel for entries of one kind and unit, one for each category."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from policyloop.plain_text import for_figure
from scenarios.figures.drawing import columns, looks, new_figure
from scenarios.results.statistics import complete_advice, typical_advice
from scenarios.study.facts import Facts
from scenarios.study.levers import shown
from scenarios.study.records import Advice
from scenarios.study.study import Study
from simulators.contract.levers import OneOf, Whole

_OPTIMUM: Any = {"color": "white", "edgecolor": "black", "hatch": "///", "linewidth": 0.8}
_MIDDLE: Any = {"ha": "center", "va": "bottom"}
_GROUP = 0.84  # of the space of an entry, what its bars fill
_LONGEST = 24  # characters of a name below an axis
_ROW = 10  # places that a row of panels has room for


@dataclass(frozen=True)
class _Panel:
    """Entries that can share an axis: a category alone, numbers of one kind and unit together."""

    entries: list[int]
    whole: bool
    names: tuple[str, ...]  # of the category; none of numbers
    unit: str

    @property
    def places(self) -> int:
        return len(self.names or self.entries)


def policy_figure(study: Study) -> Figure | None:
    """Draw each agent's recommended policy, with the true optimum beside it.

    Of numbers, bars show the median trial's, and dots those of all complete trials; of categories, bars show
    in what share of the complete trials an agent recommended each.
    """
    typical = {spec.label: typical_advice(study, spec.label) for spec in study.scenario.agents}
    bars = {label: one for label, one in typical.items() if one is not None}
    if not bars:
        return None
    shared = study.optimum(1) if not study.scenario.environment.new_world_each_trial else None
    optimum = None if shared is None else shared.policy
    panels = _panels(study.environment)
    rows = list(_in_rows(panels))
    width = max(sum(1.3 * panel.places + 1.5 for panel in row) for row in rows)
    figure = new_figure(max(6.4, width), 4.2 if len(rows) == 1 else 3.4 * len(rows) + 0.6)
    grid = figure.add_gridspec(len(rows), 1)
    for i, row in enumerate(rows):
        line = grid[i].subgridspec(1, len(row), width_ratios=[panel.places + 0.6 for panel in row])
        for k, panel in enumerate(row):
            _draw(figure.add_subplot(line[k]), panel, study, bars, optimum, alone=len(panels) == 1)
    trials = max(len(complete_advice(study, label)) for label in bars)
    which = f"median of {trials} trials, dots are all" if trials > 1 else "one trial"
    if all(panel.names for panel in panels):
        which = f"{trials} trial{'s' if trials > 1 else ''}"
    figure.suptitle(
        f"{study.scenario.name}: recommended policy after {study.scenario.rounds} rounds, {which}",
        fontsize=10,
        x=0.01,
        ha="left",
    )
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside lower center",
        ncols=columns(names, 7),
        handlelength=1.4,
        columnspacing=1.4,
    )
    return figure


def _panels(facts: Facts) -> list[_Panel]:
    """The panels of a study, in the order of its entries."""
    found: dict[Any, _Panel] = {}
    for i, (lever, unit) in enumerate(zip(facts.kinds, facts.units, strict=True)):
        if isinstance(lever, OneOf):
            found[i] = _Panel([i], False, lever.names, unit)
            continue
        whole = isinstance(lever, Whole)
        found.setdefault((whole, unit), _Panel([], whole, (), unit)).entries.append(i)
    return list(found.values())


def _in_rows(panels: list[_Panel]) -> Iterator[list[_Panel]]:
    """The panels in rows, each with as many as it has room for."""
    row: list[_Panel] = []
    for panel in panels:
        if row and sum(one.places for one in [*row, panel]) > _ROW:
            yield row
            row = []
        row.append(panel)
    yield row


def _draw(
    axes: Axes,
    panel: _Panel,
    study: Study,
    bars: dict[str, Advice],
    optimum: list[float] | None,
    *,
    alone: bool,
) -> None:
    width = _GROUP / (len(bars) + (optimum is not None))
    places = np.arange(panel.places)
    left = places - _GROUP / 2
    if optimum is not None:
        entries = [optimum[i] for i in panel.entries]
        height = _shares([entries[0]], panel) if panel.names else np.array(entries)
        axes.bar(left + width / 2, height, width, label="true optimum", **_OPTIMUM)
    offset = int(optimum is not None)
    for index, (label, typical) in enumerate(bars.items()):
        middle = left + (index + offset + 0.5) * width
        trials = np.array([one.policy for one in complete_advice(study, label)])[:, panel.entries]
        height = _shares(trials[:, 0], panel) if panel.names else np.array(typical.policy)[panel.entries]
        axes.bar(middle, height, width * 0.92, color=looks(study)[label][0], label=for_figure(label))
        tops = height
        if not panel.names:  # a bar of height zero is seen by its dots alone
            axes.plot(middle, trials.T, "o", markersize=3, markerfacecolor="white", markeredgecolor="black")
            tops = np.maximum(height, trials.max(axis=0))
        _say_values(axes, middle, tops, height, panel)
    facts = study.environment
    unit = f" ({for_figure(panel.unit)})" if panel.unit else ""
    labels = [for_figure(name, _LONGEST) for name in panel.names or [facts.labels[i] for i in panel.entries]]
    many = sum(map(len, labels)) > 12 * len(labels) or max(map(len, labels)) > 14
    axes.set_xticks(places, labels, rotation=30 if many else 0, ha="right" if many else "center")
    if panel.names:
        axes.set_xlabel(f"recommended {for_figure(facts.labels[panel.entries[0]])}{unit}")
        axes.set_ylabel("share of trials")
        axes.set_ylim(0, 1.18)
        axes.set_yticks(np.arange(0, 1.1, 0.2))
        axes.yaxis.set_major_formatter(PercentFormatter(1))
    else:
        axes.set_ylabel(f"{'recommended policy' if alone else 'recommended'}{unit}")
        if panel.whole:
            axes.yaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.grid(axis="x", visible=False)


def _say_values(axes: Axes, middle: Any, tops: Any, values: Any, panel: _Panel) -> None:
    """Write every bar's value above it and its dots: a bar of height zero is seen, too."""
    for x, top, value in zip(middle, tops, values, strict=True):
        text = f"{value:.0%}" if panel.names else shown(round(value) if panel.whole else float(value))
        axes.annotate(
            text, (x, max(top, 0.0)), (0, 4), textcoords="offset points", rotation=90, fontsize=7, **_MIDDLE
        )
    axes.margins(y=0.18)


def _shares(chosen: Any, panel: _Panel) -> NDArray[np.float64]:
    """What share of some choices of a category each of its names has."""
    counts = np.bincount(np.rint(chosen).astype(int), minlength=len(panel.names))
    return np.asarray(counts / counts.sum(), dtype=np.float64)
