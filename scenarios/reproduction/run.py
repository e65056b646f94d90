"""Makes the figures that are asked for, one part at a time, and keeps what is finished."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib

from policyloop.watcher import watched
from scenarios.errors import UserError
from scenarios.figures.drawing import STYLE
from scenarios.reproduction import bandits, illustration, regressions, report
from scenarios.reproduction.folder import Folder
from scenarios.reproduction.settings import BANDITS, ILLUSTRATION, REGRESSIONS, Settings, resolve
from scenarios.running.progress import Progress


def reproduce(
    figures: Sequence[str],
    out: str | Path,
    settings: Settings,
    *,
    jobs: int = 1,
    bound: bool = False,
    force: bool = False,
    progress: Callable[[], Progress] = Progress,
    command: str = "",
) -> Folder:
    """Make figures of the paper, with numbers and a report of its claims.

    Parameters
    ----------
    figures : sequence of str
        Names of `settings.FIGURES`; none means all. Those that cannot be made yet are left out, and named in
        the report.
    out : str or Path
        The folder; what it holds already is not computed again.
    settings : Settings
    jobs : int, default 1
        Worker processes. The results do not depend on it.
    bound : bool, default False
        Draw the theory's bounds over the cumulative regret.
    force : bool, default False
        Start again where the folder holds a reproduction.
    progress : callable, optional
        Makes the display of a part.
    command : str
        The command line, for the report.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C: what is finished is kept; the same call goes on with it.
    """
    wanted, left_out = resolve(figures)
    if jobs < 1:
        raise UserError(f"jobs = {jobs}; accepted: a whole number, 1 or more")
    with watched(), Folder(Path(out), settings, force=force) as folder, matplotlib.rc_context(STYLE):
        folder.remember(command)
        if ILLUSTRATION in wanted:
            with folder.timed("figure 1"):
                folder.finish(ILLUSTRATION, *illustration.make(settings))
        for name, domain in REGRESSIONS.items():
            if name in wanted:
                with folder.timed(f"figure {name}"):
                    _regression(folder, name, domain, jobs, progress())
        for panel, scenario in BANDITS.items():
            names = [name for name in (f"3{panel}", f"4{panel}") if name in wanted]
            if names:
                with folder.timed(f"figures 3{panel} and 4{panel}"):
                    _bandit(folder, names, scenario, jobs, progress(), bound)
        report.write(folder, left_out)
    return folder


def _regression(folder: Folder, name: str, domain: str, jobs: int, progress: Progress) -> None:
    settings = folder.settings
    setting = regressions.setting_of(domain, settings)
    path = folder.study(f"regression-{domain}.csv")
    found = regressions.run_panel(setting, settings.runs, path, jobs=jobs, progress=progress)
    folder.finish(name, *regressions.make(found))


def _bandit(
    folder: Folder, names: list[str], scenario: str, jobs: int, progress: Progress, bound: bool
) -> None:
    path = folder.study(f"{scenario}.study.sqlite")
    found = bandits.run_panel(scenario, folder.settings, path, jobs=jobs, progress=progress)
    for name in names:
        if name.startswith("3"):
            bounds, missing = bandits.bounds_of(found) if bound else ({}, "")
            folder.finish(name, *bandits.cumulative(found, bounds, missing))
        else:
            folder.finish(name, *bandits.average(found))
