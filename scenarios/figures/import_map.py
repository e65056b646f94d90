"""The map of an import: the stations by their temperature, and those that the quality control found wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from optimizer.arrays import Array
from policyloop.plain_text import for_figure
from scenarios.figures.drawing import new_figure
from scenarios.figures.field import Field, draw_field, grid
from scenarios.figures.frame import draw_frame
from scenarios.figures.numbered import numbered
from scenarios.figures.outline import Box
from scenarios.figures.unwrapping import unwrapped_as
from simulators.stations import ImportReport, Stations
from simulators.stations.local_kriging import kriged

FLAGGED = "#CC0000"
DOUBTED = "#CC79A7"
WARMEST = 5
"""Stations whose names are told."""

MANY, CROWDED = 400, 4000
"""Stations from which on dots are drawn as a picture, and have no edge."""


def import_map(stations: Stations, report: ImportReport) -> Figure:
    """Draw the stations that are kept, on the temperature between them and beside its uncertainty.

    The field is kriged from the nearest stations, with the length scale and the nugget of the quality
    control's check of neighbours. Crosses are stations that are left out, squares those that are flagged and
    kept. The warmest have their names.
    """
    lon = unwrapped_as(stations.lon, stations.lon)
    box = Box.around(lon, stations.lat)
    wide = (box.east - box.west) / ((box.north - box.south) * box.aspect)
    figure = new_figure(13.0, float(np.clip(1.9 + 5.2 / wide, 4.0, 9.5)))
    panels: Any = figure.subplots(1, 2, sharex=True, sharey=True)
    field = _field(stations, box)
    scale = Normalize(float(stations.temperature.min()), float(stations.temperature.max()))
    if field is not None:
        draw_field(panels[0], field, field.mean, "inferno", scale)
        cells = draw_field(panels[1], field, field.deviation, "viridis", None)
        figure.colorbar(cells, ax=panels[1], shrink=0.8, label="standard deviation (K)")
    n = len(stations)
    look: dict[str, Any] = {"linewidths": 0, "zorder": 2, "rasterized": n > MANY}
    fine = {"s": float(np.clip(2000.0 / n, 0.2, 2.0)), "color": "#FFFFFF"}
    panels[1].scatter(lon, stations.lat, **fine, **look)
    if n <= CROWDED:
        look |= {"linewidths": 0.25, "edgecolors": "white"}
    look |= {"c": stations.temperature, "cmap": "inferno", "norm": scale}
    points = panels[0].scatter(lon, stations.lat, s=float(np.clip(20_000.0 / n, 2.0, 14.0)), **look)
    figure.colorbar(points, ax=panels[0], shrink=0.8, label="temperature (K)")
    draw_left_out(panels[0], report.left_out, stations.lon)
    _draw_doubted(panels[0], stations, report, lon)
    warmest = _warmest(panels[0], stations, lon)
    figure.legend(handles=warmest, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    for axes, title in zip(panels, ("temperature", "how uncertain it is between the stations"), strict=True):
        draw_frame(axes, box)
        axes.set_xlabel("longitude (degrees)")
        axes.set_title(title, fontsize=9, loc="left")
    panels[0].set_ylabel("latitude (degrees)")
    figure.suptitle(for_figure(report.summary()[0], 110), fontsize=9, x=0.02, ha="left")
    return figure


def _field(stations: Stations, box: Box) -> Field | None:
    """The temperature between the stations, kriged; None where too few say anything."""
    if len(stations) < 3:
        return None
    lon, lat = grid(box)
    x, y = (one.ravel() for one in np.meshgrid(lon, lat))
    found = kriged(stations.lon, stations.lat, stations.temperature, x, y)
    mean, deviation = (one.reshape(len(lat), len(lon)) for one in found)
    return Field(lon, lat, mean, deviation)


def draw_left_out(axes: Axes, left_out: Stations | None, lon: Array) -> None:
    """Cross the stations that are left out, on the map of places with longitudes `lon`."""
    if left_out is None:
        return
    x = unwrapped_as(left_out.lon, lon)
    crosses = axes.scatter(x, left_out.lat, marker="x", color=FLAGGED, s=28, linewidths=1.2, zorder=6)
    crosses.set_label("left out by the quality control")
    axes.legend(handles=[crosses], loc="lower left", fontsize=8)


def _draw_doubted(axes: Axes, stations: Stations, report: ImportReport, lon: Array) -> None:
    """Mark the stations that are flagged and kept."""
    kept = np.isin(stations.ids, [flag.station for flag in report.flags if flag.done == "kept"])
    if kept.any():
        look: dict[str, Any] = {"marker": "s", "facecolors": "none", "edgecolors": DOUBTED, "s": 45}
        axes.scatter(
            lon[kept], stations.lat[kept], **look, linewidths=1.4, zorder=5, label="flagged and kept"
        )
        axes.legend(loc="lower left", fontsize=8)


def _warmest(axes: Axes, stations: Stations, lon: Array) -> list[Line2D]:
    """Number the warmest stations; what the numbers mean, for a legend."""
    rows = np.argsort(-stations.temperature, kind="stable")[:WARMEST]
    names = [f"{stations.ids[row]} {stations.names[row]}".strip() for row in rows]
    values = [f"{stations.temperature[row]:.1f} K" for row in rows]
    return numbered(axes, lon[rows], stations.lat[rows], names, values)
