"""A country as the tables that it can be read from again: groups.csv, contacts.csv, contacts-home.csv, .."""

from __future__ import annotations

from dataclasses import fields

import pandas as pd

from policyloop.plain_text import for_spreadsheet
from simulators.arrays import Array
from simulators.country.country import Country

COLUMNS = tuple(
    one.name
    for one in fields(Country)
    if one.name not in ("groups", "persons", "contacts", "by_setting", "imbalance", "findings")
)
"""What may be known of groups besides their persons."""


def tidy(country: Country) -> dict[str, str]:
    """The text of the files by their names, in CSV; numbers with all their digits.

    Names that a spreadsheet would run as a formula get an apostrophe before them, which is read as none.
    """
    names = [for_spreadsheet(name) for name in country.groups]
    table = pd.DataFrame({"name": names, "persons": country.persons})
    for column in COLUMNS:
        if getattr(country, column) is not None:
            table[column] = getattr(country, column)

    def square(contacts: Array) -> str:
        return str(pd.DataFrame(contacts, index=names, columns=names).to_csv())

    files = {"groups.csv": str(table.to_csv(index=False)), "contacts.csv": square(country.contacts)}
    for setting, contacts in country.by_setting.items():
        files[f"contacts-{setting}.csv"] = square(contacts)
    return files
