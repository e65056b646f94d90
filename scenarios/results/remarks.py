"""The sentences below a comparison: what has to be known to read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scenarios.numbers import significant
from scenarios.results.costs import COST
from scenarios.results.hypervolume import hypervolumes
from scenarios.results.intervals import FEWEST
from scenarios.results.limits import has_functions
from scenarios.results.outliers import Outlier, outlier_lines
from scenarios.study.records import ALL_TRIALS, Advice, Numbers
from scenarios.study.study import Study

PAIRED = {
    "simple_regret_difference",
    "difference",
    "gain_percent",
    "p_value_holm",
    "simulated_again_difference",
    "regret_at_equal_cost_difference",
    "cost_saved_percent",
}
"""Columns of a comparison that are differences from the reference."""

_SCALED = {
    ", of regrets on a logarithmic scale": {"cumulative_regret"},
    ", of costs too": {"cost"},
    ", of shares on a logistic scale": {"rounds_that_break_a_limit"},
}


def remarks(study: Study, values: dict[str, dict[str, Any]], shown: Sequence[str]) -> list[str]:
    """What has to be known to read the comparison (`values`) with the columns shown, a line each."""
    lines = []
    trials = [row["trials"] for row in values.values()]
    if PAIRED & set(shown):
        against = next(iter(values.values()))["reference"]
        lines.append(f"Reference: {against}. Differences are paired by trial, a gain is in % of its mean.")
    if "p_value_holm" in shown:
        compared = sum(row["p_value"] is not None for row in values.values())
        corrected = f", corrected by Holm for the {compared} agents compared" if compared > 1 else ""
        lines.append(f"p: of the paired difference, by Student's t{corrected}.")
    if max(trials) >= FEWEST:
        lines.append(_about_intervals(values, shown))
    if any(0 < n < FEWEST for n in trials):
        lines.append(f"Fewer than {FEWEST} trials are too few for an interval; more --trials give one.")
    if max(trials) == 0:
        lines.append("No trial is complete yet; --resume goes on.")
    if max(trials) > 1 and shares_its_prior(study):
        lines.append(
            "All trials share one learned prior: intervals leave its luck out; prior.each_trial = true draws "
            "one a trial."
        )
    lines += _about_hypervolumes(study, shown)
    lines += _about_costs(study, shown)
    lines += _about_limits(study, shown)
    if "simulated_again" in shown:
        scenario = study.scenario
        whole = [one for one in study.recommendations() if one.rounds == scenario.rounds]
        values_again = [value for one in whole for value in held_out(one)]
        lines.append(
            f"Regret is unknown. Recommendations were simulated again on {scenario.held_out} held-out seeds, "
            f"the same for all agents of a trial{without_result(values_again)}."
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


def _about_intervals(values: dict[str, dict[str, Any]], shown: Sequence[str]) -> str:
    scales = [word for word, names in _SCALED.items() if names & set(shown)]
    text = f"Intervals: Student's t over trials{''.join(scales)}"
    if "gain_percent" in shown:
        text += "; of the gain, Fieller's"
        if any(row["trials"] >= FEWEST and _open(row["gain_percent"]) for row in values.values()):
            text += ", which has no ends where the reference's mean cannot be told from zero"
    return f"{text}."


def _open(value: dict[str, float | None]) -> bool:
    return value["mean"] is not None and value["low"] is None


def shares_its_prior(study: Study) -> bool:
    """Whether one prior, learned from samples, was given to all trials."""
    world = study.worlds.get(ALL_TRIALS)
    return study.scenario.prior.source == "samples" and world is not None and bool(world.priors)


def _about_hypervolumes(study: Study, shown: Sequence[str]) -> list[str]:
    measured = hypervolumes(study) if "hypervolume" in shown else None
    if measured is None:
        return []
    corner = ", ".join(f"{name} {significant(value)}" for name, value in measured.reference.items())
    what = "noise-free outcomes" if measured.noise_free else "observed outcomes"
    return [
        f"Hypervolume: of {what}, above the reference point {corner}. The recommended policy is the one that "
        "has most of all objectives together; policyloop frontier shows the others."
    ]


def _about_costs(study: Study, shown: Sequence[str]) -> list[str]:
    if "cost" not in shown:
        return []
    unit = (study.environment.info_units or {}).get(COST, "")
    lines = [
        f"Cost: of what was observed{f', in {unit}' if unit else ''}; a round that failed counts as none."
    ]
    if "cost_to_equal_regret" in shown:
        lines.append(
            "Regret for equal cost: the mean over its units, of as many as the agent that spent least in the "
            "trial. Cost to equal regret: until a policy was tried as good as the reference's best; all that "
            "was spent, where none was."
        )
    return lines


def _about_limits(study: Study, shown: Sequence[str]) -> list[str]:
    if not study.limits:
        return []
    lines = []
    if "cumulative_regret" in shown:
        lines.append("A round that breaks a limit is charged as the worst policy that keeps all.")
    if has_functions(study):
        lines.append(
            "A limit is a function, which is code and not run here: rounds that break limits are not counted."
        )
    elif all(one.expected_outcomes is None for one in study.rounds()):
        lines.append("Noise-free outcomes are unknown: rounds that break a limit are told by those observed.")
    return lines


def held_out(advice: Advice) -> Numbers:
    """The objective of a recommendation on each held-out seed, None where it has no result."""
    return advice.held_out.objective if advice.held_out else []


def without_result(values: Sequence[float | None]) -> str:
    """How many values there are not, in words; nothing where there are all."""
    lost = sum(value is None for value in values)
    return f"; no result on {lost} of {len(values)}" if lost else ""
