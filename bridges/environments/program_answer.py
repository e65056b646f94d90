"""A program's answer as JSON, or one line that says what stands in the way of reading it."""

import codecs
import json
from collections.abc import Mapping, Sequence
from typing import Any

from simulators.contract.environment import SimulationError
from simulators.contract.observed import shortened

MARKS = {codecs.BOM_UTF8: "UTF-8", codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
"""Byte order marks, which some systems write at the beginning of a text."""


def parse_answer(written: bytes, name: str, where: str) -> Any:
    """What one JSON object or list says.

    Parameters
    ----------
    written : bytes
        UTF-8.
    name : str
        The program's.
    where : str
        Where it has written it, for messages: "standard output", or a file.

    Raises
    ------
    SimulationError
        If it is something else: names the byte order mark, the text before or after the answer, or the key
        that occurs twice.
    """
    for mark, encoding in MARKS.items():
        if written.startswith(mark):
            raise SimulationError(
                f"{name} began its answer on {where} with a byte order mark (BOM, {encoding}); "
                "it must write UTF-8 without one"
            )
    text = written.decode("utf-8", errors="replace")
    try:
        return json.loads(text, object_pairs_hook=_without_repetition)
    except _Repeated as repeated:
        raise SimulationError(
            f"{name} answered with the key {shortened(repr(repeated.args[0]))} twice on {where}; "
            "it must name each once"
        ) from None
    except (ValueError, RecursionError):
        raise SimulationError(
            f"{name} must write one JSON object or list, and nothing else, to {where}; "
            f"it wrote {repr(shortened(text, 83)) if text.strip() else 'nothing'}{_around(text)}"
        ) from None


class _Repeated(ValueError):
    """A key that occurs twice."""


def _without_repetition(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Repeated(next(key for key in keys if keys.count(key) > 1))
    return found


def _around(text: str) -> str:
    """A hint where an answer is there, between lines that are none."""
    lines = text.splitlines(keepends=True)
    for first, line in enumerate(lines):
        if line.lstrip()[:1] in ("{", "["):
            rest = "".join(lines[first:]).lstrip()
            try:
                _, end = json.JSONDecoder().raw_decode(rest)
            except (ValueError, RecursionError):
                continue
            before, after = "".join(lines[:first]).strip(), rest[end:].strip()
            place, other = ("before", before) if before else ("after", after)
            return (
                f", with {shortened(other)!r} {place} its answer: "
                'send that to standard error, or let it answer by a file (answer = "result.json")'
            )
    return ""
