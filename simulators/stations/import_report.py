"""What an import read, dropped, clipped or changed, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simulators.arrays import Mask

Action = Literal["dropped", "clipped", "changed", "noted"]

FIRST_ROWS = 5


@dataclass(frozen=True)
class Finding:
    """One thing an import did, or noticed, and to how many rows.

    Attributes
    ----------
    action : {"dropped", "clipped", "changed", "noted"}
        `noted` rows were kept as they are.
    reason : str
        Why.
    count : int
        Rows concerned.
    rows : tuple of int
        The first of them: lines of a file, counted from 1 with its header, or rows of a table, from 1.
    """

    action: Action
    reason: str
    count: int
    rows: tuple[int, ...]

    def __str__(self) -> str:
        more = ", .." if self.count > len(self.rows) else ""
        return f"{self.action} {self.count}: {self.reason} (row {', '.join(map(str, self.rows))}{more})"


@dataclass(frozen=True)
class ImportReport:
    """What became of the rows of one source.

    Attributes
    ----------
    source : str
        The file, or what the caller named the table.
    rows : int
        Rows read, without header, comments and blank lines.
    stations : int
        Stations kept: `rows` less those dropped.
    findings : tuple of Finding
        In the order in which the import came across them. A row is dropped for the first reason that holds.
    station_rows : tuple of int
        The row of each station kept.
    """

    source: str
    rows: int
    stations: int
    findings: tuple[Finding, ...]
    station_rows: tuple[int, ...] = field(default=(), repr=False)

    def count(self, action: Action) -> int:
        """The number of rows of all findings of one kind."""
        return sum(finding.count for finding in self.findings if finding.action == action)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values that JSON can hold, without the row of each station."""
        return {name: value for name, value in asdict(self).items() if name != "station_rows"}

    def without(self, dropped: Mask, reason: str) -> ImportReport:
        """The report after some of its stations, (n,), were dropped as well."""
        rows = np.array(self.station_rows, dtype=np.int64)
        if not dropped.any():
            return self
        first = tuple(int(row) for row in np.sort(rows[dropped])[:FIRST_ROWS])
        finding = Finding("dropped", reason, int(dropped.sum()), first)
        kept = tuple(rows[~dropped].tolist())
        return replace(self, stations=len(kept), findings=(*self.findings, finding), station_rows=kept)

    def __str__(self) -> str:
        head = f"{self.source}: {self.rows} rows read, {self.stations} stations kept"
        return "\n".join([head, *(f"  {finding}" for finding in self.findings)])


class Journal:
    """Collects the findings of an import while its rows, by their numbers at the source, are gone through."""

    def __init__(self, rows: NDArray[np.int64]) -> None:
        self.rows = rows
        self.alive = np.ones(len(rows), dtype=bool)
        self.findings: list[Finding] = []

    def note(self, action: Action, which: Mask, reason: str) -> None:
        """Record what was done to rows that are still there; `dropped` ends them."""
        rows = self.rows[which & self.alive]
        if action == "dropped":
            self.alive &= ~which
        if len(rows):
            first = tuple(int(row) for row in np.sort(rows)[:FIRST_ROWS])
            self.findings.append(Finding(action, reason, len(rows), first))

    def remark(self, reason: str) -> None:
        """Record a suspicion about all rows that are still there."""
        self.note("noted", self.alive.copy(), reason)
