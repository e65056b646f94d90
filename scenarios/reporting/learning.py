"""How it was learned: the best so far by agent, regret, and the agents compared in pairs."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from policyloop.plain_text import for_figure
from scenarios.figures.drawing import looks
from scenarios.figures.regret import regret_figure
from scenarios.reporting import figures
from scenarios.reporting.document import Block, Drawing, Paragraph, Points, Section, Table
from scenarios.reporting.drawing import inline
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language
from scenarios.results.remarks import remarks
from scenarios.results.statistics import curves

PAIRED = (
    "simple_regret_difference",
    "difference",
    "gain_percent",
    "p_value_holm",
    "simulated_again_difference",
)
COLUMNS = (
    "cumulative_regret", "simple_regret", "simple_regret_difference", "cumulative_objective", "hypervolume",
    "difference", "gain_percent", "p_value_holm", "simulated_again", "simulated_again_difference",
    "rounds_that_break_a_limit", "seconds_a_round",
)  # fmt: skip


def learning(known: Known, words: Language) -> Section:
    """How the agents came to their recommendations."""
    say, study = words.say, known.study
    blocks: list[Block] = [Paragraph(_how(known, words))]
    blocks += _best_so_far(known, words)
    unit = study.environment.objective_unit
    measure = "regret" if bool(study.to_dataframe()["regret"].notna().any()) else "objective"
    if curves(study, measure, average=False):
        caption = say(f"learning.cumulative_{measure}")
        told = "; ".join(
            f"{label}: {words.number(float(curve.mean[-1]))}"
            for label, curve in curves(study, measure, False).items()
        )

        def draw() -> Figure:
            figure = regret_figure(study, measure, average=False)
            assert figure is not None
            figure.axes[0].set_title("", loc="left")
            figure.axes[0].set_ylabel(for_figure(unit or measure))
            figure.set_size_inches(figures.WIDTH, 3.4)
            return figure

        blocks.append(Drawing(inline(draw, "regret", caption, told), caption))
    table, shown = _compared(known, words)
    blocks += [table, Points([*remarks(study, known.comparison, shown)])]
    return Section("learning", say("learning.heading"), blocks)


def _how(known: Known, words: Language) -> str:
    study = known.study
    scenario, seconds = study.scenario, [one.step_seconds for one in study.rounds()]
    return words.say(
        "learning.how",
        agents=words.listed(scenario.labels),
        rounds=words.whole(scenario.rounds),
        trials=words.trials(scenario.trials),
        stored=words.whole(len(seconds)),
        seconds=words.number(float(np.mean(seconds)) if seconds else None, 2),
    )


def _best_so_far(known: Known, words: Language) -> list[Block]:
    """The best objective reached until each round: noise-free where that is known of all."""
    study, sign = known.study, known.sign
    frame = study.to_dataframe()
    column = "expected" if bool(frame["expected"].notna().any()) else "objective"
    found = {}
    for label in study.scenario.labels:
        own = frame[frame["agent"] == label].pivot(index="trial", columns="round", values=column)
        if own.empty:
            continue
        best = sign * np.fmax.accumulate(sign * own.to_numpy(dtype=float), axis=1)  # a failed round adds none
        whole = best[np.isfinite(best).all(axis=1)]
        if len(whole) and whole.shape[1] > 1:
            found[label] = whole
    if not found or study.environment.lives:
        return []
    optimum = study.optimum(1) if not study.scenario.environment.new_world_each_trial else None
    value = None if optimum is None or column == "objective" else optimum.value
    label = study.environment.objective_unit or words.say("groups.objective")
    caption = words.say(f"learning.best_{column}_caption")
    told = "; ".join(f"{name}: {words.number(float(v[:, -1].mean()))}" for name, v in found.items())
    svg = inline(lambda: figures.best_so_far(found, looks(study), label, words, value), "best", caption, told)
    return [Drawing(svg, caption)]


def _compared(known: Known, words: Language) -> tuple[Table, list[str]]:
    """The table of `compare`; and which of its columns are shown."""
    values, say = known.comparison, words.say
    against = next(iter(values.values()))["reference"]
    shown = [name for name in COLUMNS if any(_known(one[name]) for one in values.values())]
    if len(values) == 1:
        shown = [name for name in shown if name not in PAIRED]
    if "cumulative_regret" in shown:  # the gain says it
        shown = [name for name in shown if name != "difference"]
    unit = known.study.environment.objective_unit
    rows: list[list[str]] = []
    strong = []
    for label, row in values.items():
        if label == known.leader:
            strong.append(len(rows))
        cells = [
            say("learning.reference")
            if name in PAIRED and label == against
            else _cell(row[name], name, words)
            for name in shown
        ]
        rows.append([label, words.whole(row["trials"]), *cells])
    head = [say("advice.agent"), say("learning.trials"), *(say(f"learning.column.{name}") for name in shown)]
    return Table(say("learning.caption", unit=f" ({unit})" if unit else ""), head, rows, strong=strong), shown


def _known(value: object) -> bool:
    return (value["mean"] if isinstance(value, dict) else value) is not None


def _cell(value: object, name: str, words: Language) -> str:
    if not isinstance(value, dict):
        return words.number(value if isinstance(value, float) else None, 2)
    if name == "seconds_a_round":
        return words.number(value["mean"])
    if name == "rounds_that_break_a_limit":
        return words.percent(value["mean"])
    return words.estimate(value)
