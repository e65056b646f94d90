"""The table of groups: a name, persons, and what else is known of each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from policyloop.plain_text import from_spreadsheet
from simulators.arrays import Array
from simulators.country.aggregation import Ages, both_open, opened
from simulators.country.bands import Band, band, bands_of, check_bands
from simulators.country.columns import columns_of, key_of
from simulators.country.known_bands import MISTRY_18, is_mistry_18
from simulators.country.totals import is_total
from simulators.files.grid import Grid
from simulators.files.numbers import decimal_mark, is_number, numbers

MOST = 100
"""Groups of a country, at most; a population by age may have more rows."""

_MOST_ROWS = 200

_MOST_PERSONS = 1e12
"""Persons, and what any other number is taken for a mistake above."""

ALIASES: dict[str, tuple[str, ...]] = {
    "name": ("name", "group", "groups", "age", "ages", "age_group", "agegroup", "age_band", "age_range",
             "band", "label", "lower_age_limit", "age_lower"),
    "persons": ("persons", "population", "pop", "people", "inhabitants", "n", "size", "count", "number",
                "total"),
    "susceptibility": ("susceptibility", "relative_susceptibility", "susc"),
    "infectivity": ("infectivity", "infectiousness", "relative_infectivity"),
    "initial_infected": ("initial_infected", "infected", "initially_infected", "seed", "seeds", "i0"),
    "hospitalisation": ("hospitalisation", "hospitalization", "hospitalised", "hospitalized", "ihr",
                        "infection_hospitalisation_ratio"),
    "death": ("death", "deaths", "ifr", "infection_fatality_ratio", "fatality"),
    "cost": ("cost", "cost_per_infection", "costs"),
    "qaly_loss": ("qaly_loss", "qaly", "qalys_lost", "qaly_lost", "qalys"),
    "current": ("current", "coverage", "current_coverage", "uptake", "vaccinated"),
}  # fmt: skip
"""The columns that are understood, each by the names that it may have, in any case."""

SHARES = ("hospitalisation", "death", "current")
_LIMITS = {"persons": "> 0"} | dict.fromkeys(SHARES, "within 0..1")


@dataclass(frozen=True)
class GroupTable:
    """The groups of a file.

    Attributes
    ----------
    source : str
    names : tuple of str
        J names, in the order of the file.
    columns : dict of str to (J,) array
        By the names of `ALIASES`; `persons` is always there.
    findings : tuple of str
    """

    source: str
    names: tuple[str, ...]
    columns: dict[str, Array]
    findings: tuple[str, ...] = field(default=())

    @property
    def persons(self) -> Array:
        """Persons of each group (J,)."""
        return self.columns["persons"]


def combined(table: GroupTable, names: Sequence[str], ages: Ages | None, *, split: bool) -> GroupTable:
    """The groups put together to other bands.

    Persons and those infected at first are summed, all else is the mean by persons.

    Parameters
    ----------
    table : GroupTable
    names : sequence of str
        The bands.
    ages : Ages or None
        Persons by age; None where the groups are no ages, which is an error.
    split : bool
        Whether a group may be split between bands, by persons.
    """
    check_bands(names, "bands")
    wanted, mine = bands_of(names), bands_of(table.names)
    if wanted is None:
        strange = next(name for name in names if bands_of([name]) is None)
        raise ValueError(f"bands: {strange!r} says no ages; accepted: names such as '0-4' and '65+'")
    if mine is None or ages is None:
        raise ValueError(f"{table.source}: its groups are no bands of ages, so they make no others")
    if both_open(wanted, mine):
        wanted, mine = tuple(opened(wanted)), tuple(opened(mine))
    for name, one in zip(names, wanted, strict=True):
        if one.low < min(mine).low or one.high > max(mine).high:
            raise ValueError(f"{table.source}: has no persons of some ages of band {name!r}")
    share = np.zeros((len(wanted), len(mine)))
    for (i, one), (j, own) in itertools.product(enumerate(wanted), enumerate(mine)):
        shared = Band(max(one.low, own.low), min(one.high, own.high))
        if shared.low <= shared.high:
            share[i, j] = 1.0 if shared == own else ages.within(shared) / ages.within(own)
    for j, name in enumerate(table.names):
        if share[:, j].sum() < 1.0 - 1e-9:
            some = "some of" if share[:, j].any() else "all of"
            raise ValueError(f"{table.source}: {some} group {name!r} is of none of the bands")
        if np.count_nonzero(share[:, j]) > 1 and not split:
            between = [names[int(i)] for i in np.flatnonzero(share[:, j])]
            raise ValueError(
                f"{table.source}: group {name!r} would have to be split between the bands "
                f"{' and '.join(map(repr, between[:3]))}; name bands that are made of the groups, "
                "or ask to split"
            )
    persons = share @ table.persons
    for name, some in zip(names, persons, strict=True):
        if some <= 0:
            raise ValueError(f"{table.source}: nobody is of band {name!r}")
    columns = {"persons": persons}
    for what, column in table.columns.items():
        if what == "initial_infected":
            columns[what] = share @ column
        elif what != "persons":
            columns[what] = share @ (column * table.persons) / persons
    finding = f"{table.source}: {len(mine)} groups put together to {len(names)} bands"
    return GroupTable(table.source, tuple(names), columns, (*table.findings, finding))


def groups_of(grid: Grid, decimal: str | None = None) -> GroupTable:
    """The groups of a table that has been read.

    Raises
    ------
    ValueError
        One line that names the file and the row: no column of names or persons, a name twice or none, a
        number that is missing, text, negative or a share above 1, bands that overlap or leave ages out.
    """
    findings: list[str] = []
    if _headless(grid):
        header, body, offset = ["age", "persons"], grid.rows, 0
        findings.append(f"{grid.source}: has no header; read as name and persons")
    else:
        header, body, offset = grid.rows[0], grid.rows[1:], 1
    columns = columns_of(grid, header, ALIASES, ("name", "persons"), findings)
    _check_width(grid, header, body, offset)
    body_rows = [(grid.row(offset + index), row) for index, row in enumerate(body) if any(row)]
    if not body_rows:
        raise ValueError(f"{grid.source}: row {grid.row(0)}: there are no rows below the header")
    where = [row for row, _ in body_rows]
    names = [from_spreadsheet(row[columns["name"]]) for _, row in body_rows]
    texts = {what: [row[at] for _, row in body_rows] for what, at in columns.items() if what != "name"}
    mark = decimal or decimal_mark((text for cells in texts.values() for text in cells), grid.source)
    for what in [what for what, cells in texts.items() if what != "persons" and not any(cells)]:
        findings.append(f"{grid.source}: column {header[columns[what]]!r} is empty, and left out")
        del texts[what]
    values = {what: numbers(cells, mark) for what, cells in texts.items()}
    total = _total(names, values["persons"], where, grid.source)
    if total is not None:
        findings.append(
            f"{grid.source}: row {where[total]} ({names[total]!r}) is the sum of the others, and left out"
        )
        kept = [index for index in range(len(names)) if index != total]
        names, where = [names[index] for index in kept], [where[index] for index in kept]
        texts = {what: [cells[index] for index in kept] for what, cells in texts.items()}
        values = {what: column[kept] for what, column in values.items()}
    if is_mistry_18(grid.source) and len(names) == len(MISTRY_18):
        names = list(MISTRY_18)
    names = _ages(names, header[columns["name"]], grid.source, findings)
    _check_names(names, where, grid.source)
    for what, column in values.items():
        _check_column(what, column, texts[what], names, where, header[columns[what]], grid.source)
    if "initial_infected" in values:
        _check_infected(values["initial_infected"], values["persons"], names, where, grid.source)
    check_bands(names, grid.source)
    return GroupTable(grid.source, tuple(names), values, tuple(findings))


def is_groups(header: Sequence[str]) -> bool:
    """Whether the first row of a table is that of groups: names of columns, or an age and its persons."""
    return any(key_of(title) in ALIASES["persons"] for title in header) or (
        len(header) == 2 and is_number(header[1]) and (is_number(header[0]) or band(header[0]) is not None)
    )


def _headless(grid: Grid) -> bool:
    """Whether there are but two columns of numbers: ages and persons, as some age distributions have it."""
    return grid.width == 2 and is_number(grid.rows[0][1])


def _total(names: list[str], persons: Array, where: list[int], source: str) -> int | None:
    """The row of the sum of all others, where there is one; ValueError where its persons are not theirs."""
    for index, name in enumerate(names):
        if is_total(name) and len(names) > 2:
            rest = np.delete(persons, index).sum()
            if np.isclose(persons[index], rest, rtol=0.01):
                return index
            if np.isfinite(rest):
                raise ValueError(
                    f"{source}: row {where[index]} ({name!r}): {persons[index]:,.0f} persons, where the "
                    f"other rows have {rest:,.0f}; leave out a total, or give the group another name"
                )
    return None


def _check_width(grid: Grid, header: list[str], body: list[list[str]], offset: int) -> None:
    """Refuse cells beside the last column that has a name: numbers with a decimal comma, parted by commas."""
    named = max((at for at, title in enumerate(header) if title), default=-1) + 1
    for index, row in enumerate(body):
        if offset and any(row[named:]):
            cells = max(at for at, text in enumerate(row) if text) + 1
            raise ValueError(
                f"{grid.source}: row {grid.row(offset + index)} has {cells} cells, and the header {named}: "
                "where the decimal mark is a comma, part cells by semicolons, or write numbers with a point"
            )


def _ages(names: list[str], title: str, source: str, findings: list[str]) -> list[str]:
    """Names that are the lowest ages of bands, or single years, written as bands; others as they are."""
    if len(names) < 3 or not all(re.fullmatch(r"\d{1,3}(\.0*)?", name) for name in names):
        return names
    lows = [int(float(name)) for name in names]
    if any(after <= before for before, after in zip(lows, lows[1:], strict=False)):
        return names
    if any(after > before + 1 for before, after in zip(lows, lows[1:], strict=False)):
        findings.append(f"{source}: column {title!r} holds the lowest age of each group")
    highs = [after - 1 for after in lows[1:]]
    findings.append(f"{source}: the last group is taken as {lows[-1]}+")
    return [str(low) if low == high else f"{low}-{high}" for low, high in zip(lows, highs, strict=False)] + [
        f"{lows[-1]}+"
    ]


def _check_names(names: list[str], where: list[int], source: str) -> None:
    if len(names) > _MOST_ROWS:
        raise ValueError(f"{source}: has {len(names)} groups; accepted: 1 to {MOST}")
    seen: dict[str, int] = {}
    for row, name in zip(where, names, strict=True):
        if not name:
            raise ValueError(f"{source}: row {row}: the group has no name")
        if name in seen:
            raise ValueError(f"{source}: row {row}: group {name!r} is there already, in row {seen[name]}")
        seen[name] = row


def _check_column(
    what: str, column: Array, texts: list[str], names: list[str], where: list[int], title: str, source: str
) -> None:
    accepted = _LIMITS.get(what, ">= 0")
    for row, name, text, value in zip(where, names, texts, column, strict=True):
        least = value > 0 if what == "persons" else value >= 0
        good = least and value <= (1.0 if what in SHARES else _MOST_PERSONS)
        if not good:
            told = "is missing" if not text else f"is {text!r}"
            if value > _MOST_PERSONS and what not in SHARES:
                accepted += f" and <= {_MOST_PERSONS:g}"
            raise ValueError(
                f"{source}: row {row} ({name!r}): {title} {told}; it must be a finite number {accepted}"
            )


def _check_infected(infected: Array, persons: Array, names: list[str], where: list[int], source: str) -> None:
    for row, name, some, all_ in zip(where, names, infected, persons, strict=True):
        if some > all_:
            raise ValueError(
                f"{source}: row {row} ({name!r}): {some:g} persons are infected at first, of {all_:g}"
            )
