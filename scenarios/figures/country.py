"""A country's contacts as a map of colours, and its persons as bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from policyloop.plain_text import for_figure
from scenarios.errors import UserError
from scenarios.figures.drawing import FORMATS, STYLE, new_figure, save_as
from scenarios.numbers import significant
from simulators.country import Country

_LONGEST = 24  # characters of a label
_MOST = 30  # labels on an axis
_NUMBERED = 10  # groups, up to which the contacts stand in the cells


def format_of(target: Path) -> str:
    """The format that the name of a figure's file ends with; UserError for another than PNG and SVG."""
    kind = target.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise UserError(f"{target}: its name must end with {' or '.join(f'.{one}' for one in FORMATS)}")
    return kind


def draw(country: Country, target: Path) -> None:
    """Write a country's figure, in the format that the file's name ends with."""
    kind = format_of(target)
    with matplotlib.rc_context(STYLE):
        save_as(country_figure(country), target, kind)


def country_figure(country: Country) -> Figure:
    """Contacts a day of one person of the row with persons of the column, and persons by group."""
    J = len(country.groups)
    names = [for_figure(name, _LONGEST) for name in country.groups]
    figure = new_figure(11.0, 5.6)
    axes: Any = figure.subplots(1, 2, width_ratios=(1.7, 1.0))
    left, right = axes
    image = left.imshow(country.contacts, cmap="viridis", vmin=0.0, aspect="equal")
    left.set_xlabel("met")
    left.set_ylabel("who reports")
    left.set_title(f"contacts of one person, mean {_mean(country):.3g} a day", fontsize=10, loc="left")
    left.grid(visible=False)
    shown = _shown(J)
    slanted = max(map(len, names)) > 5 or J > 12
    left.set_xticks(shown, [names[j] for j in shown], rotation=90 if slanted else 0, fontsize=8)
    left.set_yticks(shown, [names[j] for j in shown], fontsize=8)
    if J <= _NUMBERED:
        bright = country.contacts > 0.6 * country.contacts.max()
        for i, j in np.ndindex(J, J):
            ink = "black" if bright[i, j] else "white"
            left.text(
                j,
                i,
                significant(float(country.contacts[i, j]), 2),
                ha="center",
                va="center",
                color=ink,
                fontsize=8,
            )
    figure.colorbar(image, ax=left, shrink=0.85, label="contacts a day")
    right.barh(np.arange(J), country.persons, color="#0072B2", height=0.85)
    right.set_yticks(shown, [names[j] for j in shown], fontsize=8)
    right.set_ylim(J - 0.5, -0.5)
    right.set_xlabel("persons")
    right.xaxis.set_major_formatter(EngFormatter(sep=""))
    right.xaxis.set_major_locator(MaxNLocator(5))
    right.grid(axis="y", visible=False)
    right.set_title(f"{country.persons.sum():,.0f} persons", fontsize=10, loc="left")
    return figure


def _mean(country: Country) -> float:
    return float(country.persons @ country.contacts.sum(axis=1) / country.persons.sum())


def _shown(J: int) -> Sequence[int]:
    """The groups whose names have room on an axis."""
    return range(0, J, -(-J // _MOST))
