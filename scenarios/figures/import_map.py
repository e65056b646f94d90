"""The map of an import: the stations by their temperature, and those that the quality control found wrong."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optimizer.arrays import Array
from policyloop.plain_text import for_figure
from scenarios.figures.drawing import new_figure
from scenarios.figures.unwrapping import unwrapped_as
from simulators.stations import ImportReport, Stations

FLAGGED = "#CC0000"


def import_map(stations: Stations, report: ImportReport) -> Figure:
    """Draw the stations that are kept, and with crosses those that are left out."""
    aspect = 1.0 / np.cos(np.radians(np.clip(stations.lat.mean(), -80.0, 80.0)))
    figure = new_figure(9.0, 6.5)
    axes: Axes = figure.subplots()
    lon = unwrapped_as(stations.lon, stations.lon)
    points = axes.scatter(lon, stations.lat, c=stations.temperature, s=12, cmap="inferno", linewidths=0)
    figure.colorbar(points, ax=axes, shrink=0.8, label="temperature (K)")
    draw_left_out(axes, report.left_out, stations.lon)
    axes.set(aspect=aspect, xlabel="longitude (degrees)", ylabel="latitude (degrees)")
    axes.set_title(for_figure(report.summary()[0], 110), fontsize=9, loc="left")
    return figure


def draw_left_out(axes: Axes, left_out: Stations | None, lon: Array) -> None:
    """Cross the stations that are left out, on the map of places with longitudes `lon`."""
    if left_out is None:
        return
    x = unwrapped_as(left_out.lon, lon)
    crosses = axes.scatter(x, left_out.lat, marker="x", color=FLAGGED, s=28, linewidths=1.2, zorder=6)
    crosses.set_label("left out by the quality control")
    axes.legend(handles=[crosses], loc="lower left", fontsize=8)
