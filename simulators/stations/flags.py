"""Findings of the quality control: which station, by which rule, what it read, and what was done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simulators.arrays import Array, Mask
from simulators.stations.units import said

Done = Literal["left out", "kept"]

RULES = {
    "limits": "a reading beyond the records of the Earth",
    "joint": "readings that cannot be together",
    "contradiction": "contradicts itself",
    "place": "not where it says it is",
    "unit": "reads as if in another unit than the column",
    "stuck": "a sensor that has stopped changing",
    "buddy": "differs from its neighbours",
}
"""The rules by name, in the order in which they are asked: a station bears the flag of the first."""


@dataclass(frozen=True)
class Flag:
    """What the quality control found wrong with one station.

    Attributes
    ----------
    station : str
        Its id.
    row : int
        Of the source, as in `Finding`.
    rule : str
        A name of `RULES`.
    quantity : str
        What is wrong: temperature, humidity, wind, or place.
    value : float or None
        What it read, in K, percent or m/s; None of a place.
    expected : float or None
        What its neighbours say, where they were asked.
    why : str
        In words, with the numbers in the units of the source.
    done : {"left out", "kept"}
        Left out: no candidate, and no kernel is learned from it; it stays in `ImportReport.left_out`, and on
        the map.
    """

    station: str
    row: int
    rule: str
    quantity: str
    value: float | None
    expected: float | None
    why: str
    done: Done

    def __str__(self) -> str:
        return f"{self.station} (row {self.row}): {self.why}"


class Flags:
    """Collects flags of n rows, one a row: the first rule that finds something.

    Parameters
    ----------
    n : int
    units : mapping of quantity to unit
        Those of the source, in which words give numbers.

    Attributes
    ----------
    flagged : (n,) array of bool
    found : dict of row index to (rule, quantity, value, expected, why)
    """

    def __init__(self, n: int, units: Mapping[str, str]) -> None:
        self.units = units
        self.flagged: Mask = np.zeros(n, dtype=bool)
        self.found: dict[int, tuple[str, str, float | None, float | None, str]] = {}

    def add(
        self,
        rule: str,
        which: Mask,
        quantity: str,
        why: str,
        values: Array,
        expected: Array | None = None,
        **others: Array,
    ) -> None:
        """Flag the rows `which` (n,) that bear no flag yet.

        `why` may name {value} and {expected}, readings of the quantity, and `others`, readings or numbers.
        """
        for i in np.flatnonzero(which & ~self.flagged).tolist():
            likely = np.nan if expected is None else expected[i]
            words = {name: self.said(name, array[i]) for name, array in others.items()}
            words |= {"value": self.said(quantity, values[i]), "expected": self.said(quantity, likely)}
            self.one(i, rule, quantity, why.format(**words), values[i], likely)

    def said(self, quantity: str, value: float) -> str:
        """A reading in canonical units as the source would write it, such as "22.5 degC"; else a number."""
        return said(value, quantity, self.units)

    def one(self, i: int, rule: str, quantity: str, why: str, value: float, expected: float) -> None:
        """Flag one row; nan for a value that there is not."""
        read, likely = (float(x) if np.isfinite(x) else None for x in (value, expected))
        self.found[i] = (rule, quantity, read, likely, why)
        self.flagged[i] = True

    def listed(
        self, order: NDArray[np.intp], ids: NDArray[np.str_], rows: NDArray[np.int64], done: Done
    ) -> list[Flag]:
        """The flags of some rows, in their order."""
        return [
            Flag(str(ids[i]), int(rows[i]), rule, quantity, value, expected, why, done)
            for i in order.tolist()
            if i in self.found
            for rule, quantity, value, expected, why in (self.found[i],)
        ]
