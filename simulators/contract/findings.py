"""Findings about an environment: what recurs is told once, and what its code raises is told in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from policyloop.messages import failure, on_one_line


class Findings:
    """Collects findings, one sentence a kind."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._times: Counter[str] = Counter()

    @property
    def sentences(self) -> list[str]:
        """The first finding of each kind, in the order in which they came."""
        return [
            sentence + (f" (the first of {self._times[kind]} such)" if self._times[kind] > 1 else "")
            for kind, sentence in self._first.items()
        ]

    def find(self, sentence: str, kind: str = "") -> None:
        """Note a finding; another of the same kind, by default the same sentence, is only counted."""
        kind = kind or sentence
        self._first.setdefault(kind, on_one_line(sentence))
        self._times[kind] += 1

    def has(self, kind: str) -> bool:
        """Whether there is a finding of this kind."""
        return kind in self._first

    def knows(self, kind: str, error: BaseException) -> bool:
        """Whether `blaming` with this kind has noted an exception of the same type."""
        return _kind(kind, error) in self._first

    @contextmanager
    def blaming(self, what: str, kind: str = "") -> Iterator[None]:
        """Turn an exception into a finding; with a kind, into one for each type of exception."""
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.find(f"{what}: {said(error)}", kind and _kind(kind, error))


def said(error: BaseException) -> str:
    """In words what an environment's code did instead of an answer."""
    if isinstance(error, SystemExit):
        return f"it asked to exit ({on_one_line(error.code)}), which costs a study the round"
    return f"it raised {failure(error)}"


def _kind(kind: str, error: BaseException) -> str:
    return f"{kind}: {type(error).__name__}"
