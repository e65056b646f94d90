"""Curves that a simulator gives besides its outcomes, by policy: those of the first, the best and today's."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from numpy.typing import NDArray

from policyloop.messages import unknown_name
from policyloop.plain_text import for_figure
from scenarios.errors import UserError
from scenarios.figures.drawing import new_figure
from scenarios.numbers import significant
from scenarios.results.limits import known_limits
from scenarios.study.info import is_array, read_info
from scenarios.study.levers import shown
from scenarios.study.records import StoredRound
from scenarios.study.study import Study

AXES = {"days": "day", "hours": "hour", "weeks": "week", "months": "month", "years": "year", "time": "time"}
"""Entries of an info that say where the points of its curves stand, and how that axis is called."""
MOST = 4
"""Figures that are drawn where no entry is named, and panels of one that are no groups."""
KEPT = "\N{NO-BREAK SPACE}"
LINE = 54
"""Characters of a panel's title in a line."""
LARGE = 1e4
"""From here on numbers on an axis have their thousands parted."""
SAME = 1e-9
"""How far a policy may differ from today's, and be it."""
COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#D55E00", "#8B4513", "#4B0082",
)  # fmt: skip

Array = NDArray[np.float64]


class Shown(NamedTuple):
    """A round whose curves are drawn: which policy it is, in words, and its info."""

    label: str
    round: StoredRound
    info: Mapping[str, Any]


def curve_figures(study: Study, name: str | None = None) -> dict[str, Figure]:
    """Draw the curves that a study's rounds keep, a panel a policy, by the names of files.

    Parameters
    ----------
    study : Study
    name : str, optional
        The entry of the info to draw. Unless given all that are curves: arrays as long as an entry that says
        where they stand (`AXES`), four of them at most.

    Raises
    ------
    UserError
        There is no such entry, or it is no curve; tells what there is.
    """
    rounds = _rounds(study)
    if not rounds:
        if name is not None:
            raise UserError(f"{study.path}: --info {name}: its rounds keep no info")
        return {}
    info = rounds[-1].info
    plain = [key for key, value in info.items() if _is_curve(value)]
    if name is not None:
        if name not in plain:
            known = unknown_name("curve", name, [key for key in plain if not _stands(key)])
            raise UserError(f"{study.path}: --info: {known if plain else 'no entry of its info is a curve'}")
        return {_file(name): _figure(study, rounds, name)}
    length = {len(info[key]) for key in plain if _stands(key)}
    curves = [key for key in plain if not _stands(key) and len(info[key]) in length]
    return {_file(key): _figure(study, rounds, key) for key in curves[:MOST]}


def _is_curve(value: Any) -> bool:
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return numbers.ndim in (1, 2) and len(numbers) > 2 and numbers.size > 2


def _file(name: str) -> str:
    return f"curves_{re.sub(r'[^A-Za-z0-9_-]+', '_', name)}"


def _rounds(study: Study) -> list[Shown]:
    """The first, the best and, where somebody tried it, today's policy, in one trial."""
    best = _best(study)
    if best is None:
        return []
    same = [one for one in study.rounds() if one.trial == best.trial]
    first = next(one for one in same if one.agent == best.agent)
    chosen = {"first": first, "best": best}
    current = study.environment.current_policy
    if current is not None:
        today = [one for one in same if np.allclose(one.policy, current, rtol=0, atol=SAME)]
        if today:
            chosen[study.environment.current_policy_label or "current practice"] = today[0]
    found = []
    for label, one in chosen.items():
        kept = study.detail("info", one.trial, one.agent, one.round)
        if kept:
            found.append(Shown(f"{label} (round {one.round} of {one.agent})", one, read_info(_flat(kept))))
    return found


def _flat(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Stored info without tables in it, such as those of an ensemble's members: names are joined."""
    found: dict[str, Any] = {}
    for key, value in kept.items():
        if isinstance(value, Mapping) and not is_array(value):
            found |= {f"{key}: {name}": one for name, one in value.items()}
        else:
            found[key] = value
    return found


def _stands(key: str) -> str:
    """How the axis is called where an entry says where points stand; "" where it does not."""
    return AXES.get(key.rpartition(": ")[2], "")


def _best(study: Study) -> StoredRound | None:
    """The round with the best objective, noise-free where it is known, that keeps the limits."""
    limits, sign = known_limits(study), study.environment.sign
    known = [one for one in study.rounds() if one.status == "ok" and one.objective is not None]
    if limits is not None:
        kept = [one for one in known if limits.kept(one.expected_outcomes or one.outcomes)]
        known = kept or known
    values = [one.objective if one.expected is None else one.expected for one in known]
    return (
        max(zip(values, known, strict=True), key=lambda pair: sign * (pair[0] or 0.0))[1] if known else None
    )


def _figure(study: Study, rounds: list[Shown], name: str) -> Figure:
    """One entry: a panel a round, a line a group, or a column."""
    facts = study.environment
    drawn = [one for one in rounds if _is_curve(one.info.get(name))]
    figure = new_figure(4.8 * len(drawn), 4.0)
    panels: Any = figure.subplots(1, len(drawn), sharex=True, sharey=True, squeeze=False)
    for axes, one in zip(panels[0], drawn, strict=True):
        values: Array = np.asarray(one.info[name], dtype=float)
        values = values[:, None] if values.ndim == 1 else values
        axis, x = _axis(one.info, len(values))
        of_groups = values.shape[1] == len(facts.groups) and values.shape[1] > 1
        for j, column in enumerate(values.T):
            label = for_figure(facts.groups[j]) if of_groups else str(j + 1)
            axes.plot(x, column, color=COLOURS[j % len(COLOURS)], linewidth=1.6, label=label)
        axes.set_title(f"{for_figure(one.label)}\n{_policy(study, one.round)}", fontsize=9, loc="left")
        axes.set_xlabel(axis)
    unit = (facts.info_units or {}).get(name.rpartition(": ")[2], "")
    words = name.replace("_", " ")
    if max(axes.get_ylim()[1] for axes in panels[0]) >= LARGE:
        panels[0, 0].yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))  # not 1e6 in a corner
    panels[0, 0].set_ylabel(for_figure(f"{words}, {unit}" if unit else words))
    handles, labels = panels[0, 0].get_legend_handles_labels()
    if len(handles) > 1:
        figure.legend(handles, labels, loc="outside lower center", ncols=9)
    return figure


def _axis(info: Mapping[str, Any], length: int) -> tuple[str, Array]:
    """How the axis of a curve is called, and where its points stand."""
    for key, value in info.items():
        if _stands(key) and np.shape(value) == (length,):
            return _stands(key), np.asarray(value, dtype=float)
    return "step", np.arange(float(length))


def _policy(study: Study, one: StoredRound) -> str:
    """A policy and what it is worth, in lines that a panel has room for."""
    facts = study.environment
    named = [f"{label} {shown(entry)}" for label, entry in facts.titled(one.policy).items()]
    entries = ", ".join(for_figure(entry).replace(" ", KEPT) for entry in named)
    value = one.objective if one.expected is None else one.expected
    worth = f"{significant(value)} {facts.objective_unit}".rstrip()
    lines = textwrap.wrap(entries, LINE, max_lines=2, placeholder=" ..")
    return "\n".join(
        [
            *(line.replace(KEPT, " ") for line in lines),
            *textwrap.wrap(for_figure(worth), LINE, max_lines=1, placeholder=" .."),
        ]
    )
