"""Axes as a map: its extent, its proportions, its coasts and borders."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from scenarios.figures.outline import BORDER, COAST, STATE, Box, outline

STYLES: dict[int, dict[str, Any]] = {
    COAST: {"color": "#4D4D4D", "linewidth": 0.7},
    BORDER: {"color": "#6E6E6E", "linewidth": 0.7, "linestyle": (0, (4, 1.5))},
    STATE: {"color": "#9A9A9A", "linewidth": 0.4},
}


def draw_frame(axes: Axes, box: Box) -> None:
    """Make axes a map of a box in its true proportions, with its coasts and borders."""
    for kind, lines in outline(box).items():
        axes.add_collection(LineCollection(lines, zorder=2.5, **STYLES[kind]), autolim=False)
    axes.set(aspect=box.aspect, xlim=(box.west, box.east), ylim=(box.south, box.north))
    axes.grid(False)
