"""Small tables of towns as bars: households, schools, workplaces, and who works at which age."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, PercentFormatter

from scenarios.figures.country import format_of
from scenarios.figures.drawing import STYLE, new_figure, save_as
from simulators.country.town_tables import TownTables

_BLUE, _ORANGE = "#0072B2", "#D55E00"


def draw_town(town: TownTables, target: Path) -> None:
    """Write the figure of a town's tables, in the format that the file's name ends with."""
    kind = format_of(target)
    with matplotlib.rc_context(STYLE):
        save_as(town_figure(town), target, kind)


def town_figure(town: TownTables) -> Figure:
    """A panel for each table that there is."""
    drawn: list[tuple[Any, Callable[[Any, Any], None]]] = [
        (town.households, _households),
        (town.schools, _schools),
        (town.workplaces, _workplaces),
        (town.employment, _employment),
        (town.persons, _persons),
    ]
    panels = [(table, panel) for table, panel in drawn if table is not None]
    columns = min(len(panels), 2)
    rows = -(-len(panels) // columns)
    figure = new_figure(5.5 * columns, 3.4 * rows)
    axes = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for one, (table, panel) in zip(axes, panels, strict=False):
        panel(one, table)
        one.grid(axis="x", visible=False)
    for one in axes[len(panels) :]:
        one.set_visible(False)
    return figure


def _bars(axes: Any, names: list[str], values: Any, title: str, x: str, y: str, **options: Any) -> None:
    places = np.arange(len(names))
    axes.bar(places, values, color=_BLUE, width=0.75, **options)
    axes.set_xticks(places, names, rotation=90 if max(map(len, names)) > 7 else 0, fontsize=8)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10, loc="left")


def _households(axes: Any, shares: Any) -> None:
    mean = float(shares @ np.arange(1, len(shares) + 1))
    names = [str(size) for size in range(1, len(shares) + 1)]
    _bars(axes, names, shares, f"households, mean {mean:.3g} persons", "persons", "share of households")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _schools(axes: Any, schools: Any) -> None:
    names = [str(one.ages) for one in schools]
    values = [one.class_size or 0 for one in schools]
    _bars(axes, names, values, "schools", "ages", "pupils in a class")
    for place, one in enumerate(schools):
        parts = [f"school of {one.school_size}" if one.school_size else ""]
        parts.append(f"{one.enrolled:.0%} go" if one.enrolled is not None else "")
        text = "\n".join(part for part in parts if part)
        axes.annotate(text, (place, values[place]), ha="center", va="bottom", fontsize=7)
    axes.set_ylim(0, max(1.25 * max(values), 1))


def _workplaces(axes: Any, workplaces: Any) -> None:
    by_number = workplaces[0].number is not None
    values = [one.number if by_number else one.persons for one in workplaces]
    names = [str(one.sizes) for one in workplaces]
    what = "workplaces" if by_number else "persons who work there"
    _bars(axes, names, values, "workplaces by size", "persons", what)
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))


def _employment(axes: Any, employment: Any) -> None:
    names = [str(one.ages) for one in employment]
    out = [one.employed * one.commuting for one in employment]
    home = [one.employed - going for one, going in zip(employment, out, strict=True)]
    _bars(axes, names, out, "who works", "ages", "share of the age", label="at a workplace")
    if any(share > 0 for share in home):
        axes.bar(np.arange(len(names)), home, bottom=out, color=_ORANGE, width=0.75, label="at home")
        axes.legend(fontsize=8)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _persons(axes: Any, ages: Any) -> None:
    years = [min(band.high, max(band.low + 4, 89)) - band.low + 1 for band in ages.bands]
    lows = [band.low for band in ages.bands]
    axes.bar(lows, ages.persons / np.array(years), width=years, align="edge", color=_BLUE, edgecolor="white")
    axes.set_xlabel("age")
    axes.set_ylabel("persons a year of age")
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_title(f"{ages.persons.sum():,.0f} persons", fontsize=10, loc="left")
