"""What a reading costs: to take it, channel by channel, and to send it to a gateway, hop by hop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from simulators.arrays import Array, Edges, Rows
from simulators.contract.validation import number, per_group, whole
from simulators.weather.radio import Routes, links_within, routes, spread_gateways

SENSING, PACKET, CHANNEL = (0.01, 0.01, 0.2), 0.05, 0.01
"""Defaults, joules: round figures, of the order of a long-range radio's packet and of a wind sensor that has
to average over a while, where a thermometer answers at once. Put in those of your own instruments."""


class EnergyOptions(TypedDict, total=False):
    """Options of a network whose readings cost energy. Without `gateways` they cost nothing.

    Attributes
    ----------
    gateways : int, optional
        As many of the sensors, spread over the network, have mains and a line of their own; the readings of
        all others travel to the nearest of them, hop by hop.
    radio_range : float, optional
        Kilometres over which two sensors hear each other; left out, neighbours of the graph do.
    sensing_energy : float or (3,) array-like, default (0.01, 0.01, 0.2)
        Joules to read a channel once.
    packet_energy : float, default 0.05
        Joules to send a reading over one hop, whatever it holds: both radios.
    channel_energy : float, default 0.01
        Joules that each channel in it adds, a hop.
    energy_budget : float, optional
        Joules that the readings of one round of a batch may cost together, all but the first of a trial;
        left out, as many as they take.
    """

    gateways: int | None
    radio_range: float | None
    sensing_energy: ArrayLike
    packet_energy: float
    channel_energy: float
    energy_budget: float | None


@dataclass(frozen=True, eq=False)
class Energy:
    """How the readings of a network travel, and what they cost.

    Attributes
    ----------
    links : (m, 2) array of int
        Who hears whom.
    gateways : (k,) array of int
        Rows of the sensors with mains.
    routes : Routes
        While all sensors relay.
    sensing : (3,) array
        Joules a channel.
    packet, channel : float
        Joules a hop, and a channel and hop.
    budget : float or None
        Joules that the readings of a round may cost together.
    """

    links: Edges
    gateways: Rows
    routes: Routes
    sensing: Array
    packet: float
    channel: float
    budget: float | None

    @classmethod
    def of(cls, options: EnergyOptions, points: Array, edges: Edges, groups: Sequence[str]) -> Energy | None:
        """Of a network's options and its sensors' points (n, 3); None where readings cost nothing.

        ValueError where an option is impossible, has no effect, or leaves sensors without a way.
        """
        if options.get("gateways") is None:
            given = {name: value for name, value in options.items() if value is not None}
            for name, value in given.items():
                raise ValueError(f"{name}={value!r} has no effect without gateways")
            return None
        n, reach, most = len(points), options.get("radio_range"), options.get("energy_budget")
        count = whole("gateways", options["gateways"])
        if count > n:
            raise ValueError(f"gateways={count} must be at most the number of sensors, {n}")
        found = edges if reach is None else links_within(points, number("radio_range", reach, above=0))
        gateways = spread_gateways(points, count)
        ways = routes(found, n, gateways)
        if lost := int(np.isinf(ways.hops).sum()):
            raise ValueError(
                f"radio_range={reach!r} leaves {lost} of {n} sensors without a way to a gateway; choose a "
                "longer range or more gateways"
            )
        made = cls(
            found,
            gateways,
            ways,
            per_group("sensing_energy", options.get("sensing_energy", SENSING), groups, least=0),
            number("packet_energy", options.get("packet_energy", PACKET), least=0),
            number("channel_energy", options.get("channel_energy", CHANNEL), least=0),
            None if most is None else number("energy_budget", most, above=0),
        )
        if not (made.costs(np.arange(n)).sum(axis=1) > 0).all():
            raise ValueError(
                "sensing_energy, packet_energy, channel_energy: every reading must cost something"
            )
        return made

    def costs(self, rows: Rows) -> Array:
        """Joules (m, 4) of readings: of sending any, then of each channel, which add up."""
        hops = self.routes.hops[rows]
        return np.column_stack([self.packet * hops, self.sensing + self.channel * hops[:, None]])

    def hop(self, channels: int) -> float:
        """Joules to send a reading of so many channels over one hop."""
        return self.packet + self.channel * channels
