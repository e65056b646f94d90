"""Whom an infectious person infects, and when: each contact is asked once.

The event-driven method: when a person is infected, each contact draws one number, tied to (seed,
infector, layer, contact), which decides whether it transmits during the whole infectious period, and on which
day. A season costs time in proportion to the contacts of those who fall ill, however many days it lasts, and
one infection more or less leaves the draws of all others as they were.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack

from simulators.contact_network import ContactNetwork
from simulators.counter_draws import Words, limits, uniforms, words
from simulators.hazard_clock import HazardClock

Persons = NDArray[np.int32]


class ContactRows:
    """The contacts of all layers side by side: row i lists ``l * N + k`` for each person k met in layer l.

    Parameters
    ----------
    network : ContactNetwork
        N persons, L layers.

    Attributes
    ----------
    persons : int
        N.
    layers : tuple of str
        Names of the L layers.
    weights : (L,) array
        Transmission rate of each layer's contacts, relative to the greatest.
    means : (L, J, J) array
        Mean contacts of a person of a group with persons of a group, by layer.
    starts : (N + 1,) int array
        Where each row begins in ``partners``.
    partners : (M,) int array
        Both directions of each contact.
    rates : dict
        Transmission rates found for the network, by what was asked.
    """

    def __init__(self, network: ContactNetwork) -> None:
        self.persons = network.persons
        self.layers = tuple(network.layers)
        weights = np.array([network.weights[name] for name in self.layers], dtype=float)
        self.weights = weights / (weights.max(initial=0.0) or 1.0)
        self.means = np.array([network.contacts(name) for name in self.layers])
        side_by_side = hstack(list(network.layers.values()), format="csr")
        self.rates: dict[tuple[float, bytes, bytes], float] = {}
        self.starts, self.partners = side_by_side.indptr, side_by_side.indices

    def transmissions(
        self,
        keys: Words,
        clock: HazardClock,
        kind: NDArray[np.int8],
        infectors: Persons,
        begin: NDArray[np.integer],
        end: NDArray[np.integer],
    ) -> tuple[Persons, NDArray[np.int64]]:
        """Return whom infected persons will infect, and when.

        Parameters
        ----------
        keys : (N,) array of uint64
            The season's key for the contacts of each person.
        clock : HazardClock
            Hazards by layer, kind of person and day.
        kind : (N,) int array
            Kind of each person, as the clock knows them.
        infectors : (n,) int array
            Who is infected.
        begin : (n,) int array
            The first infectious day of each.
        end : (n,) int array
            The day from which each is not infectious any more.

        Returns
        -------
        persons : (m,) int array
            Those who will be infected if they still can be; a person may be there several times.
        days : (m,) int array
            When.
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
    """Return the rows of a network, made once for as long as the network lives."""
    if network not in _known:
        _known[network] = ContactRows(network)
    return _known[network]
