"""What a run and `policyloop compare` print: the comparison, and each agent's recommended policy."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from policyloop.messages import on_one_line
from policyloop.plain_text import for_spreadsheet
from scenarios.numbers import between, significant
from scenarios.results.outliers import Outlier, outlier_lines
from scenarios.results.statistics import ENOUGH, REFERENCE, compare, mean_interval, typical_advice
from scenarios.study.levers import shown
from scenarios.study.records import Advice, Facts, Numbers, StoredOptimum
from scenarios.study.study import Study

_COLUMNS = {
    "cumulative_regret": "cumulative regret",
    "average_regret": "average regret",
    "simple_regret": "simple regret",
    "cumulative_objective": "cumulative objective, observed",
    "difference_from_gp_ucb": "minus GP-UCB's",
    "gain_over_gp_ucb_percent": "gain over GP-UCB, %",
    "simulated_again": "recommendation, simulated again",
    "simulated_again_difference": "minus that of GP-UCB",
    "seconds_a_round": "seconds a round",
}
_PAIRED = ("gain_over_gp_ucb_percent", "difference_from_gp_ucb", "simulated_again_difference")


def as_json(study: Study) -> str:
    """The comparison as JSON: an object by agent."""
    return json.dumps(compare(study), indent=2, allow_nan=False)


def as_csv(study: Study) -> str:
    """The comparison as CSV: a row an agent, three columns a value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    ends = ("mean", "low", "high")
    writer.writerow(
        ["agent", *(f"{name}_{end}" for name in _COLUMNS for end in ends), "trials", "failed_rounds"]
    )
    for label, values in compare(study).items():
        cells = [values[name][end] for name in _COLUMNS for end in ends]
        writer.writerow([for_spreadsheet(label), *cells, values["trials"], values["failed_rounds"]])
    return text.getvalue()


def print_report(study: Study, console: Console) -> None:
    """Print the comparison, then each agent's recommended policy beside the true optimum."""
    print_comparison(study, console)
    print_advice(study, console)


def print_comparison(study: Study, console: Console) -> None:
    """Print the table of agents: regrets, paired gain and time, with 95 % intervals over trials."""
    values = compare(study)
    scenario = study.scenario
    shown = [name for name in _COLUMNS if any(one[name]["mean"] is not None for one in values.values())]
    if not any(spec.name == REFERENCE for spec in scenario.agents):
        shown = [name for name in shown if name not in _PAIRED]
    unit = study.environment.objective_unit
    measured = [word for word in ("objective", "regret") if f"cumulative_{word}" in shown]
    what = "".join(f", {word} in {unit}" if unit else f", {word}" for word in measured)
    title = f"{scenario.name}: {scenario.rounds} rounds{what}; mean"
    enough = any(row["trials"] >= ENOUGH for row in values.values())
    table = Table(
        title=f"{title} and 95 % interval" if enough else title, title_justify="left", title_style="bold"
    )
    table.add_column("agent", no_wrap=True)
    table.add_column("trials", justify="right")
    for name in shown:
        table.add_column(_COLUMNS[name], justify="right")
    for spec in scenario.agents:
        row = values[spec.label]
        cells = [_cell(row[name], name, spec.name == REFERENCE, row["trials"]) for name in shown]
        table.add_row(spec.label, str(row["trials"]), *cells)
    console.print(table)
    for line in remarks(study, values, shown):
        console.print(line, style="dim")


def _cell(value: dict[str, float | None], name: str, reference: bool, trials: int) -> str:
    if name in _PAIRED and reference:
        return "reference"
    digits = 3 if name in ("gain_over_gp_ucb_percent", "seconds_a_round") else 4
    if name == "seconds_a_round" or trials < ENOUGH:
        return significant(value["mean"], digits)
    return _with_interval(value["mean"], value["low"], value["high"], digits)


def remarks(study: Study, values: dict[str, dict[str, Any]], shown: Sequence[str]) -> list[str]:
    """What has to be known to read the comparison (`values`) with the columns shown, a line each."""
    lines = []
    trials = [row["trials"] for row in values.values()]
    if max(trials) >= ENOUGH:
        gain = "; of the gain, by bootstrap over trials" if "gain_over_gp_ucb_percent" in shown else ""
        lines.append(f"Intervals: Student's t over trials{gain}.")
    if any(0 < n < ENOUGH for n in trials):
        lines.append(f"Fewer than {ENOUGH} trials are too few for an interval; more --trials give one.")
    if max(trials) == 0:
        lines.append("No trial is complete yet; --resume goes on.")
    if "simulated_again" in shown:
        scenario = study.scenario
        whole = [one for one in study.recommendations() if one.rounds == scenario.rounds]
        values_again = [value for one in whole for value in _held_out(one)]
        lines.append(
            f"Regret is unknown. Recommendations were simulated again on {scenario.held_out} held-out seeds, "
            f"the same for all agents of a trial{_without_result(values_again)}."
        )
    frame, facts = study.to_dataframe(), study.environment
    silent = [group for group in facts.groups if frame[f"y_{group}"].isna().all()]
    if 0 < len(silent) < len(facts.groups):
        lines.append(f"Never observed: {', '.join(silent)}. So the objective is unknown.")
    lines += outlier_lines([Outlier(**one) for row in values.values() for one in row["outliers"]])
    moment, entries = ["trial", "round"], [f"x_{label}" for label in facts.labels]
    alike = len(frame.drop_duplicates(moment + entries)) == len(frame.drop_duplicates(moment))
    if alike and len(trials) > 1 and min(trials) > 0:
        lines.append(
            "All agents tried the same policies: a trial begins with some that they share, and ended there; "
            "more --rounds tell them apart."
        )
    return lines


def print_advice(study: Study, console: Console) -> None:
    """Print every agent's recommended policy, what it predicts of it, and the best it observed."""
    facts = study.environment
    found = {spec.label: typical_advice(study, spec.label) for spec in study.scenario.agents}
    advice = {label: one for label, one in found.items() if one is not None}
    if not advice:
        return
    shared = not study.scenario.environment.new_world_each_trial
    optimum = study.optimum(1) if shared else None
    trials = max(sum(one.agent == label for one in study.recommendations()) for label in advice)
    which = f", each of its median trial of {trials}" if trials > 1 else ""
    console.print()
    console.print(_policy_table(facts, advice, optimum, f"Recommended policies{which}"))
    modelled = {label: one for label, one in advice.items() if one.group_means is not None}
    if modelled:
        console.print()
        console.print(_outcome_table(facts, modelled, optimum))
    console.print()
    console.print(_objective_table(facts, advice, optimum))


def _table(title: str, first: str, names: list[str], units: list[str]) -> Table:
    """An empty table with a column an entry or group; the unit in the title if all share it."""
    shared = len(set(units)) == 1
    whole = f"{title}\n{units[0]}" if shared and units[0] else title
    table = Table(title=whole, title_justify="left", title_style="bold")
    table.add_column(first, no_wrap=True)
    for name, unit in zip(names, units, strict=True):
        table.add_column(name if shared else f"{name}\n{unit}", justify="right")
    return table


def _policy_table(
    facts: Facts, advice: dict[str, Advice], optimum: StoredOptimum | None, title: str
) -> Table:
    table = _table(title, "agent", facts.labels, facts.units)
    for label, one in advice.items():
        table.add_row(label, *_entries(facts, one.policy))
    table.add_section()
    if optimum is not None:
        table.add_row("true optimum", *_entries(facts, optimum.policy))
    if facts.current_policy is not None:
        table.add_row("current practice", *_entries(facts, facts.current_policy))
    return table


def _entries(facts: Facts, policy: list[float]) -> list[str]:
    return [shown(entry) for entry in facts.entries(policy)]


def _outcome_table(facts: Facts, advice: dict[str, Advice], optimum: StoredOptimum | None) -> Table:
    title = "Predicted outcome of the recommended policy by group, with 95 % credible interval"
    table = _table(title, "agent", facts.groups, facts.group_units)
    for label, one in advice.items():
        ends = zip(one.group_means or (), one.group_low or (), one.group_high or (), strict=True)
        table.add_row(label, *(_with_interval(*three) for three in ends))
        if one.expected_outcomes is not None:
            table.add_row("  noise-free", *(significant(entry, 3) for entry in one.expected_outcomes))
        if one.held_out is not None:
            by_group = zip(*one.held_out.outcomes, strict=True)
            table.add_row("  simulated again", *(_over_seeds(seeds) for seeds in by_group))
    if optimum is not None:
        table.add_section()
        table.add_row("at the true optimum", *(significant(entry, 3) for entry in optimum.outcomes))
    return table


def _objective_table(facts: Facts, advice: dict[str, Advice], optimum: StoredOptimum | None) -> Table:
    known = [facts.objective_unit] if facts.objective_unit else []
    if optimum is not None:
        known.append(f"true optimum {significant(optimum.value)}")
    title = "Objective of the recommended policy" + (f" ({'; '.join(known)})" if known else "")
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("agent", no_wrap=True)
    table.add_column("tried", justify="right")
    table.add_column("predicted, 95 % credible", justify="right")
    again = any(one.held_out for one in advice.values())
    table.add_column("simulated again,\n95 % over seeds" if again else "noise-free", justify="right")
    table.add_column("best observed\n(one noisy value)", justify="right")
    table.add_column("policy of the best observed")
    for label, one in advice.items():
        table.add_row(
            label,
            "-" if one.tried is None else str(one.tried) if one.tried else "no",
            _with_interval(one.mean, one.low, one.high, 4),
            _over_seeds(_held_out(one)) if again else significant(one.expected),
            significant(one.best_observed_value),
            ", ".join(_entries(facts, one.best_observed)) if one.best_observed is not None else "-",
        )
    return table


def _held_out(advice: Advice) -> Numbers:
    """The objective of a recommendation on each held-out seed, None where it has no result."""
    return advice.held_out.objective if advice.held_out else []


def _over_seeds(values: Sequence[float | None]) -> str:
    """The mean over held-out seeds, with its interval, and how many of them have no result."""
    found = np.array([value for value in values if value is not None], dtype=np.float64)
    over = mean_interval(found)
    if len(found) < ENOUGH:
        over |= {"low": None, "high": None}
    return _with_interval(over["mean"], over["low"], over["high"], 4) + _without_result(values)


def _without_result(values: Sequence[float | None]) -> str:
    lost = sum(value is None for value in values)
    return f"; no result on {lost} of {len(values)}" if lost else ""


def _with_interval(mean: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    interval = between(low, high)
    return f"{significant(mean, digits)} {interval}" if interval else significant(mean, digits)


def failure_lines(study: Study) -> list[str]:
    """What to say about rounds whose simulation failed: how many, and how to repeat the first."""
    failures = study.failures
    if not failures:
        return []
    first = failures[0]
    cause = on_one_line(first.error) or "no number came back"
    return [
        f"{len(failures)} round{'s' if len(failures) > 1 else ''} failed in the simulator; the first: "
        f"trial {first.trial}, round {first.round}, agent {first.agent}, "
        f"policy {study.environment.entries(first.policy) if first.row is None else first.row}, "
        f"seed {study.scenario.seed} of the scenario: {cause}"
    ]
