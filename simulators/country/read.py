"""A country, read from people's own tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

import numpy as np

from simulators.arrays import Array
from simulators.contract.validation import choice
from simulators.country.country import Country
from simulators.country.groups import GroupTable, groups_of
from simulators.country.reciprocity import fits_the_other_way, largest_failure, mended
from simulators.country.settings import setting_of, summed
from simulators.country.square import Square, only_counted, places, same_names, square_of
from simulators.files.grid import read_grid

Path = str | os.PathLike[str]
Orientation = Literal["row", "column"]
Reciprocity = Literal["mend", "keep", "refuse"]

_KEPT = 1e-6
"""Reciprocity that fails by no more than this factor above 1 is kept."""


def read_country(
    groups: Path,
    contacts: Path | None = None,
    *,
    by_setting: Mapping[str, Path] | None = None,
    orientation: Orientation | None = None,
    reciprocity: Reciprocity = "mend",
    decimal: str | None = None,
    encoding: str | None = None,
) -> Country:
    """Read a country from a table of its groups and a table of their contacts.

    Parameters
    ----------
    groups : path
        CSV (any delimiter and encoding) or an Excel workbook. Columns: `name` and `persons`; if they
        are there `susceptibility`, `infectivity` (relative), `initial_infected` (persons),
        `hospitalisation`, `death` (shares of those infected), `cost`, `qaly_loss` (of one infection) and
        `current` (today's coverage, 0 to 1). Other columns are left out, and a finding names them.
    contacts : path, optional
        Contacts a day, one row and one column a group (1 to 100 of them), with or without labels. Left out:
        the sum of `by_setting`.
    by_setting : mapping of setting to path, optional
        The same by setting: home, school, work, other. They sum to `contacts`.
    orientation : {"row", "column"}, optional
        Who reports: the person of the row (contacts of one person of the row with persons of the column), or
        that of the column. Left out: the row, unless reciprocity tells that it is the column, which is an
        error.
    reciprocity : {"mend", "keep", "refuse"}, default "mend"
        What to do where a contact of i with j is not one of j with i, C_ij N_i = C_ji N_j: take the mean of
        both, C'_ij = (C_ij N_i + C_ji N_j) / (2 N_i), leave it, or refuse the table.
    decimal : {".", ","}, optional
        The decimal mark; left out, what the numbers of each file tell.
    encoding : str, optional
        Of text; left out, what each file looks like.

    Returns
    -------
    Country
        Its findings say what was read, mended and left out.

    Raises
    ------
    ValueError
        What cannot be read or does not fit together, in one line that names the file and the row or label.
    """
    if orientation is not None:
        choice("orientation", orientation, ("row", "column"))
    choice("reciprocity", reciprocity, ("mend", "keep", "refuse"))
    if decimal is not None:
        choice("decimal", decimal, (".", ","))
    if contacts is None and not by_setting:
        raise ValueError(f"{os.fspath(groups)}: no contacts are given; name their file, or one a setting")
    table = groups_of(read_grid(groups, encoding=encoding), decimal)
    findings = list(table.findings)

    def fitted(path: Path) -> Array:
        square = square_of(read_grid(path, encoding=encoding), decimal)
        findings.extend(square.findings)
        return _oriented(_in_order(square, table, findings), square.source, table, orientation, findings)

    total = None if contacts is None else fitted(contacts)
    settings: dict[str, Array] = {}
    for name, path in (by_setting or {}).items():
        setting = setting_of(name)
        settings[setting] = settings.get(setting, np.zeros(())) + fitted(path)
    source = os.fspath(contacts) if contacts is not None else "the settings"
    whole = summed(settings, total, table.names, source) if settings else total
    assert whole is not None
    whole, settings = _reciprocal(whole, settings, table, source, reciprocity, findings)
    others = {what: column for what, column in table.columns.items() if what != "persons"}
    return Country(table.names, table.persons, whole, settings, **others, findings=tuple(findings))


def _in_order(square: Square, table: GroupTable, findings: list[str]) -> Array:
    """The contacts in the order of the groups."""
    J = len(table.names)
    if len(square.contacts) != J:
        raise ValueError(
            f"{square.source}: has {len(square.contacts)} rows and columns of contacts, and {table.source} "
            f"{J} groups"
        )
    named = square.labels is not None and (
        not only_counted(square.labels) or same_names(square.labels, table.names)
    )
    if square.labels is None or not named:
        findings.append(f"{square.source}: has no labels; its rows are taken in the order of {table.source}")
        return square.contacts
    order = places(square.labels, table.names, f"{square.source}: labels", f"the groups of {table.source}")
    if order != list(range(J)):
        findings.append(
            f"{square.source}: its labels are in another order than {table.source}; put in that order"
        )
    return np.ascontiguousarray(square.contacts[np.ix_(order, order)])


def _oriented(
    contacts: Array, source: str, table: GroupTable, orientation: Orientation | None, findings: list[str]
) -> Array:
    """Contacts of one person of the row, from either orientation."""
    if orientation == "column":
        findings.append(f"{source}: turned, so that its columns, who report, are the rows")
        return np.ascontiguousarray(contacts.T)
    if orientation is None:
        unbalanced = fits_the_other_way(contacts, table.persons)
        if unbalanced is not None:
            here, there = unbalanced
            raise ValueError(
                f"{source}: rows seem not to be those who report: {here:.1%} of the contacts are counted "
                f"from one side alone, and {there:.1%} with the columns reporting; say orientation, 'row' "
                "or 'column'"
            )
    return contacts


def _reciprocal(
    whole: Array,
    settings: dict[str, Array],
    table: GroupTable,
    source: str,
    reciprocity: Reciprocity,
    findings: list[str],
) -> tuple[Array, dict[str, Array]]:
    """The contacts, mended where that is asked, and what was found said."""
    failure = largest_failure(whole, table.persons)
    if failure.factor <= 1.0 + _KEPT:
        findings.append(f"{source}: contacts are reciprocal")
        return whole, settings
    factor = "one side has none" if np.isinf(failure.factor) else f"a factor {failure.factor:.3g} apart"
    told = (
        f"contacts between {table.names[failure.row]!r} and {table.names[failure.column]!r}, counted from "
        f"either side: {factor}"
    )
    if reciprocity == "refuse":
        raise ValueError(f"{source}: is not reciprocal: {told}")
    if reciprocity == "keep":
        findings.append(f"{source}: is not reciprocal, and kept so; at most, {told}")
        return whole, settings
    findings.append(f"{source}: reciprocity mended, by the mean of both sides; at most, {told}")
    return mended(whole, table.persons), {name: mended(one, table.persons) for name, one in settings.items()}
