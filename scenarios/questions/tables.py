"""Answers as tables for people, and as rows for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from scenarios.numbers import between, significant
from scenarios.questions.answer import Answer, Prediction
from scenarios.questions.estimate import Estimate
from scenarios.questions.evaluation import Evaluation
from scenarios.questions.frontier import Frontier
from scenarios.study.levers import policy_in_words, shown
from scenarios.study.records import ALL_TRIALS
from scenarios.tables import print_table

if TYPE_CHECKING:
    import pandas as pd


def print_answers(answers: Sequence[Answer], console: Console) -> None:
    """Print what a question is answered with; a row a trial where each has a world of its own."""
    if len(answers) == 1:
        print_answer(answers[0], console)
        return
    print_table(_spread(answers), console)
    for line in dict.fromkeys(line for answer in answers for line in answer.remarks):
        console.print(line, style="dim")


def print_answer(answer: Answer, console: Console) -> None:
    """Print an answer beside the best policy that was simulated, and today's practice."""
    columns = {"answer": answer.best}
    if answer.best_tried is not None and answer.best_tried.policy != answer.best.policy:
        columns["best simulated"] = answer.best_tried
    if answer.current is not None:
        columns["current practice"] = answer.current
    table = Table(
        title=f"{answer.question}\nfrom {answer.rounds} rounds of {', '.join(answer.agents)}; predictions "
        "with 95 % credible intervals",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("", overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", overflow="fold")
    for label in answer.best.policy:
        table.add_row(label, *(shown(one.policy[label]) for one in columns.values()))
    table.add_row("simulated", *(_times(one.tried) for one in columns.values()))
    table.add_section()
    for group, unit in answer.group_units.items():
        table.add_row(_with_unit(group, unit), *(_estimate(one.groups[group]) for one in columns.values()))
    table.add_section()
    name = _with_unit("objective", answer.unit)
    table.add_row(name, *(_estimate(one.objective) for one in columns.values()))
    for k, limit in enumerate(answer.best.limits):
        table.add_row(
            f"P({limit.limit})", *(significant(one.limits[k].probability, 3) for one in columns.values())
        )
    if len(answer.best.limits) > 1:
        table.add_row("P(all limits)", *(significant(one.probability, 3) for one in columns.values()))
    print_table(table, console)
    if not answer.kept:  # the caller tells why, in a line of its own
        return
    following = policy_in_words(answer.next_policy)
    console.print(
        f"Next simulation: {following}; expected improvement {significant(answer.expected_improvement, 2)}"
        + (f" {answer.unit}" if answer.unit else ""),
        style="dim",
    )
    for line in answer.remarks:
        console.print(line, style="dim")


def _spread(answers: Sequence[Answer]) -> Table:
    """A row a trial, then the mean and the standard deviation of all."""
    first = answers[0]
    title = f"{first.question}\nEvery trial has a world of its own, and so an answer of its own"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("trial", no_wrap=True)
    labels = list(first.best.policy)
    for label in labels:
        table.add_column(label, justify="right")
    table.add_column(_with_unit("objective", first.unit), justify="right")
    if first.best.limits:
        table.add_column("P(all limits)", justify="right")
    for answer in answers:
        chance = [significant(answer.best.probability, 3)] if first.best.limits else []
        entries = (shown(answer.best.policy[label]) for label in labels)
        table.add_row(answer.world, *entries, _estimate(answer.best.objective), *chance)
    table.add_section()
    means = np.array([answer.best.objective.mean for answer in answers])
    for name, of in (("mean", np.mean), ("deviation", _deviation)):
        entries = (_over([answer.best.policy[label] for answer in answers], of) for label in labels)
        table.add_row(name, *entries, significant(float(of(means))), *([""] if first.best.limits else []))
    return table


def _deviation(values: Any) -> float:
    return float(np.std(values, ddof=1))


def _over(entries: Sequence[Any], of: Any) -> str:
    return "" if any(isinstance(entry, str) for entry in entries) else significant(float(of(entries)), 3)


def _with_unit(name: str, unit: str) -> str:
    return f"{name}, {unit}" if unit else name


def _times(count: int) -> str:
    return f"{count} times" if count > 1 else "once" if count else "no"


def _estimate(one: Estimate) -> str:
    return f"{significant(one.mean)} {between(one.low, one.high)}".rstrip()


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """Print what policies do: a column a policy, best first, and the differences to the first named."""
    ranked, first = evaluation.ranking, evaluation.policies[0]
    limited = any(one.probability_limits < 1 for one in ranked)
    where = f" in {len(evaluation.worlds)} worlds" if evaluation.worlds else ""
    table = Table(
        title=f"Simulated on {evaluation.seeds} seeds{where}, best first; means over seeds with their noise, "
        "95 % intervals\nof the means: the more seeds, the narrower; a single simulation may lie further off",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("", no_wrap=True)
    for one in ranked:
        table.add_column(one.name, justify="right")
    for label in first.policy:
        table.add_row(label, *(shown(one.policy[label]) for one in ranked))
    table.add_section()
    for group, unit in evaluation.group_units.items():
        table.add_row(_with_unit(group, unit), *(_estimate(one.groups[group]) for one in ranked))
        differences = (_estimate(one.group_differences[group]) if one != first else "" for one in ranked)
        table.add_row(f"  minus {first.name}'s", *differences)
    table.add_section()
    table.add_row(_with_unit("objective", evaluation.unit), *(_estimate(one.objective) for one in ranked))
    table.add_row(
        f"  minus {first.name}'s", *(_estimate(one.difference) if one != first else "" for one in ranked)
    )
    for world in evaluation.worlds:
        table.add_row(f"  where {world}", *(_estimate(one.worlds[world]) for one in ranked))
    table.add_section()
    table.add_row("probability to be best", *(significant(one.probability_best, 3) for one in ranked))
    if limited:
        table.add_row(
            "probability to keep limits", *(significant(one.probability_limits, 3) for one in ranked)
        )
    if any(one.failed for one in ranked):
        table.add_row("failed steps", *(str(one.failed) for one in ranked))
    print_table(table, console)
    for line in evaluation.remarks:
        console.print(line, style="dim")


def print_frontier(frontier: Frontier, console: Console) -> None:
    """Print the policies on a frontier, ordered by the first objective."""
    world = "" if frontier.world == ALL_TRIALS else f", trial {frontier.world}"
    table = Table(
        title=f"Policies that no other beats in all of {', '.join(frontier.objectives)}{world}; "
        f"{frontier.question}\n"
        "predictions with 95 % credible intervals",
        title_justify="left",
        title_style="bold",
    )
    shown_ = [one for one in frontier.points if one.on_frontier]
    for label in shown_[0].policy:
        table.add_column(label, justify="right")
    for name, unit in zip(frontier.objectives, frontier.units, strict=True):
        table.add_column(_with_unit(name, unit), justify="right")
    table.add_column("simulated", justify="right")
    table.add_column("")
    for one in shown_:
        entries = (shown(entry) for entry in one.policy.values())
        values = (_estimate(one.objectives[name]) for name in frontier.objectives)
        table.add_row(*entries, *values, _times(one.tried), "knee" if one.knee else "")
    print_table(table, console)
    for one in shown_:
        if one.knee:
            policy = policy_in_words(one.policy)
            console.print(f"Knee, the most of all together: {policy}", style="dim")
    for line in frontier.remarks:
        console.print(line, style="dim")


def evaluation_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """One row a policy, for CSV: `policy, x_<label>.., objective, objective_low, .., y_<group>..`."""
    found: list[dict[str, Any]] = []
    for one in evaluation.policies:
        row: dict[str, Any] = {"policy": one.name} | {f"x_{k}": entry for k, entry in one.policy.items()}
        parts = {"objective": one.objective, "difference": one.difference}
        parts |= {f"y_{group}": mean for group, mean in one.groups.items()}
        parts |= {f"difference_y_{group}": mean for group, mean in one.group_differences.items()}
        parts |= {f"objective in {world}": mean for world, mean in one.worlds.items()}
        for name, mean in parts.items():
            row |= _columns(name, mean)
        row |= {"probability_best": one.probability_best, "probability_limits": one.probability_limits}
        found.append(row | {"failed": one.failed})
    return found


def frontier_rows(frontiers: Sequence[Frontier]) -> list[dict[str, Any]]:
    """One row a policy, for CSV: `world, on_frontier, knee, tried, x_<label>.., <objective>, .._low ..`."""
    rows = []
    for frontier in frontiers:
        for one in frontier.points:
            row: dict[str, Any] = {"world": frontier.world, "on_frontier": one.on_frontier}
            row |= {"knee": one.knee, "tried": one.tried}
            row |= {f"x_{label}": entry for label, entry in one.policy.items()}
            for name, estimate in one.objectives.items():
                row |= _columns(name, estimate)
            rows.append(row)
    return rows


def to_dataframe(answers: Sequence[Answer]) -> pd.DataFrame:
    """One row a policy: the answer of each world, its best policy simulated, and today's practice.

    Columns `world, which, x_<label>.., tried, objective, objective_low, objective_high, y_<group>,
    y_<group>_low, y_<group>_high .., p_<limit>.., p_all`.
    """
    import pandas as pd

    rows = []
    for answer in answers:
        parts = (("answer", answer.best), ("best simulated", answer.best_tried), ("current", answer.current))
        rows += [{"world": answer.world, "which": name, **_row(one)} for name, one in parts if one]
    return pd.DataFrame(rows)


def _row(one: Prediction) -> dict[str, Any]:
    found: dict[str, Any] = {f"x_{label}": entry for label, entry in one.policy.items()}
    found |= {"tried": one.tried} | _columns("objective", one.objective)
    for group, estimate in one.groups.items():
        found |= _columns(f"y_{group}", estimate)
    found |= {f"p_{limit.limit}": limit.probability for limit in one.limits}
    return found | {"p_all": one.probability}


def _columns(name: str, one: Estimate) -> dict[str, float]:
    return {name: one.mean, f"{name}_low": one.low, f"{name}_high": one.high}
