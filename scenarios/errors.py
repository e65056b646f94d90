"""The error a user's mistake becomes, and the search for the name they meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A mistake of the user, told in one line; the command line ends with exit code 2."""


class StudyInterrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C; every finished round is stored.

    Attributes
    ----------
    stored : int
        Rounds that the study holds.
    """

    def __init__(self, stored: int) -> None:
        super().__init__(f"stopped with {stored} rounds stored")
        self.stored = stored


def nearest(value: object, accepted: Iterable[str]) -> str:
    """Return the accepted name that is nearest to a mistyped one, "" if none resembles it."""
    found = difflib.get_close_matches(str(value).lower(), list(accepted), n=1, cutoff=0.5)
    return found[0] if found else ""


def name_error(what: str, value: object, accepted: Iterable[str]) -> str:
    """Return one line about an unknown name: the nearest valid one and all that are accepted."""
    names = list(accepted)
    close = nearest(value, names)
    hint = f"; did you mean {close!r}?" if close else ""
    return f"unknown {what} {value!r}{hint} (accepted: {', '.join(names)})"


def one_line(error: BaseException) -> str:
    """Return an exception's message on one line, its class name if it has no message."""
    return " ".join(str(error).split()) or type(error).__name__
