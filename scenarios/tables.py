"""Tables that fit where they are read: what is too wide goes on below, and nothing is cut."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table

WORDS = 24
"""Columns of text are folded between words down to this many characters; columns of numbers never are."""

_FRAME = 3  # a column's padding and one line


def print_table(table: Table, console: Console) -> None:
    """Print a table; one that is wider than the console as several, one below another.

    The first column, which names the rows, is in all of them, and the title over the first.
    """
    widths = [_width(column, console) for column in table.columns]
    for place, part in enumerate(_parts(widths, console.width - 1)):
        console.print(_only(table, part, titled=place == 0))


def _width(column: Column, console: Console) -> int:
    """How much room a column needs, its frame included."""
    options = console.options.update(width=10_000)
    header = Measurement.get(console, options, column.header).minimum
    cells = [Measurement.get(console, options, cell) for cell in column.cells]
    whole = max((cell.maximum for cell in cells), default=0)
    if column.justify == "left" and not column.no_wrap:
        whole = min(whole, max([WORDS, *(cell.minimum for cell in cells)]))
    return _FRAME + max(header, whole)


def _parts(widths: Sequence[int], room: int) -> list[list[int]]:
    """The columns by table: as many as fit beside the first, and at least one."""
    parts: list[list[int]] = [[0]]
    used = widths[0]
    for column, width in enumerate(widths[1:], start=1):
        if used + width > room and len(parts[-1]) > 1:
            parts.append([0])
            used = widths[0]
        parts[-1].append(column)
        used += width
    return parts


def _only(table: Table, columns: Sequence[int], *, titled: bool) -> Table:
    """A table of some of the columns."""
    part = Table(show_lines=table.show_lines)
    if titled:
        part.title, part.title_justify, part.title_style = table.title, table.title_justify, table.title_style
    chosen = [table.columns[column] for column in columns]
    for one in chosen:
        # A column that is too wide by itself is folded: cut, it would say something else.
        part.add_column(one.header, justify=one.justify, no_wrap=one.no_wrap, overflow="fold")
    for row, cells in zip(table.rows, zip(*(one.cells for one in chosen), strict=True), strict=True):
        part.add_row(*cells, end_section=row.end_section)
    return part
