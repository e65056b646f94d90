"""Synthetic contacts of Prem et al. 2021, as the long table that is published.

`synthetic_contacts_2021.csv` (PLoS Computational Biology 17(7):e1009098, 177 countries) has the columns
iso3c, setting (overall, urban, rural), location_contact (home, work, school, others, all), age_contactor,
age_cotactee (so spelt), mean_number_of_contacts; the contactor is who reports. How it is written: codes/
contact_4_world_storage.r in generate_synthetic_matrices of kieshaprem/synthetic-contact-matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from policyloop.messages import unknown_name
from simulators.arrays import Array
from simulators.country.settings import setting_of
from simulators.country.square import MOST_CONTACTS
from simulators.files.grid import TableFile
from simulators.files.numbers import decimal_mark, numbers

_COLUMNS = (
    "iso3c",
    "setting",
    "location_contact",
    "age_contactor",
    "age_cotactee",
    "mean_number_of_contacts",
)

AREAS = ("overall", "urban", "rural")


def is_prem(header: Sequence[str]) -> bool:
    """Whether a header is that of the long table."""
    return {"location_contact", "age_contactor", "mean_number_of_contacts"} <= {
        name.strip().lower() for name in header
    }


def read_prem(
    file: TableFile, country: str | None, area: str, decimal: str | None
) -> tuple[tuple[str, ...], dict[str, Array], Array | None]:
    """The contacts of one country.

    Returns
    -------
    labels : tuple of str
        Bands of ages, in the order of the file.
    by_setting : dict of str to (J, J) array
        Row = who reports.
    total : (J, J) array or None
        `all`, where the file has it.

    Raises
    ------
    ValueError
        The country is not named and there are several, or it or the area is not there; a pair of ages is
        missing or there twice, or its number is none; in one line.
    """
    frame = file.frame()
    frame.columns = pd.Index(
        [str(name).lower().replace("age_contactee", "age_cotactee") for name in frame.columns]
    )
    lacking = [name for name in _COLUMNS if name not in frame.columns]
    if lacking:
        raise ValueError(
            f"{file.source}: row 1: no column {lacking[0]!r} (there are: {', '.join(frame.columns)})"
        )
    frame = _only(frame, "iso3c", country, "country", file.source)
    frame = _only(frame, "setting", area, "area", file.source)
    labels = tuple(dict.fromkeys(frame["age_contactor"]))
    mark = decimal or decimal_mark(frame["mean_number_of_contacts"].head(2000), file.source)
    by_place: dict[str, Array] = {}
    for location, part in frame.groupby("location_contact", sort=False):
        by_place[str(location)] = _matrix(part, labels, mark, f"{file.source}: {location}")
    total = by_place.pop("all", None)
    return labels, {setting_of(name): one for name, one in by_place.items()}, total


def _only(frame: pd.DataFrame, column: str, wanted: str | None, what: str, source: str) -> pd.DataFrame:
    names = [str(name) for name in frame[column].unique()]
    if wanted is None and len(names) == 1:
        return frame
    if wanted is None:
        raise ValueError(f"{source}: has {len(names)} countries; name one ({', '.join(names[:8])}, ..)")
    for name in names:
        if name.casefold() == wanted.casefold():
            return frame[frame[column] == name]
    raise ValueError(f"{source}: {unknown_name(what, wanted, names)}")


def _matrix(part: pd.DataFrame, labels: tuple[str, ...], mark: str, where: str) -> Array:
    place = {label: index for index, label in enumerate(labels)}
    contacts = np.full((len(labels), len(labels)), np.nan)
    values = numbers(list(part["mean_number_of_contacts"]), mark)
    # The index counts the rows below the header, which is row 1.
    for row, contactor, other, text, value in zip(
        part.index + 2,
        part["age_contactor"],
        part["age_cotactee"],
        part["mean_number_of_contacts"],
        values,
        strict=True,
    ):
        if other not in place:
            raise ValueError(f"{where}: row {row}: age_cotactee {other!r} is no age_contactor")
        if not 0 <= value <= MOST_CONTACTS:
            told = f"is {text!r}" if text else "is missing"
            raise ValueError(f"{where}: row {row}: mean_number_of_contacts {told}; it must be a number >= 0")
        at = place[contactor], place[other]
        if not np.isnan(contacts[at]):
            raise ValueError(f"{where}: row {row}: {contactor!r} with {other!r} is there twice")
        contacts[at] = value
    if np.isnan(contacts).any():
        i, j = np.argwhere(np.isnan(contacts))[0]
        raise ValueError(f"{where}: {labels[i]!r} with {labels[j]!r} is not there")
    return contacts
