"""The map of a study whose policies are places: what is true, what an agent asked, and what it believes."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

import bridges
from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.names import GP_AGENTS
from optimizer.arrays import Array
from policyloop.plain_text import for_figure
from scenarios.errors import UserError
from scenarios.figures.drawing import new_figure
from scenarios.figures.field import Field, draw_field, posterior_field
from scenarios.figures.frame import draw_frame
from scenarios.figures.import_map import draw_left_out
from scenarios.figures.numbered import LONGEST, numbered
from scenarios.figures.outline import Box
from scenarios.figures.unwrapping import unwrapped
from scenarios.numbers import significant
from scenarios.results.statistics import typical_advice
from scenarios.study.records import NOTHING, StoredRound
from scenarios.study.study import Study
from scenarios.trial.trial import replay
from simulators import Environment

PLACE = ("lon", "lat")
"""Labels of policies that are places, in degrees."""

NAMED = 5
"""How many of the best stations have their names on the map."""

TIE = 1e-9
"""Objectives that differ by less, as a share of the largest, tie."""

_GREY, _TRUE, _ADVISED, _QUIET, _DOUBTED = "#C8C8C8", "#D55E00", "#0072B2", "#000000", "#CC79A7"
_WIDTH, _TALLEST = 11.0, 14.0  # inches
_MANY = 400  # dots from which they are drawn as a picture


class View(NamedTuple):
    """What the map shows of one agent's trial: candidates (n,), and rows of some of them."""

    title: str
    lon: Array  # without a jump at the antimeridian
    lat: Array
    names: list[str]
    objective: Array  # noise-free; nan where unknown
    mean: Array  # of the posterior of the objective
    deviation: Array
    field: Field | None  # of the posterior between them
    queries: NDArray[np.intp]  # in the order in which they were asked
    optima: NDArray[np.intp]  # the best of all; more than one where they tie
    best: NDArray[np.intp]  # the first few, best first
    advice: int
    silent: NDArray[np.intp]  # that told nothing when they were last asked
    partial: NDArray[np.intp]  # and of which a channel was missing, or not asked
    doubted: NDArray[np.intp]  # flagged by the quality control and kept
    unit: str  # of the objective
    sign: float  # 1.0 where the most is the best
    left_out: Any = None  # stations that the quality control left out


def has_map(study: Study) -> bool:
    """Whether a study's policies are places in a finite space, tried by an agent with a model."""
    facts = study.environment
    return tuple(facts.labels) == PLACE and facts.finite and _modelled(study) is not None


def station_map(study: Study) -> Figure | None:
    """Draw the map of an agent's trial, in four panels, with coasts and borders.

    They are the noise-free objective at every place, with the names of the best; the agent's queries in
    order, those that were repeated with how often, and the stations that told nothing; and the mean and
    standard deviation of its posterior, at the stations and between them. The agent is the first of the
    scenario with a model, and the trial its median one, as in the report. In a living world everything is of
    the moment after the last round. None where the study has no map, or no round yet.
    """
    if not has_map(study):
        return None
    view = view_of(study)
    return None if view is None else draw_view(view)


def _modelled(study: Study) -> str | None:
    """The label of the first agent with a model."""
    return next((spec.label for spec in study.scenario.agents if spec.name in GP_AGENTS), None)


def view_of(study: Study) -> View | None:
    """What there is to be seen of a study with a map; None where there is no round yet."""
    label = _modelled(study)
    assert label is not None
    typical = typical_advice(study, label)
    trial = 1 if typical is None else typical.trial
    learned, history = study.world(trial), study.history(trial, label)
    if learned is None or not history:
        return None
    states = [one for one in study.details("learned") if (one.trial, one.agent) == (trial, label)]
    environment, agent = replay(study.scenario, trial, label, learned, history, states)
    space = environment.policy_space
    rows = np.arange(space.size or 0)
    queries = np.array([one.row for one in history])
    if queries.max() >= len(rows):
        raise UserError(f"{study.path}: its environment now has {len(rows)} places, fewer than the study's")
    objective = np.full(len(rows), np.nan)
    with contextlib.suppress(NotImplementedError):
        objective = np.asarray(environment.compose(environment.expected(rows), rows), dtype=float)
    assert isinstance(agent, GPAgent)
    moment = bridges.moment(environment.context)
    mean, deviation = agent.predict(rows, **moment)
    places = space.resolve(rows)
    lon, lat = unwrapped(places[:, 0]), places[:, 1]
    worth = environment.sign * (objective if np.isfinite(objective).any() else mean)
    top = np.nanmax(environment.sign * objective) if np.isfinite(objective).any() else np.inf
    names = study.environment.by_place()
    when = f", hour {environment.context:g}" if environment.lives else ""
    silent, partial = _quiet(history)
    return View(
        f"{study.scenario.name}: {label}, trial {trial}, after {len(history)} rounds{when}",
        lon,
        lat,
        [str(names.get(tuple(place), "")) for place in places.tolist()],
        objective,
        mean,
        deviation,
        posterior_field(agent, environment, Box.around(lon, lat), moment.get("context")),
        queries,
        np.flatnonzero(environment.sign * objective >= top - TIE * max(abs(top), 1.0)),
        np.argsort(-np.nan_to_num(worth, nan=-np.inf), kind="stable")[:NAMED],
        int(agent.recommend(**moment).policy),
        silent,
        partial,
        _doubted(environment),
        environment.objective_unit,
        environment.sign,
        getattr(environment, "left_out", None),
    )


def _quiet(history: list[StoredRound]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows that told nothing when they were last asked, and those of which a channel was missing."""
    last = {one.row: one.status for one in history if one.row is not None}
    silent, partial = (
        [row for row, status in last.items() if status in of] for of in (NOTHING, ("partial",))
    )
    return np.array(silent, dtype=np.intp), np.array(partial, dtype=np.intp)


def _doubted(environment: Environment) -> NDArray[np.intp]:
    """The candidates that the quality control has flagged and kept."""
    report, stations = getattr(environment, "report", None), getattr(environment, "stations", None)
    if report is None or stations is None:
        return np.empty(0, dtype=np.intp)
    kept = [flag.station for flag in report.flags if flag.done == "kept"]
    doubted: NDArray[np.intp] = np.flatnonzero(np.isin(stations.ids[environment.nodes], kept))  # type: ignore[attr-defined]
    return doubted


def draw_view(view: View) -> Figure:
    """The map of what there is to be seen."""
    box = Box.around(view.lon, view.lat)
    shape = (box.north - box.south) * box.aspect / (box.east - box.west)
    figure = new_figure(_WIDTH, float(np.clip(1.9 + 0.84 * _WIDTH * shape, 5.5, _TALLEST)))
    panels: Any = figure.subplots(2, 2, sharex=True, sharey=True)
    size = float(np.clip(9000.0 / len(view.lon), 4.0, 40.0))
    many = len(view.lon) > _MANY
    known = view.objective if np.isfinite(view.objective).any() else view.mean
    shared = Normalize(float(np.nanmin(known)), float(np.nanmax(known)))

    def coloured(
        axes: Axes, values: Array, title: str, colours: str, scale: Normalize, between: Array | None = None
    ) -> None:
        if between is not None:
            assert view.field is not None
            draw_field(axes, view.field, between, colours, scale)
        points = axes.scatter(
            view.lon,
            view.lat,
            c=values,
            s=size if between is None else 0.5 * size,
            cmap=colours,
            norm=scale,
            linewidths=0 if between is None else 0.25,
            edgecolors="none" if between is None else "#FFFFFF",
            rasterized=many,
            zorder=2,
        )
        figure.colorbar(points, ax=axes, shrink=0.85, label=for_figure(view.unit))
        axes.set_title(title, fontsize=10, loc="left")

    field = view.field
    coloured(panels[0, 0], view.objective, "noise-free objective", "inferno", shared)
    draw_left_out(panels[0, 0], view.left_out, view.lon)
    coloured(
        panels[1, 0], view.mean, "posterior mean", "inferno", shared, None if field is None else field.mean
    )
    spread = view.deviation if field is None else np.concatenate([view.deviation, field.deviation.ravel()])
    uneven = Normalize(float(np.nanmin(spread)), float(np.nanmax(spread)))
    title, between = "posterior standard deviation", None if field is None else field.deviation
    coloured(panels[1, 1], view.deviation, title, "viridis", uneven, between)
    _draw_queries(figure, panels[0, 1], view, size)
    marks = [_marks(one, view) for one in panels.flat][1]
    for one in panels.flat:
        draw_frame(one, box)
    for one in panels[1]:
        one.set_xlabel("longitude (degrees)")
    for one in panels[:, 0]:
        one.set_ylabel("latitude (degrees)")
    figure.suptitle(for_figure(view.title, 120), fontsize=10, x=0.02, ha="left")
    figure.legend(
        handles=[*marks, *_names(panels[0, 0], view)], loc="outside lower center", ncols=2, fontsize=8
    )
    return figure


def _draw_queries(figure: Figure, axes: Axes, view: View, size: float) -> None:
    """Places in the order in which they were asked for the last time; how often, where that is repeated."""
    lon, lat = view.lon[view.queries], view.lat[view.queries]
    axes.scatter(
        view.lon, view.lat, color=_GREY, s=0.6 * size, linewidths=0, rasterized=len(view.lon) > _MANY
    )
    axes.plot(lon, lat, color="#555555", linewidth=0.4, alpha=0.5)
    rounds = np.arange(1, len(lon) + 1)
    asked, counts = np.unique(view.queries, return_counts=True)
    last = np.array([rounds[view.queries == row].max() for row in asked])
    points = axes.scatter(
        view.lon[asked],
        view.lat[asked],
        c=last,
        s=1.6 * size * np.sqrt(counts),
        cmap="viridis",
        norm=Normalize(1, len(lon)),
        linewidths=0,
        zorder=3,
    )
    for row, count in zip(asked, counts, strict=True):
        if count > 1:
            place, away = (view.lon[row], view.lat[row]), (3.5, 3.5)
            axes.annotate(f"{count}", place, away, textcoords="offset points", fontsize=7, zorder=6)
    label = "round, the last of each"
    figure.colorbar(points, ax=axes, shrink=0.85, label=label, ticks=MaxNLocator(integer=True))
    repeated = int((counts > 1).sum())
    more = f"; {repeated} repeatedly (how often)" if repeated else ""
    axes.set_title(f"{len(asked)} stations asked, in order{more}", fontsize=10, loc="left")


def _marks(axes: Axes, view: View) -> list[Line2D]:
    """Mark the optima, the recommendation and doubtful stations; the marks, for a legend."""
    ties = f" ({len(view.optima)} tie)" if len(view.optima) > 1 else ""
    looks: list[tuple[str, NDArray[np.intp], dict[str, Any]]] = [
        (f"true optimum{ties}", view.optima, {"marker": "*", "color": _TRUE, "markersize": 13, "zorder": 5}),
        (
            f"recommended: {for_figure(view.names[view.advice], LONGEST)}".removesuffix(": "),
            np.array([view.advice]),
            {"marker": "o", "color": _ADVISED, "markersize": 13, "zorder": 4},
        ),
        (
            "told nothing when last asked",
            view.silent,
            {"marker": "X", "color": _QUIET, "markersize": 7, "zorder": 6},
        ),
        (
            "not all channels told when last asked",
            view.partial,
            {"marker": "d", "color": _QUIET, "markersize": 6, "zorder": 6},
        ),
        ("flagged and kept", view.doubted, {"marker": "s", "color": _DOUBTED, "markersize": 8, "zorder": 4}),
    ]
    drawn = []
    for label, rows, look in looks:
        if not len(rows):
            continue
        filled = {"markeredgecolor": "white"}
        hollow = {"markeredgecolor": look["color"], "markerfacecolor": "none", "markeredgewidth": 1.6}
        style = look | (hollow if look["marker"] in "os" else filled)
        (line,) = axes.plot(view.lon[rows], view.lat[rows], linestyle="none", label=label, **style)
        drawn.append(line)
    return drawn


def _names(axes: Axes, view: View) -> list[Line2D]:
    """Number the best stations on the map; what the numbers mean, for a legend."""
    known = bool(np.isfinite(view.objective).any())
    worth, ties = view.objective if known else view.mean, set(view.optima.tolist())
    values = [
        f"{significant(float(worth[row]), 4)} {view.unit}{', ties' if len(ties) > 1 and row in ties else ''}"
        for row in view.best.tolist()
    ]
    names = [view.names[row] or f"candidate {row}" for row in view.best.tolist()]
    return numbered(axes, view.lon[view.best], view.lat[view.best], names, values)
