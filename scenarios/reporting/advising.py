"""The second section: which policy, how good, how sure, and whose recommendation it is."""

from __future__ import annotations

import math
from typing import Any

from scenarios.questions.estimate import Estimate
from scenarios.reporting.counting import CASES, DOSES, compared, counts, less, told_by_objective
from scenarios.reporting.document import Block, Cell, Numbers, Paragraph, Section, Table
from scenarios.reporting.judging import Judged, Valued
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language
from scenarios.reporting.observed import Observed, noisy
from scenarios.reporting.persons import in_persons
from scenarios.results.limits import known_limits
from scenarios.results.statistics import complete_advice, simulated_again, typical_advice
from scenarios.study.records import ALL_TRIALS

ALMOST = 0.999
NOTHING = 1e-9
"""A change below this share is one of the last digits only."""
TEMPERATURES = ("K", "degC", "degF", "°C", "°F")
"""Units of which a share says nothing."""
MOST_CHANGE = 1.0
"""A change beyond this share is one from little, and is told as a difference: nobody can improve by 263 %."""
SURE = 0.95
"""Probability to be better than today's practice below which a reader is warned."""


def advising(
    known: Known,
    before: Observed | None,
    after: Observed | None,
    without: Observed | None,
    words: Language,
) -> Section:
    """The recommendation; `without` is what was observed with every lever at zero."""
    say = words.say
    blocks: list[Block] = []
    if known.chosen is None:
        blocks.append(Paragraph(_why_none(known, words), "warning"))
    else:
        blocks += [
            Paragraph(_lead(known, known.chosen, words), "lead"),
            Paragraph(_value(known, known.chosen, words)),
        ]
        if known.better is not None and known.better < SURE and not _same(known):
            told = {"today": todays_name(known, words), "probability": chance(known.better, words)}
            key = "advice.worse" if known.better == 0 else "advice.doubtful"
            blocks.append(Paragraph(say(key, **told), "warning"))
        unsure = unsure_limits(known, words)
        if unsure:
            blocks.append(Paragraph(unsure, "warning"))
        blocks.append(_numbers(known, known.chosen, before, after, without, words))
        checked = _checked(known, known.chosen, words)
        if checked:
            blocks.append(Paragraph(checked))
        blocks.append(Paragraph(_whose(known, words), "note"))
    table = _agents(known, words)
    if table.rows:
        blocks += [table, Paragraph(say("advice.spread_note"), "note")]
    if too_good := _too_good(known, words):
        blocks.append(Paragraph(too_good, "note"))
    return Section("recommendation", say("advice.heading"), blocks)


def _same(known: Known) -> bool:
    """Whether the recommendation is what it is held against."""
    return known.chosen is not None and known.today is not None and known.chosen.point == known.today.point


def _why_none(known: Known, words: Language) -> str:
    rounds, failures = known.study.rounds(), known.study.failures
    if not rounds:
        return words.say("advice.no_rounds")
    if len(failures) == len(rounds):
        return words.say("advice.all_failed", count=words.whole(len(rounds)))
    return words.say("advice.none", why=known.unasked or words.say("advice.unfinished"))


def _lead(known: Known, chosen: Judged, words: Language) -> str:
    units = set(known.study.environment.units)
    unit = f" ({units.pop()})" if len(units) == 1 and "" not in units else ""
    row = "" if chosen.point.row is None else words.say("advice.candidate", row=chosen.point.row)
    complete = any(row["trials"] for row in known.comparison.values())
    key = "advice.lead" if known.advice is not None else "advice.no_model" if complete else "advice.so_far"
    text = words.say(key, policy=words.policy(chosen.entries), unit=unit, candidate=row)
    tried = "advice.tried" if chosen.tried else "advice.untried"
    return f"{text} {words.say(tried, times=words.times(chosen.tried))}"


def _value(known: Known, chosen: Judged, words: Language) -> str:
    """What it is worth, and of what kind that number is; the same of what it is held against."""
    unit = words.after(known.study.environment.objective_unit)
    if chosen.objective is None:
        return words.say("advice.no_value")
    text = words.say(f"value.{chosen.best.kind}", unit=unit, **_sources(known, chosen.best, words))
    today = known.today
    if today is None or today.objective is None or today.point == chosen.point:
        return text if today is None or today.point != chosen.point else f"{text} {words.say('advice.same')}"
    name = todays_name(known, words)
    if known.todays_name:
        name = words.say("advice.todays", name=name)
    told = {"today": name, "estimate": words.estimate(today.objective), "unit": unit}
    text += " " + words.say("advice.against", kind=kind_of(today.best, words), **told)
    share = change(today.objective.mean, chosen.objective.mean, known.study.environment.objective_unit)
    apart = chosen.objective.mean - today.objective.mean
    if share is not None:
        key = "advice.less" if share < 0 else "advice.more"
        text += " " + words.say(key, percent=words.percent(abs(share)))
    elif math.isfinite(apart):
        key = "advice.less_by" if apart < 0 else "advice.more_by"
        text += " " + words.say(key, amount=words.number(abs(apart)) + unit)
    if known.better is not None:
        text += " " + _better(known, known.better, words)
    return text


def _sources(known: Known, best: Valued, words: Language) -> dict[str, Any]:
    """Whose word a value is."""
    told: dict[str, Any] = {"estimate": words.estimate(best.objective), "times": words.whole(best.steps)}
    told["agent"] = known.leader or ""
    if known.believed is not None:
        found = known.believed.found
        told |= {"rounds": words.whole(len(found.rounds)), "agents": words.listed(found.agents)}
    elif best.kind == "predicted":
        told |= {"rounds": words.whole(known.study.scenario.rounds), "agents": known.leader or ""}
    return told


def kind_of(best: Valued, words: Language) -> str:
    """Of what kind a value is, in a few words: "without noise", "predicted"."""
    return words.say(f"kind.{best.kind}", times=words.whole(best.steps))


def _better(known: Known, probability: float, words: Language) -> str:
    assert known.chosen is not None and known.today is not None
    if {known.chosen.best.kind, known.today.best.kind} == {"exact"}:
        return words.say("advice.surely_better" if probability > 0.5 else "advice.surely_not")
    return words.say("advice.better", probability=chance(probability, words))


def unsure_limits(known: Known, words: Language) -> str:
    """That the limits are not kept as surely as was asked for; "" where they are, or there is none."""
    asked, chosen = known.study.scenario.limit_probability, known.chosen
    if chosen is None or chosen.probability is None or chosen.probability >= asked - 1e-3:
        return ""
    values = {"probability": words.percent(chosen.probability, 3), "asked": words.percent(asked)}
    return words.say("doubts.limits", **values)


def chance(probability: float, words: Language) -> str:
    """A probability in per cent; nothing that is only believed is certain."""
    if probability > ALMOST:
        return words.say("number.above", value=words.percent(ALMOST, 3))
    if probability < 1 - ALMOST:
        return words.say("number.below", value=words.percent(1 - ALMOST, 1))
    return words.percent(probability, 3)


def change(before: float, after: float, unit: str = "") -> float | None:
    """By which share a value changes; None where that says nothing, as of temperatures."""
    if (
        unit in TEMPERATURES
        or not (math.isfinite(before) and math.isfinite(after))
        or before == 0
        or before * after < 0
    ):
        return None
    share = (after - before) / abs(before)
    if abs(share) > MOST_CHANGE:
        return None
    return share if abs(share) > NOTHING else 0.0


def signed(share: float | None, words: Language) -> str:
    """A change in per cent, with its sign."""
    if share is None:
        return "-"
    sign = "" if share == 0 else "+" if share > 0 else "\N{MINUS SIGN}"
    return f"{sign}{words.percent(abs(share))}"


def todays_name(known: Known, words: Language) -> str:
    """Of what the recommendation is held against."""
    if known.study.environment.current_policy is not None and known.today is not None:
        return known.todays_name or words.say("question.today")
    return words.say("groups.first")


def difference(one: Estimate, other: Estimate) -> Estimate:
    """One minus the other, their errors taken as independent: what they share would make it surer."""
    mean = one.mean - other.mean
    low = math.hypot(one.mean - one.low, other.high - other.mean)
    high = math.hypot(one.high - one.mean, other.mean - other.low)
    return Estimate(mean, mean - low, mean + high)


def _numbers(
    known: Known,
    chosen: Judged,
    before: Observed | None,
    after: Observed | None,
    without: Observed | None,
    words: Language,
) -> Numbers:
    say, facts = words.say, known.study.environment
    items: list[tuple[str, str, str]] = []
    today = known.today
    if chosen.objective is not None:
        unit, kind = facts.objective_unit, kind_of(chosen.best, words)
        ends = between(chosen.objective, words)
        name = words.with_unit(say("advice.objective", kind=kind), unit)
        items.append((words.number(chosen.objective.mean), name, ends))
        if today is not None and today.objective is not None and today.point != chosen.point:
            items += _moved(known, chosen.objective, today.objective, words)
    items += _counted(known, before, after, without, words)
    if chosen.probability is not None:
        items.append((chance(chosen.probability, words), say("advice.limits_kept"), ""))
    return Numbers(items)


def _moved(known: Known, chosen: Estimate, today: Estimate, words: Language) -> list[tuple[str, str, str]]:
    """How the objective changes: in per cent where that says something, and in persons."""
    say, unit = words.say, known.study.environment.objective_unit
    apart, share = difference(chosen, today), change(today.mean, chosen.mean, unit)
    name, ends = say("advice.change", today=todays_name(known, words)), between(apart, words)
    items = [(words.number(apart.mean), words.with_unit(name, unit), ends)]
    if share is not None:
        moved = words.number(apart.mean) + words.after(unit)
        items = [(signed(share, words), name, ", ".join(part for part in (moved, ends) if part))]
    counted = in_persons(known.study, difference(today, chosen))
    if counted is not None:
        what, averted = counted
        low, high = averted.low, averted.high
        if averted.mean < 0:
            low, high = -high, -low
        told = {"low": words.persons(low), "high": words.persons(high)}
        note = say("number.between", **told) if math.isfinite(low) and low != high else ""
        items.append((words.persons(abs(averted.mean)), less(what, averted.mean, words), note))
    return items


def _counted(
    known: Known, before: Observed | None, after: Observed | None, without: Observed | None, words: Language
) -> list[tuple[str, str, str]]:
    """Cases, deaths and the like averted against today's practice; doses, and doses a case averted."""
    say, items = words.say, []
    found = {one.key: one for one in compared(known, before, after)}
    seasons = _seasons(known, before, after, words)
    for key, one in found.items():
        told = key in (DOSES, told_by_objective(known.study))
        if one.averted is not None and one.before is not None and not told:
            ends = [words.persons(float(each.sum())) for each in (one.before, one.after)]
            note = ", ".join([say("advice.cases_of", before=ends[0], after=ends[1]), *seasons])
            items.append((words.persons(abs(one.averted)), less(key, one.averted, words), note))
    if DOSES not in found:
        return items
    given, ill = found[DOSES], found.get(CASES)
    today = None if given.before is None else words.persons(float(given.before.sum()))
    note = "" if today is None else say("advice.doses_today", count=today)
    items.append((words.persons(float(given.after.sum())), say("advice.doses"), note))
    more = -(given.averted or 0.0)
    if ill is not None and (ill.averted or 0.0) > 0 and more > NOTHING * float(given.after.sum()):
        assert ill.averted is not None
        note = say("advice.against_today", today=todays_name(known, words), doses=words.persons(more))
        items.append((words.number(more / ill.averted), say("advice.more_doses_a_case"), note))
    none = counts(known.study, without, None).get(CASES)
    if none is not None and ill is not None and (averted := float(none.sum() - ill.after.sum())) > 0:
        note = say("advice.against_nothing", averted=words.persons(averted))
        items.append((words.number(float(given.after.sum()) / averted), say("advice.doses_a_case"), note))
    return items


def _seasons(known: Known, before: Observed | None, after: Observed | None, words: Language) -> list[str]:
    """Of how many seasons a count is, where another season would have another."""
    if before is None or after is None or not noisy(known.study, after):
        return []
    if before.rounds == after.rounds == 1:
        return [words.say("advice.one_season")]
    counts_ = {"before": words.whole(before.rounds), "after": words.whole(after.rounds)}
    return [words.say("advice.seasons", **counts_)]


def between(one: Estimate, words: Language) -> str:
    """An interval in words; "" where there is none, or no noise is left."""
    if not (math.isfinite(one.low) and math.isfinite(one.high)) or one.low == one.high:
        return ""
    return words.say("number.between", low=words.number(one.low), high=words.number(one.high))


def _checked(known: Known, chosen: Judged, words: Language) -> str:
    """What was predicted of a policy that was simulated, the true optimum, and whether limits are kept."""
    unit, parts = words.after(known.study.environment.objective_unit), []
    predicted = chosen.predicted
    if chosen.best.kind != "predicted" and predicted is not None and predicted.objective is not None:
        told = _sources(known, predicted, words)
        parts.append(words.say("advice.had_predicted", unit=unit, **told))
    optimum = optimum_of(known)
    if optimum is not None and chosen.exact is not None and known.sign * (optimum - chosen.exact) >= 0:
        parts.append(words.say("advice.optimum", value=words.number(optimum, 4), unit=unit))
    limits = known_limits(known.study)
    if limits is not None and chosen.exact_groups is not None:
        parts.append(words.say("advice.keeps", what=limits.in_words(chosen.exact_groups)))
    return " ".join(" ".join(part.split()) for part in parts)


def optimum_of(known: Known) -> float | None:
    """The true optimum of the world of the recommendation, where the study knows it."""
    found = known.study.optimum(known.advice.trial if known.advice is not None else 1)
    return None if found is None else found.value


def _too_good(known: Known, words: Language) -> str:
    """Whose predictions lie beyond the true optimum of their own world; "" where nobody's do."""
    found = []
    for label in known.comparison:
        one = typical_advice(known.study, label)
        best = None if one is None else known.study.optimum(one.trial)
        if one is None or best is None or one.mean is None:
            continue
        if known.sign * (one.mean - best.value) > NOTHING * abs(best.value):
            found.append(label)
    return words.say("advice.too_good", agents=words.listed(found)) if found else ""


def _whose(known: Known, words: Language) -> str:
    if known.advice is None:
        return words.say("advice.whose_rounds")
    study = known.study
    trials = len(complete_advice(study, known.advice.agent))
    text = words.say("advice.whose", agent=known.advice.agent)
    key = "advice.median" if trials > 1 else "advice.only_trial"
    text += " " + words.say(key, trial=known.advice.trial, trials=trials)
    believed = known.believed
    if believed is not None:
        best = believed.answer.best
        where = "advice.pooled" if believed.found.world == ALL_TRIALS else "advice.pooled_world"
        text += " " + words.say(
            where, policy=words.policy(best.policy), estimate=words.estimate(best.objective)
        )
    return text


def _agents(known: Known, words: Language) -> Table:
    """Every agent's recommendation as `compare` has it, with the spread of its trials."""
    study, say = known.study, words.say
    facts = study.environment
    exact = any(one.expected is not None for one in study.recommendations())
    head = [say("advice.agent"), say("advice.trial"), say("advice.policy"), say("advice.simulated")]
    head += [words.with_unit(say("advice.objective_predicted"), facts.objective_unit)]
    head += [say("advice.noise_free") if exact else say("advice.simulated_again"), say("advice.spread")]
    rows: list[list[Cell]] = []
    strong = []
    for label, row in known.comparison.items():
        said = row["recommendation"]
        if said is None:
            continue
        whole = complete_advice(study, label)
        one = next(advice for advice in whole if advice.trial == said["trial"])
        again, means = row["simulated_again"], simulated_again(study, label)
        found = [one.expected if exact else means.get(one.trial, one.mean) for one in whole]
        values = [value for value in found if value is not None]
        if label == known.leader:
            strong.append(len(rows))
        rows.append(
            [
                label,
                f"{said['trial']} / {len(whole)}",
                words.entries(facts.titled(one.policy)),
                "-" if one.tried is None else words.times(one.tried),
                words.estimate(said["objective"]),
                words.number(said["objective"]["noise_free"]) if exact else words.estimate(again),
                say("number.range", low=words.number(min(values)), high=words.number(max(values)))
                if values
                else "-",
            ]
        )
    return Table(say("advice.caption"), head, rows, text_columns=(2,), strong=strong)
