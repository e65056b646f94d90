"""Figures of a season among persons: its course and whom it hits under the recommended policy; a town."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from threadpoolctl import threadpool_limits

import bridges
import simulators
from optimizer.arrays import Array
from policyloop.plain_text import for_figure
from scenarios.figures.drawing import new_figure
from scenarios.numbers import significant
from scenarios.results.statistics import typical_advice
from scenarios.study.study import Study
from scenarios.trial.building import build_environment

if TYPE_CHECKING:
    import networkx as nx

    from simulators.flu.abm import FluABM


SEASONS = 10
"""Seasons simulated for a curve; two in a large town."""

LARGE, FEW = 200_000, 2
"""Persons of a large town, and its seasons."""

SMALL_TOWN = 300
"""Persons of the town whose network is drawn."""

PULL = {"household": 0.3, "school": 1.0, "work": 1.0, "community": 0.05}
"""How strongly a contact draws two households together on the drawing; guests at home are random."""

WIDTHS = {"household": 0.4, "school": 0.7, "work": 0.7, "community": 0.25}
"""Of the contacts of people who do not live together, in points: those at home are guests."""

RING = 0.012
"""Radius of a household of two, where the town is 1 wide."""

GROUP_COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#D55E00", "#8B4513", "#4B0082",
)  # fmt: skip
AGES_COLOURMAP = "RdPu"
"""Of the persons of a town, from young to old: none of its colours is that of a layer."""

IN_WORDS = {
    "household": "at home, guests thin",
    "school": "at school",
    "work": "at work",
    "community": "elsewhere",
}

LAYER_COLOURS = {"household": "#D55E00", "school": "#0072B2", "work": "#009E73", "community": "#777777"}


class Season(NamedTuple):
    """Seasons under one policy."""

    label: str  # whose policy
    infectious: Array  # share of all persons who are infectious, by season, day and group
    attack: Array  # share of each group infected, by season and group
    ode: Array  # the same by the ODE of the same town, by group


def has_seasons(study: Study) -> bool:
    """Whether a study's rounds are seasons of flu among persons."""
    return study.scenario.environment.name == "flu-abm"


def season_figures(study: Study) -> dict[str, Figure]:
    """Draw the seasons of a study, on the held-out seeds of its first trial.

    `epidemic_curve` and `attack_rate` under the recommended policy and today's practice, and `town`, the
    network of a small one; nothing where no agent has given advice yet.
    """
    policies = _policies(study)
    if not policies:
        return {}
    with threadpool_limits(1):
        environment = cast("FluABM", build_environment(study.scenario, 1))
        seasons = [_simulate(study, environment, label, policy) for label, policy in policies.items()]
        return {
            "epidemic_curve": epidemic_curve(study, seasons),
            "attack_rate": attack_rate(study, seasons),
            "town": town(environment),
        }


def _policies(study: Study) -> dict[str, list[float]]:
    """The policies to draw by label: that of the first agent with advice, then today's."""
    for spec in study.scenario.agents:
        advice = typical_advice(study, spec.label)
        if advice is not None:
            policies = {f"recommended by {spec.label}": advice.policy}
            if study.environment.current_policy is not None:
                policies[study.environment.current_policy_label] = study.environment.current_policy
            return policies
    return {}


def _simulate(study: Study, environment: FluABM, label: str, policy: Any) -> Season:
    infectious, attack = [], []
    for i in range(FEW if environment.population.persons > LARGE else SEASONS):
        seed = bridges.seed_sequence(study.scenario.seed, 1, "held-out", i)
        environment.reset(bridges.as_int(seed))
        info = environment.step(policy).info
        infectious.append(info["infected"] / environment.population.persons)
        attack.append(info["attack_rate"])
    ode = simulators.make("flu-ode", **environment.counterpart("flu-ode"))
    spread = ode.step(np.asarray(policy)[: len(environment.groups)]).info["attack_rate"]
    return Season(label, np.array(infectious), np.array(attack), np.asarray(spread))


def epidemic_curve(study: Study, seasons: list[Season]) -> Figure:
    """Draw the share of all persons who are infectious, by day and group: each season, and their mean."""
    figure = new_figure(5.2 * len(seasons), 4.2)
    panels: Any = figure.subplots(1, len(seasons), sharex=True, sharey=True, squeeze=False)
    ended = max(int(np.flatnonzero(one.infectious.sum(axis=(0, 2)))[-1]) for one in seasons)
    for axes, season in zip(panels[0], seasons, strict=True):
        for j, group in enumerate(study.environment.groups):
            curves = 100 * season.infectious[:, :, j]
            axes.plot(curves.T, color=GROUP_COLOURS[j], linewidth=0.35, alpha=0.2, zorder=1)
            axes.plot(
                curves.mean(axis=0), color=GROUP_COLOURS[j], linewidth=1.8, label=for_figure(group), zorder=3
            )
        days = significant(float(season.infectious.sum(axis=(1, 2)).mean()), 3)
        axes.set_title(f"{for_figure(season.label)}\n{days} sick days a person", fontsize=10, loc="left")
        axes.set_xlabel("day")
        axes.set_xlim(0, ended + 1)
    panels[0, 0].set_ylim(bottom=0)
    panels[0, 0].set_ylabel("infectious, % of the whole town")
    figure.suptitle(
        f"{study.scenario.name}: the course of {len(seasons[0].attack)} seasons, and their mean (tables have "
        "seasons of their own)",
        fontsize=10,
        x=0.02,
        ha="left",
    )
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=9)
    return figure


def attack_rate(study: Study, seasons: list[Season]) -> Figure:
    """Draw the share of each group infected, among persons with the spread of its seasons, and by the ODE."""
    groups = study.environment.groups
    figure = new_figure(5.2 * len(seasons), 4.2)
    panels: Any = figure.subplots(1, len(seasons), sharey=True, squeeze=False)
    places = np.arange(len(groups))
    for axes, season in zip(panels[0], seasons, strict=True):
        mean = 100 * season.attack.mean(axis=0)
        ends = 100 * np.array([season.attack.min(axis=0), season.attack.max(axis=0)])
        axes.bar(
            places - 0.2,
            mean,
            0.38,
            yerr=np.abs(ends - mean),
            capsize=3,
            color="#0072B2",
            label="persons: mean, least and most of the seasons",
        )
        axes.bar(
            places + 0.2, 100 * season.ode, 0.38, color="white", edgecolor="black", hatch="///", label="ODE"
        )
        axes.set_xticks(places, [for_figure(group) for group in groups])
        axes.grid(axis="x", visible=False)
        axes.set_title(for_figure(season.label), fontsize=10, loc="left")
        axes.set_xlabel("age group")
    panels[0, 0].set_ylabel("infected in the season, % of the own group")
    figure.suptitle(f"{study.scenario.name}: attack rate by group", fontsize=10, x=0.02, ha="left")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def town(environment: FluABM) -> Figure:
    """Draw the contacts of a day in a town of a few hundred persons, built as the study's own was."""
    import networkx as nx

    own = environment.population
    small = own if own.persons <= SMALL_TOWN else simulators.build_population(SMALL_TOWN, tolerance=1.0)
    graph = small.to_networkx()
    place, home = _layout(graph), graph.nodes(data="household")
    figure = new_figure(9.0, 8.6)
    panels: Any = figure.subplots(2, 2, sharex=True, sharey=True)
    colours = dict(
        zip(
            small.groups,
            map(to_hex, colormaps[AGES_COLOURMAP](np.linspace(0, 1, len(small.groups)))),
            strict=True,
        )
    )
    nodes = [colours[group] for _, group in graph.nodes(data="group")]
    dots = {"node_size": 16, "node_color": nodes, "linewidths": 0.4, "edgecolors": "black"}
    for axes, (layer, colour) in zip(panels.flat, LAYER_COLOURS.items(), strict=True):
        axes.set_axis_off()
        edges = [(a, b) for a, b, layers in graph.edges(data="layers") if layer in layers]
        width = [1.4 if home[a] == home[b] else WIDTHS[layer] for a, b in edges]
        nx.draw_networkx_edges(graph, place, edges, ax=axes, edge_color=colour, width=width, alpha=0.7)
        nx.draw_networkx_nodes(graph, place, ax=axes, **dots)
        a_person = 2 * len(edges) / len(graph)
        axes.set_title(f"{IN_WORDS[layer]}: {significant(a_person, 2)} a person", fontsize=9, loc="left")
    figure.suptitle(
        f"A town of {small.persons} persons: who meets whom on a day, by place; those of a household stand "
        "in a ring",
        fontsize=10,
        x=0.02,
        ha="left",
    )
    legend = [
        Line2D([], [], color=colour, marker="o", markeredgecolor="black", linestyle="", label=group)
        for group, colour in colours.items()
    ]
    figure.legend(handles=legend, title="age", loc="outside lower center", ncols=9)
    return figure


def _layout(graph: nx.Graph[Any]) -> Mapping[int, Array]:
    """Places of the persons: each household a ring, near those it meets at school and at work."""
    import networkx as nx

    home = dict(graph.nodes(data="household"))
    town = nx.Graph()
    town.add_nodes_from(sorted(set(home.values())))
    for a, b, layers in graph.edges(data="layers"):
        if home[a] != home[b]:
            pull = sum(PULL[layer] for layer in layers)
            known = town.get_edge_data(home[a], home[b], {"pull": 0.0})["pull"]
            town.add_edge(home[a], home[b], pull=known + pull)
    centres = nx.spring_layout(town, k=0.6, weight="pull", seed=1, iterations=300)
    # Each axis by rank: nobody is far out, and the middle has as much room as the rest.
    ranks = np.argsort(np.argsort([centres[number] for number in town], axis=0), axis=0)
    places: dict[int, Array] = {}
    for number, centre in zip(town, ranks / len(town), strict=True):
        people = [person for person in graph if home[person] == number]
        turns = np.linspace(0, 2 * np.pi, len(people), endpoint=False)
        ring = RING * np.sqrt(len(people) - 1) * np.stack((np.cos(turns), np.sin(turns)), axis=1)
        places |= dict(zip(people, centre + ring, strict=True))
    return places
