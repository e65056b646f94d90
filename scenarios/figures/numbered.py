"""A few stations numbered on a map, and what the numbers mean, for its legend."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from optimizer.arrays import Array
from policyloop.plain_text import for_figure

LONGEST = 52
"""Letters of a station's name."""


def numbered(axes: Axes, lon: Array, lat: Array, names: Sequence[str], values: Sequence[str]) -> list[Line2D]:
    """Write 1, 2, .. beside places; entries of a legend "1 name: value"."""
    entries = []
    for number, (x, y, name, value) in enumerate(zip(lon, lat, names, values, strict=True), start=1):
        axes.annotate(
            str(number),
            (float(x), float(y)),
            (5, 3) if number % 2 else (-9, -9),
            textcoords="offset points",
            fontsize=8,
            weight="bold",
            zorder=7,
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )
        text = f"{for_figure(name, LONGEST)}: {for_figure(value)}"
        mark = Line2D([], [], marker=f"${number}$", color="black", linestyle="none", markersize=5, label=text)
        mark.set_markeredgewidth(0.1)
        entries.append(mark)
    return entries
