"""Whom an infectious person infects, and when, by the event-driven method: each contact is asked once.

When a person is infected, `ContactRows` has each of its contacts draw one number, which a `HazardClock` turns
into whether and on which day the contact transmits; an `EventCalendar` keeps who is due on which day.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack

from simulators.arrays import Array, Integers, Persons, Rows
from simulators.population.draws import Words, limits, uniforms, words
from simulators.population.network import ContactNetwork


class EventCalendar:
    """Persons by the day on which something is due for them; what is due after the `last` day is dropped.

    What follows from an infection is entered once, when it happens; a day then costs what is due on it.
    """

    def __init__(self, last: int) -> None:
        self._due: list[list[Persons]] = [[] for _ in range(last + 1)]

    def put(self, persons: Persons, days: Integers) -> None:
        """Enter (n,) persons on their (n,) days, not negative."""
        if len(persons) == 0:
            return
        order = np.argsort(days, kind="stable")
        persons, days = persons[order], days[order]
        starts = [0, *(np.flatnonzero(days[1:] != days[:-1]) + 1).tolist(), len(days)]
        for start, end in zip(starts, starts[1:], strict=False):
            day = int(days[start])
            if day < len(self._due):
                self._due[day].append(persons[start:end])

    def take(self, day: int) -> Persons:
        """Who is due on a day, in the order of entry, and strike them off."""
        due, self._due[day] = self._due[day], []
        return np.concatenate(due) if due else np.empty(0, dtype=np.int32)


class HazardClock:
    """Accumulated hazard by layer, kind of person and day: it tells on which day a contact transmits.

    A contact transmits once the hazard accumulated since the first infectious day s passes its threshold,
    drawn from the exponential distribution; a period that ends before day t brings `before(t) - before(s)`,
    where `before` is the hazard accumulated before a day.

    Parameters
    ----------
    hazard : (L, K, days) array
        Rate per day at which an infectious person infects a susceptible of kind k through one contact of
        layer l, on each of the days 1, 2, ..
    """

    def __init__(self, hazard: Array) -> None:
        L, K, days = hazard.shape
        accumulated = np.zeros((L, K, days + 2))
        np.cumsum(hazard, axis=2, out=accumulated[:, :, 2:])
        self._kinds, self._length = K, days + 2
        # Row after row ascending, each above the one before, so that one search serves all rows.
        above = np.arange(L * K).reshape(L, K, 1) * (accumulated.max() + 1)
        self._ladder = (accumulated + above).ravel()
        self._greatest = np.zeros(days + 2)
        np.cumsum(hazard.max(axis=(0, 1)), out=self._greatest[2:])

    def greatest(self, begin: Integers, end: Integers) -> Array:
        """Bounds of any contact's hazard from days `begin` until before days `end`, (n,)."""
        bound: Array = self._greatest[end] - self._greatest[begin]
        return bound

    def crossings(
        self,
        layer: Integers,
        kind: Integers,
        begin: Integers,
        end: Integers,
        thresholds: Array,
    ) -> tuple[Rows, NDArray[np.int64]]:
        """Which of n contacts pass their thresholds (>= 0), and when, `begin <= day < end`, (m,) each."""
        row = (layer * self._kinds + kind) * self._length
        passing = self._ladder[row + begin] + thresholds
        which = np.flatnonzero(passing < self._ladder[row + end])
        rungs = np.searchsorted(self._ladder, passing[which], side="right") - 1
        return which, rungs - row[which]


class ContactRows:
    """The contacts of N persons in L layers side by side: row i lists `l * N + k` for each k met in layer l.

    Each contact of an infected person draws one number, tied to (seed, infector, layer, contact), that
    decides about the whole infectious period. So a season costs time in proportion to the contacts of those
    who fall ill, however many days it lasts, and one infection more or less leaves the draws of all others as
    they were.

    Attributes
    ----------
    weights : (L,) array
        Transmission rate of each layer's contacts, relative to the greatest.
    means : (L, J, J) array
        Mean contacts of a person of a group with persons of a group, by layer.
    starts : (N + 1,) int array
        Where each row begins in `partners`.
    partners : (M,) int array
        Both directions of each contact.
    rates : dict
        Transmission rates found for the network, by what was asked.
    """

    def __init__(self, network: ContactNetwork) -> None:
        self.persons: int = network.persons
        self.layers: tuple[str, ...] = tuple(network.layers)
        weights = np.array([network.weights[name] for name in self.layers], dtype=float)
        self.weights = weights / (weights.max(initial=0.0) or 1.0)
        self.means: Array = np.array([network.contacts(name) for name in self.layers])
        side_by_side = hstack(list(network.layers.values()), format="csr")
        self.rates: dict[tuple[float, bytes, bytes], float] = {}
        self.starts, self.partners = side_by_side.indptr, side_by_side.indices

    def transmissions(
        self,
        keys: Words,
        clock: HazardClock,
        kind: NDArray[np.int8],
        infectors: Persons,
        begin: Integers,
        end: Integers,
    ) -> tuple[Persons, NDArray[np.int64]]:
        """Whom infected persons will infect, and when, (m,) each; somebody may be there several times.

        Parameters
        ----------
        keys : (N,) array of uint64
            The season's key for the contacts of each person.
        clock, kind : HazardClock, (N,) int array
            The hazards, and the kind of each person, as the clock knows them.
        infectors, begin, end : (n,) int arrays
            Who is infected, the first infectious day of each, and the day from which it is not so any more.
        """
        limit = limits(-np.expm1(-clock.greatest(begin, end)))
        start = self.starts[infectors]
        count = self.starts[infectors + 1] - start
        own = np.repeat(np.arange(len(infectors)), count)
        start -= np.cumsum(count) - count
        partner = self.partners[np.arange(len(own)) + start[own]]
        draws = words(keys[infectors][own], partner)
        # Most draws are beyond any chance of transmission: only the others need a closer look.
        near = np.flatnonzero(draws < limit[own])
        own, partner, draws = own[near], partner[near], draws[near]
        layer, met = np.divmod(partner, self.persons)
        which, days = clock.crossings(layer, kind[met], begin[own], end[own], -np.log1p(-uniforms(draws)))
        return met[which], days


_known: WeakKeyDictionary[ContactNetwork, ContactRows] = WeakKeyDictionary()


def contact_rows(network: ContactNetwork) -> ContactRows:
    """The rows of a network, made once for as long as the network lives."""
    if network not in _known:
        _known[network] = ContactRows(network)
    return _known[network]
