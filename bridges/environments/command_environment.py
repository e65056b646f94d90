"""Any program as an environment: a policy goes in, outcomes come out, as JSON, by its streams or by files."""

import json
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from bridges.environments.answers import read_answer
from bridges.environments.declared import DeclaredEnvironment
from bridges.environments.levers import Entry, Policy
from bridges.environments.program import MOST, Caps, Ended, OverLimit, run_program
from bridges.environments.program_answer import parse_answer
from bridges.environments.step_folder import StepFolder
from policyloop.messages import on_one_line
from simulators.contract.environment import SimulationError, StepLost, failure_kind
from simulators.contract.validation import choice, number, table, whole

TAIL = 400
"""Characters of standard error that a message quotes."""


class CommandEnvironment(DeclaredEnvironment):
    """An environment whose outcomes a program computes, started anew for every step.

    The program reads one JSON object from its standard input, `{"policy": {label: entry, ..}, "seed": int}`,
    and writes one to its standard output, `{group: number, ..}`, with null where a group is missing; or a
    list of numbers in the order of `groups`. An entry is a number, written without a decimal point where it
    is a whole one, or a category's name. Whatever else the program has to say belongs on standard error. No
    shell reads the command.

    Each step runs in a fresh folder, which is removed with all that the program has left there, so that
    steps side by side share no file. The variable POLICYLOOP_FOLDER names the program's own `folder`.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments, such as `["Rscript", "model.R"]`. The program itself, where it is
        named by a `/`, and the first argument that names a file in `folder` are found there.
    policy, groups, **declared
        See `DeclaredEnvironment`.
    seconds : float, default=600
        Time limit of a step; the program and all that it has started are then killed. What it leaves behind
        after its end is killed as well, unless that has made itself a session of its own: that may live on
        until our process ends.
    cpu_seconds, megabytes : int, optional
        Processor time, and memory (data), that the program, and each process that it starts, may take, where
        the system enforces such caps on others (Linux does).
    folder : str or Path, optional
        Where the program is at home; the working folder unless given.
    files : sequence of str, default=()
        What the program reads from `folder` by a relative name: patterns of files and folders, such as
        "data/*.csv", which are linked into the folder of each step. It must not write to them.
    input : str, optional
        A file's name, in the folder of the step, from which the program reads the policy, instead of
        standard input.
    answer : str, optional
        A file's name, in the folder of the step, to which the program writes the outcomes. Then its standard
        output counts for nothing, as its standard error does.
    keep_folders : {"none", "failed", "all"}, default="none"
        Which steps' folders are kept, in the folder `kept-steps` of `folder`, with `input.json`, `output.txt`
        and `errors.txt` beside what the program wrote. The error of a step says where its own is.
    variables : mapping of str to str, optional
        Environment variables of the program beside our own.

    Raises
    ------
    ValueError
        If the command is no list of words, there is no such program or folder, or another declaration is
        impossible.
    """

    def __init__(
        self,
        command: Sequence[str],
        policy: Policy,
        groups: Sequence[str],
        *,
        seconds: float = 600.0,
        cpu_seconds: int | None = None,
        megabytes: int | None = None,
        folder: str | Path | None = None,
        files: Sequence[str] = (),
        input: str | None = None,
        answer: str | None = None,
        keep_folders: Literal["none", "failed", "all"] = "none",
        variables: Mapping[str, str] | None = None,
        **declared: Any,
    ) -> None:
        super().__init__(policy, groups, **declared)
        if isinstance(command, str) or not command or not all(isinstance(word, str) for word in command):
            raise ValueError(
                f"command={command!r} must be a list of words, such as ['Rscript', 'model.R']: "
                "no shell reads it"
            )
        self.caps: Caps = Caps(
            number("seconds", seconds, above=0),
            None if cpu_seconds is None else whole("cpu_seconds", cpu_seconds, least=1),
            None if megabytes is None else whole("megabytes", megabytes, least=1),
        )
        if not isinstance(folder, str | Path | None):
            raise ValueError(f"folder={folder!r} must be the path of a folder")
        self.folder: Path = Path.cwd() if folder is None else Path(folder).absolute()
        if not self.folder.is_dir():
            raise ValueError(f"folder={str(folder)!r} is not a folder")
        self.files: list[str] = self._files(files)
        self._input, self._answer = _file_name("input", input), _file_name("answer", answer)
        if answer is not None and answer == input:
            raise ValueError(f"answer={answer!r} must differ from input")
        self.keep_folders = choice("keep_folders", keep_folders, ("none", "failed", "all"))
        self._variables = table("variables", variables, "{name: text}")
        for name, value in self._variables.items():
            if not isinstance(value, str) or not name or set("=\0") & set(name) or "\0" in value:
                raise ValueError(f"variables: {name!r} = {value!r}; accepted: a text, such as {str(value)!r}")
        self.command: list[str] = [self._program(command[0]), *self._arguments(command[1:])]

    def simulate(self, policy: dict[str, Entry], seed: int) -> Any:
        """Run the program once."""
        try:
            step = StepFolder(self.folder, self.files)
        except OSError as error:
            raise SimulationError(f"a step's folder cannot be made: {on_one_line(error)}") from error
        message = json.dumps({"policy": policy, "seed": seed}) + "\n"
        ended = Ended(b"", "", 0)
        kept = self.keep_folders == "all"
        try:
            ended = self._started(message, step.path)
            return read_answer(self._read(ended, step.path), self.groups)
        except SimulationError as error:
            kept = self.keep_folders != "none"
            if not kept:
                raise
            raise failure_kind(error)(
                f"{error}; its folder is kept: {self._keep(step, message, ended)}"
            ) from (error.__cause__)
        finally:
            if kept and step.path.exists():
                self._keep(step, message, ended)
            step.end()

    def _started(self, message: str, place: Path) -> Ended:
        """Run the program in a step's folder, and return what it said; SimulationError where it failed."""
        name = Path(self.command[0]).name
        if self._input is not None:
            _inside(place, self._input).write_text(message, encoding="utf-8")
        variables = {**os.environ, **self._variables, "POLICYLOOP_FOLDER": str(self.folder)}
        said = "" if self._input is not None else message
        try:
            ended = run_program(self.command, said, self.caps, place, variables, self._answer is None)
        except OSError as error:
            raise SimulationError(f"{self.command[0]} cannot be started: {error.strerror}") from error
        except OverLimit as limit:
            raise StepLost(f"{name} {limit.why} and was killed{self._tail(limit.err)}") from None
        if ended.code == -signal.SIGXCPU and self.caps.cpu_seconds is not None:
            raise StepLost(
                f"{name} took more than {self.caps.cpu_seconds} s of processor time and was killed"
                f"{self._tail(ended.err)}"
            )
        if ended.code < 0:
            why = f"was killed by {signal.Signals(-ended.code).name}"
            raise failure_kind(ended.code)(f"{name} {why}{self._tail(ended.err)}")
        if ended.code > 0:
            raise SimulationError(f"{name} ended with exit code {ended.code}{self._tail(ended.err)}")
        return ended

    def _read(self, ended: Ended, place: Path) -> Any:
        """The answer of a program that has ended."""
        name = Path(self.command[0]).name
        try:
            if self._answer is None:
                return parse_answer(ended.out, name, "standard output")
            path = place / self._answer
            if not path.is_file():
                raise SimulationError(
                    f"{name} must write its answer to the file {self._answer}; there is none"
                )
            with path.open("rb") as file:
                written = file.read(MOST + 1)
            if len(written) > MOST:
                raise SimulationError(f"{name} wrote more than {MOST >> 20} MB to the file {self._answer}")
            return parse_answer(written, name, f"the file {self._answer}")
        except SimulationError as error:
            raise SimulationError(f"{error}{self._tail(ended.err)}") from None

    def _keep(self, step: StepFolder, message: str, ended: Ended) -> str:
        """Keep a step's folder, with what went in and came out; where it is now."""
        try:
            said = {"input.json": message.encode(), "output.txt": ended.out, "errors.txt": ended.err.encode()}
            for name, text in said.items():
                if not (step.path / name).exists():
                    (step.path / name).write_bytes(text)
            return str(step.keep())
        except OSError as error:
            return f"nowhere, {on_one_line(error)}"

    def _files(self, files: Sequence[str]) -> list[str]:
        if isinstance(files, str) or not all(isinstance(one, str) for one in files):
            raise ValueError(f"files={files!r} must be a list of names or patterns, such as ['data/*.csv']")
        for one in files:
            if not one or Path(one).is_absolute() or ".." in Path(one).parts:
                raise ValueError(f"files: {one!r} must be a name or pattern in folder={str(self.folder)!r}")
            if next(self.folder.glob(one), None) is None:
                raise ValueError(f"files: {one!r} names nothing in folder={str(self.folder)!r}")
        return list(files)

    def _arguments(self, words: Sequence[str]) -> list[str]:
        """Arguments as the program is given them: the first one that names a file of `folder` in full."""
        given = list(words)
        for i, word in enumerate(given):
            own = word in (self._input, self._answer) or Path(word).is_absolute()
            if not own and len(word) < 256 and (self.folder / word).is_file():
                given[i] = str(self.folder / word)
                break
        return given

    def _tail(self, err: str) -> str:
        text = on_one_line(err)
        if not text:
            return ""
        where = "standard error" if self._answer is None else "its output"
        return f"; {where} ends: " + (text if len(text) <= TAIL else "..." + text[-TAIL:])

    def _program(self, word: str) -> str:
        """Where a program is: on the path, or, if the word names a file, from the folder that it runs in."""
        if os.sep in word:
            word = str(self.folder / word)
        found = shutil.which(word, path=self._variables.get("PATH"))
        if found is None:
            there = Path(word).is_file() and os.sep in word
            why = "is not executable" if there else "is not there" if os.sep in word else "is not on the PATH"
            raise ValueError(f"command: program {word!r} {why}; install it, or name its file")
        return found


def _file_name(option: str, name: str | None) -> str | None:
    """A name of a file below the folder of a step."""
    if name is None:
        return None
    if not isinstance(name, str) or not name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(f"{option}={name!r} must be a file's name, such as 'policy.json'")
    return name


def _inside(place: Path, name: str) -> Path:
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
