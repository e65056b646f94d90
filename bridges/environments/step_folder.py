"""A folder for one step of a program: what it needs is linked into it, what it leaves there goes with it."""

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from policyloop.watcher import watcher

KEPT = "kept-steps"
"""The folder, in the program's own, of those that are kept."""


class StepFolder:
    """A fresh folder, removed by `end`, or with the process where that is killed.

    Parameters
    ----------
    home : Path
        The program's own folder.
    files : sequence of str
        Patterns of files and folders there, such as "data/*.csv"; each is linked under its own name.
    """

    def __init__(self, home: Path, files: Sequence[str]) -> None:
        self._home = home
        scratch = watcher().scratch
        scratch.mkdir(mode=0o700, exist_ok=True)
        self.path: Path = Path(tempfile.mkdtemp(prefix="step-", dir=scratch))
        for pattern in files:
            for found in home.glob(pattern):
                if KEPT in found.relative_to(home).parts:
                    continue
                link = self.path / found.relative_to(home)
                link.parent.mkdir(parents=True, exist_ok=True)
                with suppress(FileExistsError):  # of another pattern
                    link.symlink_to(found)

    def keep(self) -> Path:
        """Move it to where it stays, and return that place."""
        kept = self._home / KEPT
        kept.mkdir(exist_ok=True)
        place = kept / self.path.name
        shutil.move(self.path, place)
        return place

    def end(self) -> None:
        """Remove it, if it is not kept."""
        shutil.rmtree(self.path, ignore_errors=True)
