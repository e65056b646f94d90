"""What a season among persons brought."""

from __future__ import annotations

from dataclasses import dataclass

from simulators.arrays import Array, Integers, Mask


@dataclass(frozen=True, eq=False)
class Season:
    """What one season brought, by group (J,)."""

    sick_days: Array  # person-days infectious, by person of the whole population
    attack_rate: Array  # share infected
    infectious: Integers  # (days + 1, J): persons on the days 0, 1, ..
    immune: Mask  # (N,): who leaves the season immune
