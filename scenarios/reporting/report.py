"""A study as one HTML file, for who decides and for who checks: it opens offline, and nothing in it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from policyloop.messages import on_one_line
from scenarios.outputs import write_whole
from scenarios.reporting.advising import advising
from scenarios.reporting.asking import asking
from scenarios.reporting.by_group import by_group
from scenarios.reporting.document import Document, Section
from scenarios.reporting.doubts import doubting
from scenarios.reporting.known import Known, gathered, infos
from scenarios.reporting.language import Language
from scenarios.reporting.learning import learning
from scenarios.reporting.observed import observed
from scenarios.reporting.rendering import page
from scenarios.reporting.repeating import repeating
from scenarios.study.study import Study, check_target
from scenarios.study.versions import versions


def report(study: Study | str | Path, out: str | Path | None = None, *, force: bool = False) -> Path:
    """Write a study as one HTML file.

    Parameters
    ----------
    study : Study or path
        Finished, still running, or damaged: what is whole of it is told, and that it is damaged.
    out : str or Path, optional
        The file; by default NAME.html beside NAME.study.sqlite.
    force : bool, default False
        Replace the file if it exists.

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
    check_target(target, force)
    language = Language()
    write_whole(target, page(document(opened, language), language))
    return target


def default_target(study: Path) -> Path:
    """Where a study's report is written unless told."""
    return study.with_name(f"{study.name.removesuffix('.sqlite').removesuffix('.study') or 'study'}.html")


def document(study: Study, words: Language) -> Document:
    """The report of a study, before it is a page."""
    known = gathered(study)
    said = infos(study)
    where = words.say("groups.where", trial="{trial}", agent="{agent}", round="{round}")
    before, after = (
        observed(study, said, None if one is None else one.point, where)
        for one in (known.today, known.chosen)
    )
    sections: Sequence[Section] = [
        asking(known, words),
        advising(known, words),
        by_group(known, before, after, words),
        learning(known, words),
        doubting(known, words),
        repeating(known, words),
    ]
    scenario = study.scenario
    trials = words.say("page.trials", count=words.whole(scenario.trials)) if scenario.trials > 1 else None
    return Document(
        title=on_one_line(scenario.title) or scenario.name,
        subtitle=words.say(
            "page.subtitle",
            environment=study.environment.name,
            trials=trials or words.say("page.trial"),
            rounds=words.whole(scenario.rounds),
            agents=words.listed(scenario.labels),
        ),
        sections=sections,
        foot=words.say(
            "page.foot",
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
