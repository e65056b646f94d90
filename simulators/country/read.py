"""A country, read from people's own tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from simulators.arrays import Array
from simulators.contract.validation import choice
from simulators.country.aggregation import Ages
from simulators.country.bands import bands_of
from simulators.country.country import Country
from simulators.country.fitting import Fitting, Orientation
from simulators.country.groups import MOST, GroupTable, combined, groups_of
from simulators.country.known_bands import (
    MISTRY_18,
    MISTRY_WEIGHTS,
    POLYMOD,
    UNLABELLED,
    is_mistry_18,
    mistry_setting,
)
from simulators.country.prem import is_prem, read_prem
from simulators.country.reciprocity import imbalance, largest_failure, mended
from simulators.country.settings import setting_of, summed
from simulators.country.square import Square, square_of
from simulators.country.survey import MISSING_AGES, MissingAges, is_survey_contacts, read_survey
from simulators.files.grid import TableFile

Path = str | os.PathLike[str]
Reciprocity = Literal["mend", "keep", "refuse"]

_KEPT = 1e-6
"""Reciprocity that fails by no more than this factor above 1 is kept."""

_FEW = 20
"""Groups of single years, more than this many, are a population by age and no groups for a survey."""


def read_country(
    groups: Path,
    contacts: Path | None = None,
    *,
    by_setting: Mapping[str, Path] | Sequence[Path] | None = None,
    participants: Path | Sequence[Path] | None = None,
    persons: Path | None = None,
    bands: Sequence[str] | Literal["groups", "contacts"] | None = None,
    split: bool = False,
    country: str | None = None,
    area: str = "overall",
    orientation: Orientation | None = None,
    reciprocity: Reciprocity = "mend",
    weigh_days: bool = False,
    missing_ages: MissingAges = "impute",
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
        Contacts a day, one row and one column a group (1 to 100 of them), with or without labels; or of finer
        bands of ages than the groups. Also the long table of Prem et al. 2021, the contacts of a survey in
        the form of socialmixr, and the matrices of Mistry et al. 2021. Left out: the sum of `by_setting`.
    by_setting : mapping of setting to path, or sequence of paths of Mistry 2021, optional
        The same by setting: home, school, work, other. They sum to `contacts`.
    participants : path or sequence of paths, optional
        Of a survey: its participants, and where they are apart its households and days.
    persons : path, optional
        Persons by finer ages than the groups, by which finer contacts are weighted; columns as of `groups`.
        Left out, the persons of a group are even by year.
    bands : sequence of str, "groups" or "contacts", optional
        The groups of the country, where they are not those of `groups`: names such as "0-4" and "65+", or
        those of the contacts. Left out: the groups; for a survey with a population by single years, five
        years (POLYMOD's).
    split : bool, default False
        Whether bands may be split, by persons, as if all parts met alike. It is refused unless asked.
    country : str, optional
        Of a file with several: as its sheet, its iso3c or its participants' country has it.
    area : {"overall", "urban", "rural"}, default "overall"
        Of Prem's table.
    orientation : {"row", "column"}, optional
        Who reports: the person of the row (contacts of one person of the row with persons of the column), or
        that of the column. Left out: the row, unless reciprocity tells that it is the column, which is an
        error.
    reciprocity : {"mend", "keep", "refuse"}, default "mend"
        What to do where a contact of i with j is not one of j with i, C_ij N_i = C_ji N_j: take the mean of
        both, C'_ij = (C_ij N_i + C_ji N_j) / (2 N_i), leave it, or refuse the table.
    weigh_days : bool, default False
        Of a survey: whether weekdays count for 5/7 and weekends for 2/7.
    missing_ages : {"impute", "leave-out", "leave-out-participants"}, default "impute"
        Of a survey: what becomes of contacts without an age; spread as the others of the same participants'
        band and setting, left out, or left out with their participants.
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
    for name, value, accepted in (
        ("orientation", orientation, (None, "row", "column")),
        ("reciprocity", reciprocity, ("mend", "keep", "refuse")),
        ("missing_ages", missing_ages, MISSING_AGES),
        ("decimal", decimal, (None, ".", ",")),
    ):
        choice(name, value, accepted)
    settings = _settings(by_setting)
    if contacts is None and not settings:
        raise ValueError(f"{os.fspath(groups)}: no contacts are given; name their file, or one a setting")
    findings: list[str] = []

    def opened(path: Path, what: str) -> TableFile:
        file = TableFile(path, country, encoding)
        findings.append(f"{file.source}: {what} ({file.how})")
        return file

    def table_of(path: Path, what: str) -> GroupTable:
        table = groups_of(opened(path, what).grid(), decimal)
        findings.extend(table.findings)
        return replace(table, findings=())

    table = table_of(groups, "groups")
    ages = _ages_of(table)
    if persons is not None:
        ages = _ages_of(table_of(persons, "persons by age"))
        if ages is None:
            raise ValueError(f"{os.fspath(persons)}: its names are no ages")
    source = os.fspath(contacts) if contacts is not None else "the settings"
    fitted: dict[str, Array] = {}
    total: Array | None = None

    def fitting(wanted: Sequence[str] | None) -> Fitting:
        """How contacts of some bands are fitted to the groups, or to the bands that are asked for."""
        nonlocal table
        if bands == "contacts" and wanted is None:
            raise ValueError("bands='contacts': the contacts have no labels of ages")
        names = wanted if bands == "contacts" else None if bands in (None, "groups") else bands
        if names is not None and tuple(names) != table.names:
            table = combined(table, names, ages, split=split)
            findings.extend(table.findings)
            table = replace(table, findings=())
        if len(table.names) > MOST:
            raise ValueError(
                f"{table.source}: has {len(table.names)} groups; accepted: 1 to {MOST}; name bands, "
                "or 'contacts' for those of the contacts"
            )
        return Fitting(table, ages, orientation, split, findings)

    if contacts is not None:
        file = TableFile(contacts, country, encoding)
        header = file.header()
        labels: tuple[str, ...] | None
        if is_survey_contacts(header):
            if bands is None and len(table.names) > _FEW and ages is not None:
                bands = POLYMOD
                findings.append(
                    f"{table.source}: is a population by age; the groups are of five years, up to 70+"
                )
            fit = fitting(table.names)
            findings.append(f"{file.source}: contacts of a survey ({file.how})")
            fitted = _surveyed(
                file, participants, fit.table, findings,
                lambda path: opened(path, "participants of a survey"),
                country, weigh_days, missing_ages,
            )  # fmt: skip
        elif is_prem(header):
            findings.append(f"{file.source}: synthetic contacts, as of Prem et al. 2021 ({file.how})")
            labels, theirs, all_ = read_prem(file, country, area, decimal)
            fit = fitting(labels)
            for setting, one in theirs.items():
                fitted[setting] = fit.fit(one, labels, f"{source} ({setting})", reported_by_row=True)
            total = None if all_ is None else fit.fit(all_, labels, source, reported_by_row=True)
        else:
            findings.append(f"{file.source}: a table of contacts ({file.how})")
            square = square_of(file.grid(), decimal)
            findings.extend(square.findings)
            labels = _labels(square, bands == "contacts", findings)
            total = fitting(labels).fit(square.contacts, labels, square.source)
    for setting, path in settings.items():
        known = mistry_setting(os.fspath(path))
        what = f"contacts at {setting}"
        if known is not None:
            what = f"shares of contacts at {known} of Mistry et al. 2021, times {MISTRY_WEIGHTS[known]} a day"
        square = square_of(opened(path, what).grid(), decimal)
        findings.extend(square.findings)
        labels = _labels(square, bands == "contacts", findings)
        weight = 1.0 if known is None else MISTRY_WEIGHTS[known]
        one = fitting(labels).fit(weight * square.contacts, labels, square.source, check=False)
        fitted[setting] = fitted[setting] + one if setting in fitted else one
    whole = summed(fitted, total, table.names, source) if fitted else total
    assert whole is not None
    if contacts is None and orientation is None:
        fitting(table.names).oriented(whole, table.persons, source, reported_by_row=False, check=True)
    counted_once = imbalance(whole, table.persons)
    whole, fitted = _reciprocal(whole, fitted, table, source, reciprocity, findings)
    others = {what: column for what, column in table.columns.items() if what != "persons"}
    told = tuple(dict.fromkeys(findings))
    return Country(table.names, table.persons, whole, fitted, **others, imbalance=counted_once, findings=told)


def _settings(by_setting: Mapping[str, Path] | Sequence[Path] | None) -> dict[str, Path]:
    """Files by setting; the setting of a file of Mistry's is told from its name."""
    if by_setting is None:
        return {}
    if isinstance(by_setting, Mapping):
        pairs = [(setting_of(name), path) for name, path in by_setting.items()]
    else:
        pairs = []
        for path in by_setting:
            known = mistry_setting(os.fspath(path))
            if known is None:
                raise ValueError(
                    f"{os.fspath(path)}: its name does not tell the setting; name it, as in home=FILE"
                )
            pairs.append((setting_of(known), path))
    found: dict[str, Path] = {}
    for setting, path in pairs:
        if setting in found:
            raise ValueError(f"{os.fspath(path)}: {setting} is there already, {os.fspath(found[setting])}")
        found[setting] = path
    return found


def _ages_of(table: GroupTable) -> Ages | None:
    """Persons by age, where the groups are ages."""
    found = bands_of(table.names)
    if found is None:
        return None
    order = sorted(range(len(found)), key=lambda index: found[index])
    return Ages(tuple(found[index] for index in order), table.persons[order])


def _labels(square: Square, guess: bool, findings: list[str]) -> tuple[str, ...] | None:
    """The labels of a table, or those that its name tells, or by a guess its size."""
    J = len(square.contacts)
    if square.labels is None and is_mistry_18(square.source) and len(MISTRY_18) == J:
        return MISTRY_18
    if square.labels is None and guess and J in UNLABELLED:
        whose, labels = UNLABELLED[J]
        findings.append(
            f"{square.source}: has no labels; taken as {whose} {J} bands, {labels[0]} to {labels[-1]}"
        )
        return labels
    return square.labels


def _surveyed(
    contacts: TableFile,
    participants: Path | Sequence[Path] | None,
    table: GroupTable,
    findings: list[str],
    opened: Callable[[Path], TableFile],
    country: str | None,
    weigh_days: bool,
    missing_ages: MissingAges,
) -> dict[str, Array]:
    """Contacts of a survey by setting, of the groups."""
    if participants is None:
        raise ValueError(f"{contacts.source}: contacts of a survey need its participants; name their table")
    several = [participants] if isinstance(participants, str | os.PathLike) else list(participants)
    groups = bands_of(table.names)
    if groups is None:
        raise ValueError(
            f"{table.source}: a survey needs groups of ages, such as '0-4' and '65+'; or say bands"
        )
    survey = read_survey(
        contacts,
        [opened(path) for path in several],
        table.names,
        groups,
        country=country,
        weigh_days=weigh_days,
        missing_ages=missing_ages,
    )
    findings.extend(survey.findings)
    return survey.by_setting


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
    factor = "one side has none" if np.isinf(failure.factor) else f"a factor {failure.factor:.4g} apart"
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
