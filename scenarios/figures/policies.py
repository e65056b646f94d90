"""The recommended policies, drawn."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from scenarios.figures.drawing import columns, looks, new_figure
from scenarios.results.statistics import typical_advice
from scenarios.study.study import Study


def policy_figure(study: Study) -> Figure | None:
    """Draw each agent's recommended policy by entry, in bars, with the true optimum beside."""
    advice = {spec.label: typical_advice(study, spec.label) for spec in study.scenario.agents}
    bars: dict[str, tuple[list[float], str]] = {
        label: (one.policy, looks(study)[label][0]) for label, one in advice.items() if one
    }
    if not bars:
        return None
    facts = study.environment
    shared = study.optimum(1) if not study.scenario.environment.new_world_each_trial else None
    entries = len(facts.labels)
    width = 0.84 / (len(bars) + (shared is not None))
    figure = new_figure(max(6.4, 1.3 * entries + 1.5), 4.2)
    axes = figure.add_subplot()
    places = np.arange(entries)
    if shared is not None:
        axes.bar(
            places - 0.42 + width / 2,
            shared.policy,
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
    axes.set_xticks(places, facts.labels)
    units = list(dict.fromkeys(facts.units))
    axes.set_ylabel(f"recommended policy ({units[0]})" if len(units) == 1 else "recommended policy")
    if len(units) > 1:
        names = [f"{label}\n({unit})" for label, unit in zip(facts.labels, facts.units, strict=True)]
        axes.set_xticks(places, names)
    axes.grid(axis="x", visible=False)
    axes.set_title(
        f"{study.scenario.name}: recommended policy after {study.scenario.rounds} rounds, median trial",
        fontsize=10,
        loc="left",
    )
    figure.legend(
        loc="outside lower center",
        ncols=columns(axes.get_legend_handles_labels()[1], 7),
        handlelength=1.4,
        columnspacing=1.4,
    )
    return figure
