"""Contacts from a survey in the form of socialmixr and socialcontactdata.org, such as POLYMOD.

Participants have part_id, and part_age (or part_age_exact, or part_age_est_min and part_age_est_max); in the
same table or in those of households (by hh_id) and of days (by part_id) country and dayofweek (0 Sunday, 1
Monday, .. 6 Saturday). Contacts have part_id, cnt_age_exact, or cnt_age_est_min and cnt_age_est_max, and
cnt_home, cnt_work, cnt_school and other places, each 1 or 0, or TRUE or FALSE.

Reference: Funk et al., socialmixr (`contact_matrix`): an age that is given as a range is its middle; with
weights of days, weekdays count for 5/7 and weekends for 2/7 (Willem et al. 2020, BMC Research Notes 13:293,
eq. 1: m_ij = sum_t w_t y_ijt / sum_t w_t over the participants t of age i).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from policyloop.messages import unknown_name
from simulators.arrays import Array
from simulators.country.bands import Band
from simulators.files.grid import TableFile

MissingAges = Literal["impute", "leave-out", "leave-out-participants"]
MISSING_AGES = ("impute", "leave-out", "leave-out-participants")

_FIRST = ("home", "school", "work")
"""A contact in several places counts for the first of these that is among them, else as other."""


def is_survey_contacts(header: Sequence[str]) -> bool:
    """Whether a header is that of a survey's contacts."""
    return "part_id" in header and any(name.startswith("cnt_age") for name in header)


def is_survey_participants(header: Sequence[str]) -> bool:
    """Whether a header is that of a survey's participants, or of their households or days."""
    return not is_survey_contacts(header) and ("part_id" in header or "hh_id" in header)


@dataclass(frozen=True)
class Survey:
    """What a survey says of contacts, by bands of ages.

    Attributes
    ----------
    by_setting : dict of str to (J, J) array
        Mean contacts a day of a participant of the row's band, by home, school, work, other; all as other
        where the survey tells no places.
    findings : tuple of str
    """

    by_setting: dict[str, Array]
    findings: tuple[str, ...]


def read_survey(
    contacts: TableFile,
    participants: Sequence[TableFile],
    names: Sequence[str],
    bands: Sequence[Band],
    *,
    country: str | None = None,
    weigh_days: bool = False,
    missing_ages: MissingAges = "impute",
) -> Survey:
    """Contacts of a survey by bands of ages.

    Parameters
    ----------
    contacts : TableFile
    participants : sequence of TableFile
        The table of participants, and those of households and days, where there are.
    names, bands : sequences of J
        The bands, and how messages name them.
    country : str, optional
        Only its participants; needed where there are several.
    weigh_days : bool, default False
        Whether weekdays count for 5/7 and weekends for 2/7.
    missing_ages : {"impute", "leave-out", "leave-out-participants"}
        What becomes of contacts without an age: spread as the others of the same participants' band and
        setting, left out, or left out with their participants (as socialmixr does unless told).

    Raises
    ------
    ValueError
        A column or country is not there, a participant is there twice, a band has no participant.
    """
    findings: list[str] = []
    people = _participants(participants, country, findings)
    source = participants[0].source
    people["band"] = _band_of(people["age"], bands)
    outside = people["band"] < 0
    if outside.any():
        missing = int(people["age"].isna().sum())
        findings.append(
            f"{source}: {int(outside.sum())} of {len(people)} participants are left out: "
            f"{missing} have no age, {int(outside.sum()) - missing} are of none of the groups"
        )
        people = people[~outside]
    met = contacts.frame()
    if "part_id" not in met.columns:
        raise ValueError(f"{contacts.source}: row 1: no column 'part_id'")
    met = met.assign(
        age=_ages(met, "cnt_age", contacts.source), setting=_setting(met, contacts.source, findings)
    )
    known = met["part_id"].isin(people["part_id"])
    if not known.any():
        raise ValueError(f"{contacts.source}: none of its part_id is among the participants of {source}")
    met = met[known].assign(band=_band_of(met["age"], bands))
    ageless = met["age"].isna()
    if missing_ages == "leave-out-participants" and ageless.any():
        gone = set(met.loc[ageless, "part_id"])
        findings.append(
            f"{contacts.source}: {len(gone)} participants with contacts without an age are left out"
        )
        people = people[~people["part_id"].isin(gone)]
        met = met[~met["part_id"].isin(gone)]
        ageless = met["age"].isna()
    elif ageless.any():
        done = "spread as the others" if missing_ages == "impute" else "left out"
        findings.append(f"{contacts.source}: {int(ageless.sum())} of {len(met)} contacts have no age: {done}")
    strangers = int(((met["band"] < 0) & ~ageless).sum())
    if strangers:
        findings.append(
            f"{contacts.source}: {strangers} contacts with ages of none of the groups are left out"
        )
    weights = _weights(people, source, findings) if weigh_days else np.ones(len(people))
    people = people.assign(weight=weights)
    each = people.groupby("band")["weight"].sum().reindex(range(len(bands)), fill_value=0.0).to_numpy()
    if not (each > 0).all():
        empty = names[int(np.argmin(each))]
        raise ValueError(f"{source}: no participant is of group {empty!r}; name coarser bands")
    met = met.merge(people[["part_id", "band", "weight"]], on="part_id", suffixes=("", "_of"))
    by_setting = {}
    for setting in (*_FIRST, "other"):
        part = met[met["setting"] == setting]
        if len(part) or setting == "other":
            by_setting[setting] = _matrix(part, met, len(bands), missing_ages == "impute") / each[:, None]
    findings.append(f"{source}: {len(people)} participants with {len(met)} contacts")
    return Survey(by_setting, tuple(findings))


def _participants(files: Sequence[TableFile], country: str | None, findings: list[str]) -> pd.DataFrame:
    """The participants with what other tables tell of them, and their ages."""
    frames = [(file, file.frame()) for file in files]
    frames.sort(key=lambda one: not any(name.startswith("part_age") for name in one[1].columns))
    first, people = frames[0]
    if "part_id" not in people.columns:
        raise ValueError(f"{first.source}: row 1: no column 'part_id' (a survey's participants have it)")
    if not any(name.startswith("part_age") for name in people.columns):
        raise ValueError(f"{first.source}: row 1: no column 'part_age'")
    again = people["part_id"].duplicated()
    if again.any():
        row = int(again.to_numpy().argmax())
        raise ValueError(
            f"{first.source}: row {row + 2}: participant {people['part_id'].iloc[row]!r} is there twice; "
            "keep one day or wave of each"
        )
    for file, frame in frames[1:]:
        key = next((key for key in ("part_id", "hh_id") if key in frame and key in people), None)
        if key is None:
            raise ValueError(
                f"{file.source}: row 1: neither 'part_id' nor 'hh_id' joins it to the participants"
            )
        if frame[key].duplicated().any():
            raise ValueError(
                f"{file.source}: {key} {frame.loc[frame[key].duplicated(), key].iloc[0]!r} is there twice"
            )
        new = [key, *(name for name in frame.columns if name not in people)]
        people = people.merge(frame[new], on=key, how="left")
    if "country" in people:
        people = _of_country(people, country, first.source)
    elif country is not None:
        findings.append(
            f"{first.source}: has no column 'country'; all participants are taken as of {country}"
        )
    return people.assign(age=_ages(people, "part_age", first.source)).reset_index(drop=True)


def _of_country(people: pd.DataFrame, country: str | None, source: str) -> pd.DataFrame:
    names = [str(name) for name in people["country"].dropna().unique() if name]
    if country is None:
        if len(names) > 1:
            raise ValueError(f"{source}: has {len(names)} countries; name one ({', '.join(names)})")
        return people
    for name in names:
        if name.casefold() == country.casefold():
            return people[people["country"] == name]
    raise ValueError(f"{source}: {unknown_name('country', country, names)}")


def _ages(frame: pd.DataFrame, stem: str, source: str) -> pd.Series[float]:
    """Ages in years; nan where there is none."""

    def column(name: str) -> pd.Series[float]:
        if name not in frame.columns:
            return pd.Series(np.nan, index=frame.index, dtype=float)
        return pd.to_numeric(frame[name].astype(str).str.strip(), errors="coerce").astype(float)

    exact = column(stem).fillna(column(f"{stem}_exact"))
    middle = (column(f"{stem}_est_min") + column(f"{stem}_est_max")) // 2.0
    ages = exact.fillna(middle)
    if not ages.notna().any():
        raise ValueError(
            f"{source}: no age is a number in {stem}, {stem}_exact, {stem}_est_min or .._est_max"
        )
    return ages


def _band_of(ages: pd.Series[float], bands: Sequence[Band]) -> pd.Series[int]:
    """The band of each age; -1 where there is none."""
    place = pd.Series(-1, index=ages.index)
    for index, band in enumerate(bands):
        place[(ages >= band.low) & (ages < band.high + 1)] = index
    return place


def _setting(met: pd.DataFrame, source: str, findings: list[str]) -> pd.Series[str]:
    """Where each contact was."""
    places = [name for name in met.columns if name in ("cnt_home", "cnt_work", "cnt_school")]
    setting = pd.Series("other", index=met.index)
    if not places:
        findings.append(f"{source}: tells no places (cnt_home, cnt_school, cnt_work); all contacts are other")
        return setting
    there = {
        name: met[f"cnt_{name}"]
        .astype(str)
        .str.strip()
        .str.lower()
        .isin(("1", "1.0", "true", "yes", "t", "y"))
        for name in _FIRST
        if f"cnt_{name}" in places
    }
    for name in reversed(list(there)):
        setting[there[name]] = name
    several = int((np.sum(list(there.values()), axis=0) > 1).sum())
    if several:
        findings.append(
            f"{source}: {several} contacts in several of {', '.join(there)} count for the first of them"
        )
    return setting


def _weights(people: pd.DataFrame, source: str, findings: list[str]) -> Array:
    """Weights by the day of the week: weekdays together 5, weekends together 2."""
    if "dayofweek" not in people:
        raise ValueError(f"{source}: no column 'dayofweek' to weigh days by; name the table of days too")
    day = pd.to_numeric(people["dayofweek"], errors="coerce").to_numpy(dtype=float)
    week, weekend = np.isin(day, range(1, 6)), np.isin(day, (0, 6, 7))
    if not (week.any() and weekend.any()):
        raise ValueError(
            f"{source}: dayofweek has no {'weekday' if weekend.any() else 'weekend'}; 0 is Sunday"
        )
    unknown = ~(week | weekend)
    if unknown.any():
        findings.append(f"{source}: {int(unknown.sum())} participants have no dayofweek, and the mean weight")
    weights = np.full(len(people), 7.0 / (week | weekend).sum())
    weights[week] = 5.0 / week.sum()
    weights[weekend] = 2.0 / weekend.sum()
    findings.append(
        f"{source}: {week.sum()} weekdays count for 5/7, {weekend.sum()} days of weekends for 2/7"
    )
    return weights


def _matrix(part: pd.DataFrame, met: pd.DataFrame, J: int, impute: bool) -> Array:
    """Weighted contacts of some setting by the participants' and their own band."""

    def counted(frame: pd.DataFrame) -> Array:
        total = np.zeros((J, J))
        aged = frame[frame["band"] >= 0]
        np.add.at(total, (aged["band_of"].to_numpy(), aged["band"].to_numpy()), aged["weight"].to_numpy())
        return total

    total = counted(part)
    if not impute:
        return total
    ageless = part[part["age"].isna()]
    lost = np.bincount(ageless["band_of"].to_numpy(dtype=int), ageless["weight"].to_numpy(), minlength=J)
    # As the contacts of the same band and setting; where it has none, as those of all settings, or evenly.
    pattern, everywhere = total.copy(), counted(met)
    for row in np.flatnonzero(pattern.sum(axis=1) == 0):
        pattern[row] = everywhere[row] if everywhere[row].any() else 1.0
    spread: Array = total + lost[:, None] * pattern / pattern.sum(axis=1, keepdims=True)
    return spread
