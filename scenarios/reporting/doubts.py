"""What is not known: what failed, surprised, lies far from all that was simulated, or is unfinished."""

from __future__ import annotations

from policyloop.messages import on_one_line
from scenarios.questions.answer import extrapolation
from scenarios.reporting.advising import todays_name, unsure_limits
from scenarios.reporting.data import data_of
from scenarios.reporting.document import Block, Cell, Paragraph, Points, Section, Table
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language
from scenarios.results.remarks import shares_its_prior
from scenarios.study.study import Study

MOST_ROWS = 12


def doubting(known: Known, words: Language) -> Section:
    """All that speaks against relying on the report."""
    say, study = words.say, known.study
    points = [*_unfinished(study, words), *_contradicted(known, words), *_extrapolation(known, words)]
    points += _prior(study, words)
    points += [
        say("doubts.accepted", change=change) for run in study.runs for change in run.get("accepted") or ()
    ]
    if "repaired" in study.meta:
        points.append(
            say("doubts.repaired", **{k: study.meta["repaired"].get(k, "-") for k in ("when", "from")})
        )
    if study.lost:
        points.append(
            say("doubts.lost", rows=", ".join(f"{name} {count}" for name, count in study.lost.items()))
        )
    blocks: list[Block] = [Points(points)] if points else []
    blocks += _failures(study, words)
    blocks += _surprises(known, words)
    blocks += data_of(study, words)
    blocks.append(Paragraph(say("doubts.model"), "note"))
    return Section("unknown", say("doubts.heading"), blocks)


def _unfinished(study: Study, words: Language) -> list[str]:
    scenario, found = study.scenario, []
    counts: dict[str, list[int]] = {}
    for label in scenario.labels:
        own = [len(study.history(trial, label)) for trial in range(1, scenario.trials + 1)]
        counts[label] = own
        whole = sum(n >= scenario.rounds for n in own)
        if whole < scenario.trials:
            found.append(
                words.say(
                    "doubts.unfinished",
                    agent=label,
                    whole=whole,
                    trials=scenario.trials,
                    rounds=words.whole(sum(own)),
                )
            )
    return found


def _contradicted(known: Known, words: Language) -> list[str]:
    """Where what is known without noise lies outside what all rounds predict of it."""
    found = []
    asked = [(words.say("groups.recommended"), known.chosen)]
    if known.believed is not None:  # else what is held against is no prediction
        asked.append((todays_name(known, words), known.today))
    for name, one in asked:
        predicted = None if one is None or one.predicted is None else one.predicted.objective
        if one is None or one.exact is None or predicted is None:
            continue
        if predicted.low > one.exact or one.exact > predicted.high:
            values = {"exact": words.number(one.exact, 4), "estimate": words.estimate(predicted)}
            found.append(words.say("doubts.contradicted", policy=name, **values))
    return found


def _extrapolation(known: Known, words: Language) -> list[str]:
    """How far the recommendation lies from what was simulated, and whether the model holds there."""
    if known.believed is None:
        return [words.say("doubts.unasked", why=known.unasked)] if known.unasked else []
    found, chosen, believed = [], known.chosen, known.believed
    if chosen is not None:
        if not chosen.tried:
            found.append(words.say("doubts.predicted"))
        distance, unsure = extrapolation(believed.agent, chosen.point.travels)
        shares = {"distance": words.percent(distance), "unsure": words.percent(min(unsure, 1.0))}
        found.append(words.say("doubts.here" if chosen.tried else "doubts.distance", **shares))
        if limits := unsure_limits(known, words):
            found.append(limits)
    found += [words.say("doubts.remark", remark=line) for line in believed.answer.remarks]
    return found


def _prior(study: Study, words: Language) -> list[str]:
    found = []
    if study.scenario.trials > 1 and shares_its_prior(study):
        found.append(words.say("doubts.shared_prior"))
    if study.scenario.environment.new_world_each_trial:
        found.append(words.say("doubts.worlds"))
    return found


def _failures(study: Study, words: Language) -> list[Block]:
    failures, say = study.failures, words.say
    if not failures:
        return [Paragraph(say("doubts.none_failed"))] if study.rounds() else []
    rows: list[list[Cell]] = [
        [
            f"{one.trial} / {one.agent} / {one.round}",
            one.status,
            words.entries(study.environment.titled(one.policy)),
            on_one_line(one.error) or say("doubts.no_number"),
        ]
        for one in failures[:MOST_ROWS]
    ]
    head = [say("doubts.where"), say("doubts.status"), say("advice.policy"), say("doubts.reason")]
    count = {"count": words.whole(len(failures)), "rounds": words.whole(len(study.rounds()))}
    caption = say("doubts.failed_caption", shown=len(rows), **count)
    return [
        Paragraph(say("doubts.failed", **count), "warning"),
        Table(caption, head, rows, text_columns=(1, 2, 3)),
    ]


def _surprises(known: Known, words: Language) -> list[Block]:
    """Observations far from what the agent had predicted, the furthest first."""
    say = words.say
    found = [one for row in known.comparison.values() for one in row["outliers"]]
    if not found:
        return [Paragraph(say("doubts.no_surprise"))] if known.study.rounds() else []
    far = sorted(found, key=lambda one: -abs(one["value"] - one["predicted"]) / (one["deviation"] or 1e-300))
    rows = [
        [
            f"{one['trial']} / {one['agent']} / {one['round']}",
            say("doubts.composed") if one["group"] is None else one["group"],
            words.number(one["value"]),
            f"{words.number(one['predicted'])} ± {words.number(one['deviation'], 2)}",
        ]
        for one in far[:MOST_ROWS]
    ]
    head = [say("doubts.where"), say("groups.group"), say("doubts.observed"), say("doubts.was_predicted")]
    caption = say("doubts.surprises", count=words.whole(len(found)), shown=len(rows))
    return [Table(caption, head, rows, text_columns=(1,))]
