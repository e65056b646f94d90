"""The folder of a reproduction: what is finished, and the settings that it was computed with.

`reproduction.json` says what the folder holds; figures and numbers lie beside it, and `studies/` keeps what
was expensive, so that a stopped reproduction goes on where it was.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pandas as pd
from matplotlib.figure import Figure

from policyloop.messages import on_one_line
from scenarios.errors import UserError
from scenarios.figures.drawing import save
from scenarios.outputs import whole_file, write_whole
from scenarios.reproduction.claims import Claim
from scenarios.reproduction.settings import FIGURES, Settings
from scenarios.study.store import WriterLock

_MARK = "reproduction.json"
_STUDIES = "studies"


class Folder:
    """A reproduction's folder, made if it is missing; one process at a time may have it.

    Use as a context manager, at whose end others may have the folder. UserError where it cannot be written
    to, is in use, holds other things or, without `force`, a reproduction with other settings.

    Attributes
    ----------
    finished : dict
        By figure: `claims`, `notes` (lines of text), `files`.
    seconds : dict
        Wall time by part, summed over the times it was gone on with.
    commands : list of str
        The command lines that made it.
    """

    def __init__(self, path: Path, settings: Settings, *, force: bool = False) -> None:
        self.path: Path
        self.settings: Settings
        self.path, self.settings = path, settings
        self.finished: dict[str, dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}
        self.commands: list[str] = []
        if path.exists() and not path.is_dir():
            raise UserError(f"{path}: is a file; give the name of a folder")
        mark = path / _MARK
        if path.is_dir() and not mark.is_file() and any(path.iterdir()):
            raise UserError(f"{path}: holds other files and no reproduction; give another --out")
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = WriterLock(mark)
            try:
                self._open(mark, force)
            except BaseException:
                self._lock.release()
                raise
        except OSError as error:
            raise UserError(f"{path}: cannot be written to ({on_one_line(error)})") from error

    def _open(self, mark: Path, force: bool) -> None:
        if mark.is_file():
            stored = self._read(mark)
            if force:
                self._clear(stored)
            else:
                self._refuse_changes(stored["settings"])
                self.finished, self.seconds = stored["finished"], stored["seconds"]
                self.commands = stored["commands"]
        (self.path / _STUDIES).mkdir(exist_ok=True)
        self._write()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def study(self, name: str) -> Path:
        """The path at which an expensive part is kept."""
        return self.path / _STUDIES / name

    def remember(self, command: str) -> None:
        """Add a command line to those that made the folder."""
        if command and command not in self.commands:
            self.commands.append(command)
            self._write()

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the wall time of the context to that of a part, also when it is stopped."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.monotonic() - began
            self._write()

    def finish(
        self, name: str, figure: Figure, numbers: pd.DataFrame, claims: list[Claim], notes: list[str]
    ) -> None:
        """Write a figure (SVG and PNG) and its numbers (CSV); store its claims, and notes for the report."""
        paths = save(figure, self.path / f"figure-{name}")
        table = self.path / f"figure-{name}.csv"
        with whole_file(table) as partial:
            numbers.to_csv(partial, index=False)
        self.finished[name] = {
            "claims": [claim.as_dict() for claim in claims],
            "notes": notes,
            "files": [path.name for path in (*paths, table)],
        }
        self._write()

    def claims(self) -> list[tuple[str, Claim]]:
        """The claims of all finished figures, in the paper's order."""
        return [
            (name, Claim(**claim))
            for name in FIGURES
            if name in self.finished
            for claim in self.finished[name]["claims"]
        ]

    def _read(self, mark: Path) -> dict[str, Any]:
        try:
            stored: dict[str, Any] = json.loads(mark.read_text(encoding="utf-8"))
            if not {"settings", "finished", "seconds", "commands"} <= set(stored):
                raise ValueError("keys are missing")
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise UserError(f"{mark}: cannot be read as a reproduction ({on_one_line(error)})") from error
        return stored

    def _write(self) -> None:
        content = {
            "settings": self.settings.as_dict(),
            "commands": self.commands,
            "seconds": self.seconds,
            "finished": self.finished,
        }
        write_whole(self.path / _MARK, json.dumps(content, indent=1))

    def _refuse_changes(self, stored: Mapping[str, Any]) -> None:
        now = self.settings.as_dict()
        changes = [
            f"{key}: {stored.get(key)!r} stored, {value!r} now"
            for key, value in now.items()
            if stored.get(key) != value
        ]
        if changes:
            raise UserError(
                f"{self.path}: holds a reproduction with other settings ({'; '.join(changes)}); "
                "give another --out, or --force to replace it"
            )

    def _clear(self, stored: Mapping[str, Any]) -> None:
        """Remove what a reproduction wrote, and nothing else."""
        for one in stored["finished"].values():
            for file in one["files"]:
                (self.path / Path(file).name).unlink(missing_ok=True)
        for file in (_MARK, "reproduction.md", "claims.csv"):
            (self.path / file).unlink(missing_ok=True)
        shutil.rmtree(self.path / _STUDIES, ignore_errors=True)
