"""What policies do, drawn: the objective and every group's outcome, with intervals over seeds."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

from policyloop.plain_text import for_figure
from scenarios.figures.drawing import STYLE, new_figure, save
from scenarios.questions.estimate import Estimate
from scenarios.questions.evaluation import Evaluation

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8B4513", "#4B0082")
_ACROSS = 3


def draw(evaluation: Evaluation, path: Path) -> list[Path]:
    """Draw an evaluation: a panel for the objective and one a group, a point with its interval a policy."""
    ranked = evaluation.ranking
    panels: list[tuple[str, str, list[Estimate]]] = [
        ("objective", evaluation.unit, [one.objective for one in ranked])
    ]
    for group, unit in evaluation.group_units.items():
        panels.append((group, unit, [one.groups[group] for one in ranked]))
    down = -(-len(panels) // _ACROSS)
    with matplotlib.rc_context(STYLE):
        figure = new_figure(3.4 * _ACROSS, down * (1.0 + 0.35 * len(ranked)))
        for place, (name, unit, means) in enumerate(panels):
            axes = figure.add_subplot(down, _ACROSS, place + 1)
            for row, (policy, one) in enumerate(zip(ranked, means, strict=True)):
                colour = _COLOURS[evaluation.policies.index(policy) % len(_COLOURS)]
                ends = np.nan_to_num([[one.mean - one.low], [one.high - one.mean]])
                axes.errorbar(one.mean, row, xerr=ends, fmt="o", color=colour, capsize=3)
            first = place % _ACROSS == 0
            axes.set_yticks(range(len(ranked)), [for_figure(one.name) for one in ranked] if first else [])
            axes.set_ylim(len(ranked) - 0.5, -0.5)
            axes.set_title(for_figure(name), fontsize=10)
            axes.set_xlabel(for_figure(unit))
        return save(figure, path)
