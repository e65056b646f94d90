"""Contacts as files have them, made those of a country's groups: in their order, orientation and bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from simulators.arrays import Array
from simulators.country.aggregation import Ages, aggregated, atoms, both_open, opened, place_of, split
from simulators.country.bands import Band, bands_of, check_bands
from simulators.country.groups import GroupTable
from simulators.country.known_bands import UNLABELLED
from simulators.country.reciprocity import fits_the_other_way
from simulators.country.square import only_counted, places, same_names

Orientation = Literal["row", "column"]


@dataclass
class Fitting:
    """How contacts become those of groups.

    Attributes
    ----------
    table : GroupTable
        The groups.
    ages : Ages or None
        Persons by age, by which finer bands are weighted; None where groups are no ages.
    orientation : {"row", "column"} or None
        Who reports in tables that do not say it.
    split : bool
        Whether bands of contacts may be split.
    findings : list of str
        Grows.
    """

    table: GroupTable
    ages: Ages | None
    orientation: Orientation | None
    split: bool
    findings: list[str] = field(default_factory=list)

    def fit(
        self,
        contacts: Array,
        labels: Sequence[str] | None,
        source: str,
        *,
        reported_by_row: bool = False,
        check: bool = True,
    ) -> Array:
        """Contacts of one person of the row's group with persons of the column's.

        Parameters
        ----------
        contacts : (K, K) array
        labels : K strings or None
            Of rows and columns; None where the file has none.
        source : str
            The file.
        reported_by_row : bool
            Whether the form of the file says that its rows report.
        check : bool
            Whether reciprocity is to tell a wrong orientation; not of a part of all contacts.
        """
        direct = self._in_order(contacts, labels, source)
        if direct is not None:
            return self.oriented(direct, self.table.persons, source, reported_by_row, check)
        bands, theirs = self._bands(contacts, labels, source)
        persons = np.array([self._persons(band, theirs, source) for band in bands])
        contacts = self.oriented(contacts, persons, source, reported_by_row, check)
        return self._of_bands(contacts, bands, theirs, source)

    def _in_order(self, contacts: Array, labels: Sequence[str] | None, source: str) -> Array | None:
        """The contacts in the order of the groups, or None where they are of others."""
        names = self.table.names
        if labels is not None and same_names(labels, names):
            order = places(labels, names, f"{source}: labels", f"the groups of {self.table.source}")
            if order != list(range(len(names))):
                self._find(f"{source}: its labels are in another order than {self.table.source}; put in that")
            return np.ascontiguousarray(contacts[np.ix_(order, order)])
        if len(contacts) == len(names) and (labels is None or only_counted(labels)):
            self._find(f"{source}: has no labels; its rows are taken in the order of {self.table.source}")
            return contacts
        return None

    def _bands(
        self, contacts: Array, labels: Sequence[str] | None, source: str
    ) -> tuple[list[Band], list[Band]]:
        """The bands of contacts and of groups, where both are of ages; else what is wrong."""
        J, K = len(self.table.names), len(contacts)
        mine = bands_of(self.table.names)
        if labels is None or only_counted(labels):
            if K not in UNLABELLED or mine is None:
                raise ValueError(
                    f"{source}: has {K} rows and columns of contacts without labels, and {self.table.source} "
                    f"{J} groups"
                )
            whose, labels = UNLABELLED[K]
            self._find(f"{source}: has no labels; taken as {whose} {K} bands, {labels[0]} to {labels[-1]}")
        theirs = bands_of(labels)
        if theirs is None or mine is None:
            if K != J:
                raise ValueError(
                    f"{source}: has {K} rows and columns of contacts, and {self.table.source} {J} groups"
                )
            places(labels, self.table.names, f"{source}: labels", f"the groups of {self.table.source}")
        assert theirs is not None and mine is not None
        check_bands(labels, source)
        bands, groups = list(theirs), list(mine)
        if both_open(bands, groups):
            told = f"{max(bands)} and {max(groups)}"
            self._find(f"{source}: the oldest band, {told} in {self.table.source}, is taken as open")
            bands, groups = opened(bands), opened(groups)
        for band in bands:
            if not any(group.low <= band.high and band.low <= group.high for group in groups):
                raise ValueError(f"{source}: its band {band} is of none of the groups of {self.table.source}")
        for group, name in zip(groups, self.table.names, strict=True):
            if group.low < min(bands).low or group.high > max(bands).high:
                raise ValueError(
                    f"{source}: has no contacts of some ages of group {name!r} of {self.table.source}"
                )
            if self.ages is not None and self.ages.within(group) <= 0:
                raise ValueError(f"{self.table.source}: no persons by age are given of group {name!r}")
        return bands, groups

    def _persons(self, band: Band, groups: list[Band], source: str) -> float:
        """Persons of a band, scaled so that those of each group are the group's own."""
        assert self.ages is not None
        total = 0.0
        for group, persons in zip(groups, self.table.persons, strict=True):
            shared = Band(max(group.low, band.low), min(group.high, band.high))
            if shared.low <= shared.high:
                total += persons * self.ages.within(shared) / self.ages.within(group)
        if total <= 0:
            raise ValueError(f"{source}: nobody is of its band {band}, by the persons that are given")
        return total

    def _of_bands(self, contacts: Array, bands: list[Band], groups: list[Band], source: str) -> Array:
        assert self.ages is not None
        pieces = [one for one in atoms(bands, groups) if place_of(one, groups) is not None]
        of_band = np.array([place_of(one, bands) for one in pieces])
        of_group = np.array([place_of(one, groups) for one in pieces])
        cut = [band for index, band in enumerate(bands) if (of_band == index).sum() > 1]
        if cut and not self.split:
            mine = [str(groups[group]) for group in of_group[of_band == bands.index(cut[0])]]
            raise ValueError(
                f"{source}: its band {cut[0]} would have to be split between the groups "
                f"{' and '.join(mine[:3])}; "
                "give bands that are made of its own, bands='contacts' for those themselves, or ask to split"
            )
        persons = np.array([self._persons(one, groups, source) for one in pieces])
        if not all(map(self.ages.knows, pieces)):
            self._find(
                f"{source}: persons within a group are taken as even by year (open bands up to age 84), "
                "since persons by finer ages are not given"
            )
        if cut:
            told = ", ".join(map(str, cut[:5]))
            self._find(f"{source}: split by persons, all parts mixing alike: bands {told}")
            contacts = split(contacts, persons, of_band)
        else:
            contacts = contacts[np.ix_(of_band, of_band)]
        self._find(f"{source}: {len(bands)} bands put together to {len(groups)} groups, weighted by persons")
        return aggregated(contacts, persons, of_group)

    def oriented(
        self, contacts: Array, persons: Array, source: str, reported_by_row: bool, check: bool
    ) -> Array:
        """Contacts of one person of the row, from either orientation."""
        if reported_by_row:
            if self.orientation == "column":
                raise ValueError(f"{source}: the rows report in files of this form; leave orientation out")
            return contacts
        if self.orientation == "column":
            self._find(f"{source}: turned, so that its columns, who report, are the rows")
            return np.ascontiguousarray(contacts.T)
        if self.orientation is None and check:
            unbalanced = fits_the_other_way(contacts, persons)
            if unbalanced is not None:
                here, there = unbalanced
                raise ValueError(
                    f"{source}: rows seem not to be those who report: {here:.1%} of the contacts are counted "
                    f"from one side alone, and {there:.1%} with the columns reporting; say orientation, "
                    "'row' or 'column'"
                )
        return contacts

    def _find(self, finding: str) -> None:
        self.findings.append(finding)
