"""Any program as an environment: a policy on its standard input, outcomes on its standard output, as JSON."""

import json
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bridges.environments.declared import DeclaredEnvironment
from bridges.environments.levers import Entry, Policy
from bridges.environments.program import OverLimit, run_program
from policyloop.messages import on_one_line
from simulators.contract.environment import SimulationError, StepLost, failure_kind
from simulators.contract.observed import shortened
from simulators.contract.validation import number, table

TAIL = 400
"""Characters of standard error that a message quotes."""


class CommandEnvironment(DeclaredEnvironment):
    """An environment whose outcomes a program computes, started anew for every step.

    The program reads one JSON object from its standard input, `{"policy": {label: entry, ..}, "seed": int}`,
    and writes one to its standard output, `{group: number, ..}`, with null where a group is missing; or a
    list of numbers in the order of `groups`. An entry is a number, written without a decimal point where it
    is a whole one, or a category's name. Whatever else the program has to say belongs on standard error. No
    shell reads the command.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments, such as `["Rscript", "model.R"]`.
    policy, groups, **declared
        See `DeclaredEnvironment`.
    seconds : float, default=600
        Time limit of a step; the program and all that it has started are then killed. What it leaves behind
        after its end is killed as well, unless that has made itself a session of its own.
    folder : str or Path, optional
        Where the program runs; the working folder unless given.
    variables : mapping, optional
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
        folder: str | Path | None = None,
        variables: Mapping[str, str] | None = None,
        **declared: Any,
    ) -> None:
        super().__init__(policy, groups, **declared)
        if isinstance(command, str) or not command or not all(isinstance(word, str) for word in command):
            raise ValueError(
                f"command={command!r} must be a list of words, such as ['Rscript', 'model.R']: "
                "no shell reads it"
            )
        self.seconds = number("seconds", seconds, above=0)
        if not isinstance(folder, str | Path | None):
            raise ValueError(f"folder={folder!r} must be the path of a folder")
        self.folder = Path.cwd() if folder is None else Path(folder).absolute()
        if not self.folder.is_dir():
            raise ValueError(f"folder={str(folder)!r} is not a folder")
        self._variables = table("variables", variables, "{name: text}")
        for name, value in self._variables.items():
            if not isinstance(value, str) or not name or set("=\0") & set(name) or "\0" in value:
                raise ValueError(f"variables: {name!r} = {value!r}; accepted: a text, such as {str(value)!r}")
        self.command = [self._program(command[0]), *command[1:]]

    def simulate(self, policy: dict[str, Entry], seed: int) -> Any:
        """Run the program once."""
        name = Path(self.command[0]).name
        message = json.dumps({"policy": policy, "seed": seed}) + "\n"
        try:
            out, err, code = run_program(
                self.command, message, self.seconds, self.folder, {**os.environ, **self._variables}
            )
        except OSError as error:
            raise SimulationError(f"{self.command[0]} cannot be started: {error.strerror}") from error
        except OverLimit as limit:
            raise StepLost(f"{name} {limit.why} and was killed{_tail(limit.err)}") from None
        if code < 0:
            raise failure_kind(code)(f"{name} was killed by {signal.Signals(-code).name}{_tail(err)}")
        if code > 0:
            raise SimulationError(f"{name} ended with exit code {code}{_tail(err)}")
        try:
            return json.loads(out)
        except ValueError:
            raise SimulationError(
                f"{name} must write one JSON object or list, and nothing else, to standard output; "
                f"it wrote {repr(shortened(out, 83)) if out.strip() else 'nothing'}{_tail(err)}"
            ) from None

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


def _tail(err: str) -> str:
    text = on_one_line(err)
    if not text:
        return ""
    return "; standard error ends: " + (text if len(text) <= TAIL else "..." + text[-TAIL:])
