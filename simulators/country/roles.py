"""Which of some files is which: groups, contacts, contacts at a setting, a survey's participants."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from simulators.country.groups import is_groups
from simulators.country.known_bands import mistry_setting
from simulators.country.prem import is_prem
from simulators.country.settings import SETTINGS, setting_of
from simulators.country.survey import is_survey_contacts, is_survey_participants
from simulators.country.town_tables import kind_of
from simulators.files.grid import TableFile
from simulators.files.numbers import is_number


@dataclass
class Roles:
    """The files of a country by what they are; as `read_country` and `read_town` take them."""

    groups: str | None = None
    contacts: str | None = None
    by_setting: dict[str, str] = field(default_factory=dict)
    participants: list[str] = field(default_factory=list)
    town: dict[str, str] = field(default_factory=dict)


def told_apart(
    files: Sequence[str | os.PathLike[str]], country: str | None = None, encoding: str | None = None
) -> Roles:
    """What each file is, as its header and its name tell.

    Parameters
    ----------
    files : sequence of paths
    country : str, optional
        The sheet of a workbook with several.
    encoding : str, optional

    Raises
    ------
    ValueError
        A file cannot be read, or two are the same; in one line.
    """
    roles = Roles()
    for path in [os.fspath(one) for one in files]:
        file = TableFile(path, country, encoding)
        header = file.header()
        if is_survey_participants(header):
            roles.participants.append(path)
        elif is_survey_contacts(header) or is_prem(header):
            roles.contacts = _only(roles.contacts, path, "contacts")
        elif (kind := kind_of(header)) is not None and not (kind == "employment" and is_groups(header)):
            roles.town[kind] = _only(roles.town.get(kind), path, kind)
        elif is_groups(header) and not _is_pair(file, header):
            roles.groups = _only(roles.groups, path, "groups")
        elif (setting := _setting(path)) is not None:
            roles.by_setting[setting] = _only(roles.by_setting.get(setting), path, f"contacts at {setting}")
        else:
            roles.contacts = _only(roles.contacts, path, "contacts")
    return roles


def _only(known: str | None, path: str, what: str) -> str:
    if known is not None:
        raise ValueError(
            f"{path}: is a table of {what}, as {known} is; say which is what (--groups, --contacts)"
        )
    return path


def _is_pair(file: TableFile, header: Sequence[str]) -> bool:
    """Whether a table of two columns of numbers is of the contacts of two groups."""
    return len(header) == 2 and all(map(is_number, header)) and len(file.grid().rows) == 2


def _setting(path: str) -> str | None:
    """The setting that the name of a file tells, as contacts-home.csv; else None."""
    known = mistry_setting(path)
    if known is not None:
        return setting_of(known)
    stem = os.path.basename(path).split(".")[0].lower()
    for length in (2, 1):
        words = re.split(r"[-_ ]+", stem)
        for at in range(len(words) - length + 1):
            setting = setting_of("_".join(words[at : at + length]))
            if setting in SETTINGS:
                return setting
    return None
