"""What an import read, dropped, clipped or changed, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simulators.arrays import Mask
from simulators.stations.flags import RULES, Flag
from simulators.stations.station_set import Stations

Action = Literal["dropped", "clipped", "changed", "noted"]

FIRST_ROWS = 5

SHOWN = 20
"""Flags of one rule that the text of a report shows."""

MOST_FLAGS = 500
"""Flags that a study stores."""


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
        Stations kept: `rows` less those dropped and left out.
    findings : tuple of Finding
        In the order in which the import came across them. A row is dropped for the first reason that holds.
    station_rows : tuple of int
        The row of each station kept.
    flags : tuple of Flag
        What the quality control found, one a station.
    left_out : Stations or None
        The stations that it left out, None if there is none; `rows` are those kept, dropped and left out.
    quality : {"on", "off"}
        Whether there was a quality control.
    """

    source: str
    rows: int
    stations: int
    findings: tuple[Finding, ...]
    station_rows: tuple[int, ...] = field(default=(), repr=False)
    flags: tuple[Flag, ...] = ()
    left_out: Stations | None = field(default=None, repr=False)
    quality: Literal["on", "off"] = "off"

    def count(self, action: Action) -> int:
        """The number of rows of all findings of one kind."""
        return sum(finding.count for finding in self.findings if finding.action == action)

    @property
    def by_rule(self) -> dict[str, list[Flag]]:
        """The flags by the rule that found them, in the order of `RULES`."""
        return {rule: found for rule in RULES if (found := [f for f in self.flags if f.rule == rule])}

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values that JSON can hold, without the row of each station."""
        kept = {name: getattr(self, name) for name in ("source", "rows", "stations", "quality")}
        findings = [asdict(finding) for finding in self.findings]
        flags = [asdict(flag) for flag in self.flags[:MOST_FLAGS]]
        return {**kept, "findings": findings, "flags": flags, "flagged": len(self.flags)}

    def summary(self) -> list[str]:
        """The report in one to three lines."""
        lines = [self._head()]
        actions = ("dropped", "clipped", "changed", "noted")
        reasons = [
            f"{f.action} {f.count}: {f.reason}"
            for action in actions
            for f in self.findings
            if f.action == action
        ]
        if reasons:
            more = f"; and {len(reasons) - 2} more" if len(reasons) > 2 else ""
            lines.append("  " + "; ".join(reasons[:2]) + more)
        if self.flags:
            rules = "; ".join(f"{len(found)} {RULES[rule]}" for rule, found in self.by_rule.items())
            first = ", ".join(flag.station for flag in self.flags[:4])
            lines.append(f"  {rules} ({first}{', ..' if len(self.flags) > 4 else ''})")
        return lines

    def _head(self) -> str:
        head = f"{self.source}: {self.rows} rows read, {self.stations} stations kept"
        if self.left_out is not None:
            head += f", {len(self.left_out)} left out by the quality control"
        elif self.flags:
            head += f", {len(self.flags)} of them flagged by the quality control"
        return head

    def __str__(self) -> str:
        lines = [self._head(), *(f"  {finding}" for finding in self.findings)]
        for rule, found in self.by_rule.items():
            lines.append(f"  {found[0].done} {len(found)}: {RULES[rule]}")
            lines += [f"    {flag}" for flag in found[:SHOWN]]
            if len(found) > SHOWN:
                lines.append(f"    and {len(found) - SHOWN} more")
        return "\n".join(lines)


class Journal:
    """Collects the findings of an import while its rows, by their numbers at the source, are gone through."""

    def __init__(self, rows: NDArray[np.int64]) -> None:
        self.rows = rows
        self.alive: Mask = np.ones(len(rows), dtype=bool)
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
