"""The errors of a run: a user's mistake, and an interrupt."""

from __future__ import annotations


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
