"""Tables in JSON: an object a line, a list of objects, or an object that holds one list of them.

Entries of entries are columns with dots, as pandas names them: `main.temp` of {"main": {"temp": 281.2}}.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simulators.arrays import Mask
from simulators.files.text_file import beginning, lines
from simulators.stations.columns import drop_elsewhere
from simulators.stations.gather import Which, gather
from simulators.stations.import_report import ImportReport, Journal
from simulators.stations.station_set import Stations

JSON_LINE = 2**26
"""Characters of a line of JSON: an answer of a service is one, and 5,000 stations are some million."""

DEEPEST = 5
"""Levels of entries that become columns."""


@dataclass(frozen=True)
class Answer:
    """What a saved answer of a service says, a row a reading.

    Attributes
    ----------
    readings : list of dict
        By quantity (`columns.QUANTITIES`, with `country`); {} of a row that is none.
    rows : (n,) sequence of int
        Lines of the file, or numbers in its list.
    broken : (n,) sequence of bool
        Rows that are no part of such an answer.
    units : mapping of quantity to unit
        Those that the service declares, or always has.
    """

    readings: list[dict[str, Any]]
    rows: Any
    broken: Any
    units: Mapping[str, str]


Understood = Callable[[str | os.PathLike[str], str | None], Answer]
"""Makes an `Answer` of a path and an encoding, or a ValueError of one line."""


def read_answer(
    understood: Understood,
    path: str | os.PathLike[str],
    *,
    country: str | None = None,
    encoding: str | None = None,
    **which: Unpack[Which],
) -> tuple[Stations, ImportReport]:
    """The stations of a saved answer, plain or packed.

    Parameters
    ----------
    understood : callable
        What is read of the file.
    country : str, optional
        As the service writes it, usually two letters; others are dropped.
    encoding, **which
        As for `simulators.stations.read_csv`; so are the results and the errors.
    """
    answer, source = understood(path, encoding), os.fspath(path)
    if all(answer.broken):
        raise ValueError(f"{source}: row {next(iter(answer.rows), 1)}: there are no readings in it")
    names = list(dict.fromkeys(name for reading in answer.readings for name in reading))
    cells = pd.DataFrame(answer.readings, columns=names, dtype=object)
    journal = Journal(np.asarray(answer.rows, dtype=np.int64))
    journal.note("dropped", np.asarray(answer.broken, dtype=bool), "no part of an answer")
    drop_elsewhere(cells, country, journal, source)
    return gather(cells.drop(columns="country"), journal, source=source, units=answer.units, **which)


def first_of(records: list[Any]) -> dict[str, Any]:
    """The first record that says anything, {} where none does."""
    return next((record for record in records if record), {})


def looks_like_json(path: str | os.PathLike[str], encoding: str | None = None) -> bool:
    """Whether a text begins with a JSON object or list."""
    return beginning(path, encoding).lstrip().startswith(("{", "["))


def read_records(
    path: str | os.PathLike[str], encoding: str | None = None
) -> tuple[list[Any], NDArray[np.int64], Mask, Any]:
    """The objects of a JSON file.

    Returns
    -------
    records : list of dict
        {} where there is none.
    rows : (n,) array of int
        Their lines, or in a list their numbers from 1.
    broken : (n,) array of bool
        Which are no JSON objects.
    around : object
        The object that holds the list, {} where there is none.
    """
    text = list(lines(path, encoding, JSON_LINE))
    first = next((line for line in text if line.strip()), "").lstrip()
    whole = parsed("".join(text)) if first.startswith("[") or parsed(first) is None else None
    around: Any = {}
    if isinstance(whole, dict):
        lists = [value for value in whole.values() if isinstance(value, list) and value]
        objects = [one for one in lists if all(isinstance(entry, dict) for entry in one)]
        if len(objects) == 1:
            around, whole = whole, objects[0]
        else:
            whole = [whole]
    if isinstance(whole, list):
        found, rows = whole, np.arange(1, len(whole) + 1)
    else:
        numbered = [(row, line) for row, line in enumerate(text, 1) if line.strip()]
        found = [parsed(line) for _, line in numbered]
        rows = np.array([row for row, _ in numbered], dtype=np.int64)
        if len(found) == 1 and isinstance(found[0], dict):
            lists = [v for v in found[0].values() if isinstance(v, list) and v and isinstance(v[0], dict)]
            if len(lists) == 1 and "coord" not in found[0] and "city" not in found[0]:
                around, found = found[0], lists[0]
                rows = np.arange(1, len(found) + 1)
    if not len(found):
        raise ValueError(f"{path}: row 1: there are no rows of data")
    broken = np.array([not isinstance(record, dict) for record in found])
    return [r if isinstance(r, dict) else {} for r in found], rows, broken, around


def flat(records: list[Any]) -> pd.DataFrame:
    """Records as a table, a column an entry, entries of entries with dots between."""
    try:
        return pd.json_normalize(records, max_level=DEEPEST).astype(object)
    except (TypeError, ValueError, RecursionError):
        return pd.DataFrame(records, dtype=object)


def scalar(record: Any, *path: str) -> Any:
    """The text or number at a path of a record; None where there is none."""
    value = record
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def first_record(path: str | os.PathLike[str], encoding: str | None = None) -> Any:
    """The first line of a file as JSON; None where it is none by itself."""
    return parsed(next((line for line in lines(path, encoding, JSON_LINE) if line.strip()), ""))


def parsed(text: str) -> Any:
    """A text as JSON; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # the latter of thousands of lists in one another
        return None
