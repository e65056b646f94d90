"""A study as one HTML file, for who decides and for who checks: it opens offline, and nothing in it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from policyloop.messages import on_one_line
from scenarios.errors import UserError
from scenarios.outputs import write_whole
from scenarios.reporting.advising import advising
from scenarios.reporting.asking import asking
from scenarios.reporting.by_group import by_group
from scenarios.reporting.document import Document, Section
from scenarios.reporting.doubts import doubting
from scenarios.reporting.known import Known, gathered
from scenarios.reporting.language import Language
from scenarios.reporting.learning import learning
from scenarios.reporting.moving import moving
from scenarios.reporting.observed import nothing, observed
from scenarios.reporting.placing import placing
from scenarios.reporting.rendering import page
from scenarios.reporting.repeating import repeating
from scenarios.reporting.said import infos
from scenarios.reporting.sensitivity import depending
from scenarios.reporting.simulating import CHOSEN, NOTHING, TODAY, Simulated
from scenarios.reporting.simulating import simulate as simulate_policies
from scenarios.reporting.trading import trading
from scenarios.study.records import ALL_TRIALS
from scenarios.study.study import Study, check_target
from scenarios.study.versions import versions

MOST_SEEDS = 100_000


def report(
    study: Study | str | Path,
    out: str | Path | None = None,
    *,
    frontier: Sequence[str] = (),
    simulate: bool = False,
    seeds: int = 20,
    jobs: int = 1,
    force: bool = False,
    seen: Callable[[str], None] = lambda text: None,
) -> Path:
    """Write a study as one HTML file.

    Parameters
    ----------
    study : Study or path
        Finished, still running, or damaged: what is whole of it is told, and that it is damaged.
    out : str or Path, optional
        The file; by default NAME.html beside NAME.study.sqlite.
    frontier : sequence of str, optional
        Two or three objectives, as `scenarios.frontier` takes them, between which trade-offs are shown.
        Unless given, total and worst-group where the study has limits, else none.
    simulate : bool, default False
        Run the recommended policy, today's and that of other budgets, in the study's world and in worlds
        with another R0 and efficacy, where its simulator has such options. That runs the code that the study
        names.
    seeds : int, default 20
        Of the noise, where something is simulated.
    jobs : int, default 1
        Processes that simulate side by side.
    force : bool, default False
        Replace the file if it exists.
    seen : callable, optional
        Is told what is being done.

    Returns
    -------
    Path
        Of the file.

    Raises
    ------
    UserError
        There is no such study, or the file exists or cannot be written: nothing is written then.

    Examples
    --------
    >>> import scenarios
    >>> scenarios.report("flu.study.sqlite", "flu.html")  # doctest: +SKIP
    """
    opened = study if isinstance(study, Study) else Study(study, damaged=True)
    target = Path(out) if out is not None else default_target(opened.path)
    check_report(target, force)
    if simulate and not 1 <= seeds <= MOST_SEEDS:
        raise UserError(f"seeds = {seeds}; accepted: a whole number from 1 to {MOST_SEEDS:,}")
    if simulate and jobs < 1:
        raise UserError(f"jobs = {jobs}; accepted: a whole number, 1 or more")
    language = Language()
    seen("what the rounds say")
    known = gathered(opened)
    simulated = None
    if simulate:
        simulated = simulate_policies(
            known,
            seeds=seeds,
            jobs=jobs,
            seen=lambda done, total: seen(f"simulating: {done} of {total} steps"),
        )
    made = document(known, language, frontier=frontier, simulated=simulated, seen=seen)
    write_whole(target, page(made, language))
    return target


def check_report(target: Path, force: bool) -> None:
    """Raise UserError where a report may not be written; a study is never overwritten by one."""
    if target.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"{target}: the name must end in .html")
    check_target(target, force)


def default_target(study: Path) -> Path:
    """Where a study's report is written unless told."""
    return study.with_name(f"{study.name.removesuffix('.sqlite').removesuffix('.study') or 'study'}.html")


def document(
    known: Known,
    words: Language,
    *,
    frontier: Sequence[str] = (),
    simulated: Simulated | None = None,
    seen: Callable[[str], None] = lambda text: None,
) -> Document:
    """The report of what is known of a study, before it is a page."""
    study = known.study
    said = [one for one in infos(study) if known.world in (ALL_TRIALS, str(one.trial))]
    where = words.say("groups.where", trial="{trial}", agent="{agent}", round="{round}")
    points = [None if one is None else one.point for one in (known.today, known.chosen)]
    before, after, without = (observed(study, said, one, where) for one in (*points, nothing(study)))
    if simulated is not None:
        before = simulated.infos.get(TODAY, before)
        after = simulated.infos.get(CHOSEN, after)
        without = simulated.infos.get(NOTHING, without)
    parts: list[Callable[[], Section | None]] = [
        lambda: asking(known, words),
        lambda: advising(known, before, after, without, words),
        lambda: placing(known, words),
        lambda: by_group(known, before, after, without, words),
        lambda: moving(known, words),
        lambda: depending(known, before, after, simulated, words),
        lambda: trading(known, frontier, words),
        lambda: learning(known, words),
        lambda: doubting(known, words),
        lambda: repeating(known, words),
    ]
    sections = []
    for number, part in enumerate(parts, start=1):
        seen(f"section {number} of {len(parts)}")
        made = part()
        if made is not None:
            sections.append(made)
    scenario = study.scenario
    return Document(
        title=on_one_line(scenario.title) or scenario.name,
        subtitle=words.say(
            "page.subtitle",
            environment=study.environment.name,
            trials=words.trials(scenario.trials),
            rounds=words.whole(scenario.rounds),
            agents=words.listed(scenario.labels),
        ),
        sections=sections,
        foot=words.say(
            "page.foot" if simulated is None else "page.foot_simulated",
            version=versions().get("policyloop", ""),
            file=study.path.name,
            created=study.meta.get("created", "-"),
        ),
        warnings=_warnings(known, words),
    )


def _warnings(known: Known, words: Language) -> list[str]:
    study, found = known.study, []
    scenario, stored = study.scenario, len(study.rounds())
    if study.damage:
        found.append(words.say("page.damaged", why=study.damage, rounds=words.whole(stored)))
    planned = scenario.rounds * scenario.trials * len(scenario.agents)
    if stored < planned:
        found.append(words.say("page.unfinished", stored=words.whole(stored), planned=words.whole(planned)))
    return found
