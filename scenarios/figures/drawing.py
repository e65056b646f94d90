"""How figures look and are written: colours and lines of agents, size, format."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from scenarios.outputs import whole_file
from scenarios.study.study import Study

Bounds = Mapping[str, NDArray[np.float64]]

FORMATS = ("png", "svg")
_DPI = 150
STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "policyloop",  # the same study draws the same file
}


def save(figure: Figure, path: Path) -> list[Path]:
    """Write a figure in every format: `path` with `.png` and `.svg`; the same figure gives the same files.

    UserError where one cannot be written; see `whole_file`.
    """
    paths = {kind: path.with_name(f"{path.name}.{kind}") for kind in FORMATS}
    for kind, one in paths.items():
        save_as(figure, one, kind)
    return list(paths.values())


def save_as(figure: Figure, path: Path, kind: str) -> None:
    """Write a figure in one format; UserError where it cannot be written, see `whole_file`."""
    with whole_file(path) as partial, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a name in letters that the font has not
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(partial, format=kind, dpi=_DPI, metadata=metadata)


def new_figure(width: float, height: float) -> Figure:
    """A figure of so many inches, without pyplot: no window system, no global state."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


_ROW = 80  # characters that a legend has room for

LineStyle = str | tuple[int, tuple[int, ...]]

# Okabe and Ito's palette, which colour-blind readers can tell apart; line styles tell it in print.
_STYLES: dict[str, tuple[str, LineStyle]] = {
    "d-gpucb": ("#0072B2", "-"),
    "auto": ("#56B4E9", "-"),
    "gp-ucb": ("#D55E00", "--"),
    "ei": ("#009E73", "-."),
    "mpi": ("#CC79A7", ":"),
    "d-ei": ("#009E73", "-"),
    "d-mpi": ("#CC79A7", "-"),
    "uniform": ("#7F7F7F", (0, (5, 1))),
    "current": ("#000000", (0, (5, 1, 1, 1, 1, 1))),
    "random": ("#B8860B", (0, (3, 1, 1, 1))),
}
_OTHERS: tuple[tuple[str, LineStyle], ...] = (
    ("#E69F00", "--"),
    ("#A0522D", "-"),
    ("#8B4513", "-."),
    ("#4B0082", ":"),
)


def styles(labels: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, LineStyle]]:
    """Colour and line style of agents by label: the same for an agent's name in all figures of all studies.

    A second agent of the same name gets a colour that is free.
    """
    chosen: dict[str, tuple[str, LineStyle]] = {}
    used: set[str] = set()
    spare = 0
    for label, name in zip(labels, names, strict=True):
        if name in _STYLES and name not in used:
            used.add(name)
            chosen[label] = _STYLES[name]
        else:
            chosen[label] = _OTHERS[spare % len(_OTHERS)]
            spare += 1
    return chosen


def columns(labels: Sequence[str], most: int) -> int:
    """How many entries of a legend to put in a row: what fits, and so that its rows are even."""
    fit = _ROW // (max(map(len, labels)) + 8)  # a line, and the space between entries
    rows = math.ceil(len(labels) / max(1, min(most, fit)))
    return math.ceil(len(labels) / rows)


def looks(study: Study) -> dict[str, tuple[str, LineStyle]]:
    """Colour and line style of every agent of a study."""
    agents = study.scenario.agents
    return styles([spec.label for spec in agents], [spec.name for spec in agents])
