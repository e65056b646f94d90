"""The command that makes a sound study of a damaged one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scenarios.commands.console import Debug, Force, StudyFile, say


def repair(
    study: StudyFile,
    out: Annotated[Path, typer.Option(metavar="STUDY", help="Study file to write.")],
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Make a sound study of what is whole in a damaged one, and say what was lost.

    A bad disk or a broken copy can change a study file. Every row of it has a checksum, and so what is whole
    can be told from what is not. The new study holds all that is whole, and resume runs what it lacks. An
    agent's rounds after one that is lost are set aside in a CSV beside it, since an agent goes on from rounds
    in order. The damaged file stays as it is. A sound study is refused, with exit code 2.

    For example:

      policyloop repair flu.study.sqlite --out mended.study.sqlite

      policyloop resume mended.study.sqlite
    """
    from scenarios.study.repairing import repair as mend

    for line in mend(study, out, force=force):
        say(line)
    say(out)
