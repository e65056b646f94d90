"""A table with a row a thing: its columns by name, and messages that say where an entry stands."""

from __future__ import annotations

from collections.abc import Sequence

from simulators.country.bands import Band, band, check_dates
from simulators.country.columns import Aliases, columns_of
from simulators.files.grid import Grid
from simulators.files.numbers import decimal_mark, numbers

MOST = 1e12
"""What any number is taken for a mistake above."""


class Rows:
    """The rows of a table: their texts and numbers by column, and where they stand in the file."""

    def __init__(
        self, aliases: Aliases, grid: Grid, needed: Sequence[str], decimal: str | None, findings: list[str]
    ) -> None:
        self.grid = grid
        self.columns: dict[str, int] = columns_of(grid, grid.rows[0], aliases, needed, findings)
        self.where: list[int] = [grid.row(at) for at, row in enumerate(grid.rows) if at and any(row)]
        self.rows: list[list[str]] = [row for row in grid.rows[1:] if any(row)]
        if not self.rows:
            raise ValueError(f"{grid.source}: row {grid.row(0)}: there are no rows below the header")
        named = self.columns.get(needed[0])
        counted = {what: at for what, at in self.columns.items() if at != named and what != "level"}
        texts = [row[at] for at in counted.values() for row in self.rows]
        mark = decimal or decimal_mark(texts, grid.source)
        self._values = {what: numbers([row[at] for row in self.rows], mark) for what, at in counted.items()}

    def texts(self, what: str) -> list[str]:
        """The texts of a column."""
        return [row[self.columns[what]].strip() for row in self.rows]

    def place(self, at: int, what: str) -> str:
        """Where an entry stands, for messages."""
        return f"{self.grid.source}: row {self.where[at]}: {self.grid.rows[0][self.columns[what]] or what}"

    def values(self, what: str, least: float = 0.0, most: float = MOST) -> list[float | None]:
        """The numbers of a column; None where a cell, or the column, is empty.

        ValueError, which names the row, for other texts and for numbers out of range.
        """
        if what not in self._values:
            return [None] * len(self.rows)
        found: list[float | None] = []
        for at, (text, value) in enumerate(zip(self.texts(what), self._values[what], strict=True)):
            if text and not least <= value <= most:
                limit = f" and <= {most:g}" if most < MOST or value > most else ""
                raise ValueError(
                    f"{self.place(at, what)} is {text!r}; it must be a finite number >= {least:g}{limit}"
                )
            found.append(float(value) if text else None)
        return found

    def told(self, what: str, most: float = MOST) -> list[float]:
        """The numbers of a column in which every cell is needed."""
        values = self.values(what, most=most)
        for at, value in enumerate(values):
            if value is None:
                raise ValueError(f"{self.place(at, what)} is missing")
        return [value for value in values if value is not None]

    def ages(self) -> list[Band]:
        """The bands of the column `ages`, which do not overlap."""
        texts = self.texts("ages")
        check_dates(texts, self.grid.source)
        found: list[Band] = []
        for at, text in enumerate(texts):
            one = band(text)
            if one is None:
                raise ValueError(f"{self.place(at, 'ages')} {text!r} says no ages; accepted: '6-10', '65+'")
            for other, before in zip(found, texts, strict=False):
                if one.low <= other.high and other.low <= one.high:
                    raise ValueError(f"{self.place(at, 'ages')} {text!r} and {before!r} overlap")
            found.append(one)
        return found
