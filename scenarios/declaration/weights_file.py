"""Weights of groups in a file: a table of two columns, the group and its weight."""

from __future__ import annotations

import os
from pathlib import Path

from policyloop.messages import on_one_line
from scenarios.errors import UserError
from simulators.files.grid import TableFile
from simulators.files.numbers import decimal_mark, is_number, numbers

ENDINGS = (".csv", ".tsv", ".txt", ".xlsx")


def is_weights_file(text: str) -> bool:
    """Whether a text names such a file."""
    return Path(text).suffix.lower() in ENDINGS


def read_weights(path: str | os.PathLike[str]) -> dict[str, float]:
    """The weight of each group that a table names, with or without a header; delimited text or a workbook.

    Raises
    ------
    UserError
        The file cannot be read, a row is not a group and a number that is not negative, or a group is there
        twice.
    """
    source = os.fspath(path)
    try:
        grid = TableFile(path).grid()
        rows = [(grid.row(i), [cell.strip() for cell in row]) for i, row in enumerate(grid.rows) if any(row)]
    except (OSError, ValueError) as error:
        told = on_one_line(error)
        raise UserError(told if source in told else f"{source}: {told}") from error
    if rows and len(rows[0][1]) == 2 and not is_number(rows[0][1][1]):
        rows = rows[1:]  # a header
    if not rows:
        raise UserError(f"{source}: has no rows; accepted: a group and its weight in each")
    for row, cells in rows:
        if len(cells) != 2 or not cells[0] or not is_number(cells[1]):
            raise UserError(f"{source}: row {row}: {', '.join(cells)}; accepted: a group and its weight")
    try:
        values = numbers([cells[1] for _, cells in rows], decimal_mark((c[1] for _, c in rows), source))
    except ValueError as error:
        raise UserError(on_one_line(error)) from error
    found: dict[str, float] = {}
    for (row, (name, text)), value in zip(rows, values.tolist(), strict=True):
        if not value >= 0:
            raise UserError(f"{source}: row {row}: weight {text} of {name}; accepted: 0 or more")
        if name in found:
            raise UserError(f"{source}: row {row}: {name} is named twice")
        found[name] = value
    return found
