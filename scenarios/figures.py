"""A study's figures: cumulative and average regret, and the recommended policy or a map, as PNG and SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scenarios.errors import UserError, one_line
from scenarios.formats import styles
from scenarios.report import typical_advice
from scenarios.station_map import has_map, station_map
from scenarios.statistics import curves
from scenarios.study import Study, check_target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Bounds = Mapping[str, NDArray[np.float64]]

_FORMATS = ("png", "svg")
_DPI = 150
_ROW = 80  # characters that a legend has room for
_FEWEST = 3  # trials for a band: that of two would fill the frame
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


def plot(study: Study, folder: str | Path, *, force: bool = False, bound: bool = False) -> list[Path]:
    """Draw a study's figures.

    Parameters
    ----------
    study : Study
    folder : str or Path
        Made if it is missing.
    force : bool, default False
        Replace figures that exist.
    bound : bool, default False
        Draw the theory's bounds over the cumulative regret.

    Returns
    -------
    list of Path
        `cumulative_regret`, `average_regret` (`.._objective` where regret is unknown) and
        `recommended_policy`, or `map` where policies are places, besides `epidemic_curve`, `attack_rate` and
        `town` where rounds are seasons among persons, each as `.png` and `.svg`; a figure for which the study
        holds nothing yet is left out.

    Raises
    ------
    UserError
        A figure exists (without `force`), the folder cannot be written to, the theory has no bound for the
        study, or the data of its map are gone. Nothing is written then.
    """
    import matplotlib

    bounds: Bounds = {}
    if bound:
        from scenarios.bounds import study_bounds

        bounds = study_bounds(study)

    target = Path(folder)
    with matplotlib.rc_context(STYLE):
        drawn = _draw(study, bounds)
        if not drawn:
            raise UserError(f"{study.path}: holds no complete round yet, there is nothing to draw")
        paths = {name: [target / f"{name}.{kind}" for kind in _FORMATS] for name in drawn}
        if target.exists() and not target.is_dir():
            raise UserError(f"{target}: is a file; give the name of a folder")
        if target.is_dir():
            for path in (path for pair in paths.values() for path in pair):
                check_target(path, force)
        try:
            target.mkdir(parents=True, exist_ok=True)
            for name, figure in drawn.items():
                save(figure, target / name)
        except OSError as error:
            raise UserError(f"{target}: cannot be written to ({one_line(error)})") from error
    return [path for pair in paths.values() for path in pair]


def save(figure: Figure, path: Path) -> list[Path]:
    """Write a figure in every format: `path` with `.png` and `.svg`; the same figure gives the same files."""
    paths = [path.with_name(f"{path.name}.{kind}") for kind in _FORMATS]
    for one in paths:
        figure.savefig(one, dpi=_DPI, metadata={"Date": None} if one.suffix == ".svg" else None)
    return paths


def _draw(study: Study, bounds: Bounds) -> dict[str, Figure]:
    drawn: dict[str, Figure] = {}
    measure = "regret" if bool(study.to_dataframe()["regret"].notna().any()) else "objective"
    for average in (False, True):
        figure = regret_figure(study, measure, average, {} if average else bounds)
        if figure is not None:
            drawn[f"{'average' if average else 'cumulative'}_{measure}"] = figure
    # Bars of longitudes and latitudes would tell nothing that a map does not.
    if has_map(study):
        drawn |= {name: one for name, one in {"map": station_map(study)}.items() if one is not None}
    elif (figure := _policies(study)) is not None:
        drawn["recommended_policy"] = figure
    if has_seasons(study):
        from scenarios.season_figures import season_figures

        drawn |= season_figures(study)
    return drawn


def has_seasons(study: Study) -> bool:
    """Whether a study's rounds are seasons of flu among persons."""
    return bool(study.environment["name"] == "flu-abm")


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of so many inches, without pyplot: no window system, no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _columns(labels: Sequence[str], most: int) -> int:
    """Return how many entries of a legend to put in a row: what fits, and so that its rows are even."""
    fit = _ROW // (max(map(len, labels)) + 8)  # a line, and the space between entries
    rows = math.ceil(len(labels) / max(1, min(most, fit)))
    return math.ceil(len(labels) / rows)


def _styles(study: Study) -> dict[str, Any]:
    agents = study.scenario.agents
    return styles([spec.label for spec in agents], [spec.name for spec in agents])


def regret_figure(
    study: Study, measure: str, average: bool, bounds: Bounds | None = None, *, log: bool = False
) -> Figure | None:
    """Draw the mean over trials with its 95 % band, round by round (the paper's figures 3 and 4).

    Parameters
    ----------
    study : Study
    measure : {"regret", "objective"}
    average : bool
        Divide by the round.
    bounds : mapping, optional
        By agent, what the theory says that its cumulative regret stays below, (T,). Bounds are loose, and
        the axis is logarithmic then.
    log : bool, default False
        A logarithmic axis in any case.

    Returns
    -------
    Figure or None
        None where no round is complete.
    """
    from matplotlib.ticker import MaxNLocator

    found = curves(study, measure, average)
    if not found:
        return None
    figure = new_figure(6.4, 4.2)
    axes = figure.add_subplot()
    look = _styles(study)
    trials = max(curve.trials for curve in found.values())
    top = 0.0
    for label, curve in found.items():
        colour, line = look[label]
        axes.plot(curve.rounds, curve.mean, color=colour, linestyle=line, linewidth=1.8, label=label)
        if curve.trials >= _FEWEST:
            axes.fill_between(curve.rounds, curve.low, curve.high, color=colour, alpha=0.13, linewidth=0)
            top = max(top, float(curve.high.max()))
    unit = study.environment["objective_unit"]
    kind = "Average" if average else "Cumulative"
    axes.set_xlabel("round")
    axes.set_ylabel(f"{kind.lower()} {measure} ({unit})")
    band = f"mean and 95 % band over {trials} trials" if trials > 1 else "one trial"
    if 1 < trials < _FEWEST:
        band = f"mean over {trials} trials, too few for a band"
    axes.set_title(f"{study.scenario.name}: {kind.lower()} {measure}, {band}", fontsize=10, loc="left")
    axes.set_xlim(1, study.scenario.rounds if study.scenario.rounds > 1 else 1.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for label, bound in (bounds or {}).items():
        colour = look[label][0]
        axes.plot(
            np.arange(1, len(bound) + 1),
            bound,
            color=colour,
            linestyle=(0, (1, 2)),
            label=f"bound of {label}",
        )
    if log or bounds:
        axes.set_yscale("log")
    elif measure == "regret":
        # Bands of few trials can dwarf the curves: they may leave the frame.
        tallest = max(float(curve.mean.max()) for curve in found.values())
        axes.set_ylim(0, 1.04 * max(tallest, min(top, 1.6 * tallest)) or None)
    figure.legend(
        loc="outside lower center",
        ncols=_columns(axes.get_legend_handles_labels()[1], 5),
        handlelength=2.6,
        columnspacing=1.6,
    )
    return figure


def _policies(study: Study) -> Figure | None:
    """Draw each agent's recommended policy by entry, in bars, with the true optimum beside."""
    advice = {spec.label: typical_advice(study, spec.label) for spec in study.scenario.agents}
    bars: dict[str, tuple[list[float], str]] = {
        label: (one["value"]["policy"], _styles(study)[label][0]) for label, one in advice.items() if one
    }
    if not bars:
        return None
    facts = study.environment
    shared = study.optimum(1) if not study.scenario.environment.new_world_each_trial else None
    entries = len(facts["labels"])
    width = 0.84 / (len(bars) + (shared is not None))
    figure = new_figure(max(6.4, 1.3 * entries + 1.5), 4.2)
    axes = figure.add_subplot()
    places = np.arange(entries)
    if shared is not None:
        axes.bar(
            places - 0.42 + width / 2,
            shared["policy"],
            width,
            color="white",
            edgecolor="black",
            hatch="///",
            linewidth=0.8,
            label="true optimum",
        )
    offset = int(shared is not None)
    for index, (label, (policy, colour)) in enumerate(bars.items()):
        axes.bar(
            places - 0.42 + (index + offset + 0.5) * width, policy, width * 0.92, color=colour, label=label
        )
    axes.set_xticks(places, facts["labels"])
    units = list(dict.fromkeys(facts["units"]))
    axes.set_ylabel(f"recommended policy ({units[0]})" if len(units) == 1 else "recommended policy")
    if len(units) > 1:
        names = [f"{label}\n({unit})" for label, unit in zip(facts["labels"], facts["units"], strict=True)]
        axes.set_xticks(places, names)
    axes.grid(axis="x", visible=False)
    axes.set_title(
        f"{study.scenario.name}: recommended policy after {study.scenario.rounds} rounds, median trial",
        fontsize=10,
        loc="left",
    )
    figure.legend(
        loc="outside lower center",
        ncols=_columns(axes.get_legend_handles_labels()[1], 7),
        handlelength=1.4,
        columnspacing=1.4,
    )
    return figure
