"""What a run and `policyloop compare` print: the comparison, and each agent's recommended policy."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from policyloop.messages import on_one_line
from policyloop.plain_text import for_spreadsheet
from scenarios.numbers import between, significant
from scenarios.results.intervals import FEWEST, mean_interval
from scenarios.results.limits import KnownLimits, known_limits
from scenarios.results.remarks import PAIRED, held_out, remarks, without_result
from scenarios.results.statistics import compare, reference_of, typical_advice
from scenarios.study.facts import Facts
from scenarios.study.levers import shown
from scenarios.study.records import Advice, StoredOptimum
from scenarios.study.study import Study
from scenarios.tables import print_table

_COLUMNS = {
    "cumulative_regret": "cumulative regret",
    "average_regret": "average regret",
    "simple_regret": "simple regret",
    "simple_regret_difference": "minus the reference's",
    "cumulative_objective": "cumulative objective, observed",
    "hypervolume": "hypervolume",
    "difference": "minus the reference's",
    "gain_percent": "gain, %",
    "p_value_holm": "p, Holm",
    "simulated_again": "recommendation, simulated again",
    "simulated_again_difference": "minus that of the reference",
    "rounds_that_break_a_limit": "rounds that break a limit",
    "cost": "cost",
    "regret_at_equal_cost": "regret for equal cost",
    "regret_at_equal_cost_difference": "minus the reference's",
    "cost_to_equal_regret": "cost to equal regret",
    "cost_saved_percent": "saved, %",
    "seconds_a_round": "seconds a round",
}
_NARROW = {"gain_percent", "cost_saved_percent", "seconds_a_round", "rounds_that_break_a_limit"}
_ENDS = ("mean", "low", "high")


def as_json(study: Study, reference: str | None = None) -> str:
    """The comparison as JSON: an object by agent."""
    return json.dumps(compare(study, reference), indent=2, allow_nan=False)


def as_csv(study: Study, reference: str | None = None) -> str:
    """The comparison as CSV: a row an agent, three columns a value, then the recommended policy.

    `x_<label>` are the entries of that, `y_<group>`, `y_<group>_low`, `_high` and `_noise_free` what is
    predicted and known of the groups' outcomes. Where policies are stations, `station` and `station_name` are
    last.
    """
    values, facts = compare(study, reference), study.environment
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    some = next(iter(values.values()))
    measured = [name for name, value in some.items() if isinstance(value, dict) and "low" in value]
    plain = ["reference", "p_value", "p_value_holm", "trials", "failed_rounds"]
    groups = [f"y_{group}{end}" for group in facts.groups for end in ("", "_low", "_high", "_noise_free")]
    entries = [f"x_{label}" for label in facts.labels]
    called = {"station": "id", "station_name": "name"} if facts.stations else {}
    header = ["agent", *(f"{name}_{end}" for name in measured for end in _ENDS), *plain]
    writer.writerow([for_spreadsheet(name) for name in [*header, *entries, *groups, "keeps_limits", *called]])
    for label, row in values.items():
        cells = [row[name][end] for name in measured for end in _ENDS] + [row[name] for name in plain]
        advice = row["recommendation"] or {}
        cells += [advice.get("policy", {}).get(label) for label in facts.labels]
        known = advice.get("groups") or {}
        cells += [known.get(group, {}).get(end) for group in facts.groups for end in (*_ENDS, "noise_free")]
        cells.append(advice.get("keeps_limits"))
        cells += [(advice.get("station") or {}).get(key) for key in called.values()]
        writer.writerow(
            [for_spreadsheet(cell) if isinstance(cell, str) else cell for cell in [label, *cells]]
        )
    return text.getvalue()


def print_report(study: Study, console: Console, reference: str | None = None) -> None:
    """Print the comparison, then each agent's recommended policy beside the true optimum."""
    print_comparison(study, console, reference)
    print_advice(study, console)


def print_comparison(study: Study, console: Console, reference: str | None = None) -> None:
    """Print the table of agents: regrets, paired differences and time, with 95 % intervals over trials."""
    against = reference_of(study, reference)
    values = compare(study, against)
    scenario = study.scenario
    shown = [name for name in _COLUMNS if any(_known(one[name]) for one in values.values())]
    if len(values) == 1:
        shown = [name for name in shown if name not in PAIRED]
    if "cumulative_regret" in shown:  # the gain says it
        shown = [name for name in shown if name != "difference"]
    unit = study.environment.objective_unit
    measured = [word for word in ("objective", "regret") if f"cumulative_{word}" in shown]
    what = "".join(f", {word} in {unit}" if unit else f", {word}" for word in measured)
    title = f"{scenario.name}: {scenario.rounds} rounds{what}; mean"
    enough = any(row["trials"] >= FEWEST for row in values.values())
    table = Table(
        title=f"{title} and 95 % interval" if enough else title, title_justify="left", title_style="bold"
    )
    table.add_column("agent", no_wrap=True)
    table.add_column("trials", justify="right")
    for name in shown:
        table.add_column(_COLUMNS[name], justify="right")
    for label in scenario.labels:
        row = values[label]
        cells = [_cell(row[name], name, label == against) for name in shown]
        table.add_row(label, str(row["trials"]), *cells)
    print_table(table, console)
    for line in remarks(study, values, shown):
        console.print(line, style="dim")


def _known(value: dict[str, float | None] | float | None) -> bool:
    return (value["mean"] if isinstance(value, dict) else value) is not None


def _cell(value: dict[str, float | None] | float | None, name: str, reference: bool) -> str:
    if name in PAIRED and reference:
        return "reference"
    if not isinstance(value, dict):
        return significant(value, 2)
    digits = 3 if name in _NARROW else 4
    if name == "seconds_a_round":
        return significant(value["mean"], digits)
    return _with_interval(value["mean"], value["low"], value["high"], digits)


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
    print_table(_policy_table(facts, advice, optimum, f"Recommended policies{which}"), console)
    modelled = {label: one for label, one in advice.items() if one.group_means is not None}
    if modelled:
        console.print()
        print_table(_outcome_table(facts, modelled, optimum), console)
    console.print()
    print_table(_objective_table(facts, advice, optimum, known_limits(study)), console)


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
    if facts.stations:
        table.add_column("station")
    for label, one in advice.items():
        table.add_row(label, *_entries(facts, one.policy), *_station(facts, one.policy))
    table.add_section()
    if optimum is not None:
        table.add_row("true optimum", *_entries(facts, optimum.policy), *_station(facts, optimum.policy))
    if facts.current_policy is not None:
        table.add_row("current practice", *_entries(facts, facts.current_policy))
    return table


def _entries(facts: Facts, policy: list[float]) -> list[str]:
    return [shown(entry) for entry in facts.entries(policy)]


def _station(facts: Facts, policy: list[float]) -> list[str]:
    station = facts.station(policy)
    return [] if station is None else [on_one_line(str(station))]


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


def _objective_table(
    facts: Facts, advice: dict[str, Advice], optimum: StoredOptimum | None, limits: KnownLimits | None
) -> Table:
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
    if limits is not None:
        table.add_column("limits, by noise-free outcomes")
    for label, one in advice.items():
        table.add_row(
            label,
            "-" if one.tried is None else str(one.tried) if one.tried else "no",
            _with_interval(one.mean, one.low, one.high, 4),
            _over_seeds(held_out(one)) if again else significant(one.expected),
            significant(one.best_observed_value),
            ", ".join(_station(facts, one.best_observed) or _entries(facts, one.best_observed))
            if one.best_observed is not None
            else "-",
            *([] if limits is None else [limits.in_words(one.expected_outcomes)]),
        )
    return table


def _over_seeds(values: Sequence[float | None]) -> str:
    """The mean over held-out seeds, with its interval, and how many of them have no result."""
    found = np.array([value for value in values if value is not None], dtype=np.float64)
    over = mean_interval(found)
    return _with_interval(over["mean"], over["low"], over["high"], 4) + without_result(values)


def _with_interval(mean: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    interval = between(low, high)
    return f"{significant(mean, digits)} {interval}" if interval else significant(mean, digits)


def _policy_of(facts: Facts, policy: list[float], row: int | None) -> str:
    """A policy in a message: a candidate by its station and its row."""
    if row is None:
        return str(facts.entries(policy))
    return " ".join([*_station(facts, policy), str(row)])


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
        f"policy {_policy_of(study.environment, first.policy, first.row)}, "
        f"seed {study.scenario.seed} of the scenario: {cause}"
    ]
