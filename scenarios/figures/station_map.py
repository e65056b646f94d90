"""The map of a study whose policies are places: what is true, what an agent asked, and what it believes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

import bridges
from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.names import GP_AGENTS
from optimizer.arrays import Array
from policyloop.plain_text import for_figure
from scenarios.errors import UserError
from scenarios.figures.drawing import new_figure
from scenarios.figures.import_map import draw_left_out
from scenarios.figures.unwrapping import unwrapped
from scenarios.results.statistics import typical_advice
from scenarios.study.study import Study
from scenarios.trial.trial import replay

PLACE = ("lon", "lat")
"""Labels of policies that are places, in degrees."""

_GREY = "#C8C8C8"
_WIDTH, _TALLEST = 11.0, 14.0  # inches


class View(NamedTuple):
    """What the map shows of one agent's trial: candidates (n,), and rows of some of them."""

    title: str
    lon: Array  # without a jump at the antimeridian
    lat: Array
    objective: Array  # noise-free; nan where unknown
    mean: Array  # of the posterior of the objective
    deviation: Array
    queries: NDArray[np.intp]  # in the order in which they were asked
    optimum: int | None
    advice: int
    unit: str  # of the objective
    left_out: Any = None  # stations that the quality control left out


def has_map(study: Study) -> bool:
    """Whether a study's policies are places in a finite space, tried by an agent with a model."""
    facts = study.environment
    return tuple(facts.labels) == PLACE and facts.finite and _modelled(study) is not None


def station_map(study: Study) -> Figure | None:
    """Draw the map of an agent's trial, in four panels.

    They are the noise-free objective at every place; the agent's queries in order, with the true optimum and
    the agent's recommendation; and the mean and standard deviation of its posterior. The agent is the first
    of the scenario with a model, and the trial its median one, as in the report. In a living world
    everything is of the moment after the last round. None where the study has no map, or no round yet.
    """
    if not has_map(study):
        return None
    view = _view(study)
    return None if view is None else _draw(view)


def _modelled(study: Study) -> str | None:
    """The label of the first agent with a model."""
    return next((spec.label for spec in study.scenario.agents if spec.name in GP_AGENTS), None)


def _view(study: Study) -> View | None:
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
    objective, optimum = np.full(len(rows), np.nan), None
    try:
        objective = np.asarray(environment.compose(environment.expected(rows), rows), dtype=float)
        optimum = int(np.nanargmax(environment.sign * objective))
    except NotImplementedError:
        pass
    assert isinstance(agent, GPAgent)
    mean, deviation = agent.predict(rows, **bridges.moment(environment.context))
    lon, lat = space.resolve(rows).T
    when = f", hour {environment.context:g}" if environment.lives else ""
    return View(
        f"{study.scenario.name}: {label}, trial {trial}, after {len(history)} rounds{when}",
        unwrapped(lon),
        lat,
        objective,
        mean,
        deviation,
        queries,
        optimum,
        int(agent.recommend(**bridges.moment(environment.context)).policy),
        environment.objective_unit,
        getattr(environment, "left_out", None),
    )


def _draw(view: View) -> Figure:
    aspect = 1.0 / np.cos(np.radians(np.clip(view.lat.mean(), -80.0, 80.0)))
    width, height = max(float(np.ptp(view.lon)), 1e-6), float(np.ptp(view.lat)) * aspect
    figure = new_figure(_WIDTH, float(np.clip(1.3 + 0.84 * _WIDTH * height / width, 5.0, _TALLEST)))
    panels: Any = figure.subplots(2, 2, sharex=True, sharey=True)
    size = float(np.clip(9000.0 / len(view.lon), 4.0, 40.0))
    known = view.objective if np.isfinite(view.objective).any() else view.mean
    shared = Normalize(float(np.nanmin(known)), float(np.nanmax(known)))

    def coloured(axes: Axes, values: Array, title: str, colours: str, scale: Normalize | None) -> None:
        points = axes.scatter(view.lon, view.lat, c=values, s=size, cmap=colours, norm=scale, linewidths=0)
        figure.colorbar(points, ax=axes, shrink=0.85, label=for_figure(view.unit))
        axes.set_title(title, fontsize=10, loc="left")

    coloured(panels[0, 0], view.objective, "noise-free objective", "inferno", shared)
    draw_left_out(panels[0, 0], view.left_out, view.lon)
    coloured(panels[1, 0], view.mean, "posterior mean", "inferno", shared)
    coloured(panels[1, 1], view.deviation, "posterior standard deviation", "viridis", None)

    axes = panels[0, 1]
    lon, lat = view.lon[view.queries], view.lat[view.queries]
    axes.scatter(view.lon, view.lat, color=_GREY, s=0.6 * size, linewidths=0)
    axes.plot(lon, lat, color="#555555", linewidth=0.4, alpha=0.5)
    asked = axes.scatter(
        lon, lat, c=np.arange(1, len(lon) + 1), s=1.6 * size, cmap="viridis", linewidths=0, zorder=3
    )
    figure.colorbar(asked, ax=axes, shrink=0.85, label="round", ticks=MaxNLocator(integer=True))
    axes.set_title("queries in order", fontsize=10, loc="left")
    for one in panels.flat:
        if view.optimum is not None:
            place = (view.lon[view.optimum], view.lat[view.optimum])
            (star,) = one.plot(*place, "*", color="#D55E00", markeredgecolor="white", markersize=13, zorder=5)
            star.set_label("true optimum")
        place = (view.lon[view.advice], view.lat[view.advice])
        one.plot(
            *place,
            "o",
            color="none",
            markeredgecolor="#0072B2",
            markeredgewidth=1.6,
            markersize=13,
            zorder=4,
            label="recommended",
        )
        one.set_aspect(aspect)
    for one in panels[1]:
        one.set_xlabel("longitude (degrees)")
    for one in panels[:, 0]:
        one.set_ylabel("latitude (degrees)")
    figure.suptitle(for_figure(view.title, 120), fontsize=10, x=0.02, ha="left")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
