"""The bands of ages that the names of a country's groups say."""

from __future__ import annotations

from collections.abc import Sequence

from simulators.population.age_bands import MOST_BANDS, AgeBands
from simulators.population.tables import OLDEST


def own_bands(groups: Sequence[str]) -> AgeBands:
    """The bands of names such as "0-4", "5-17", "65+".

    Raises
    ------
    ValueError
        Names without ages, bands that overlap, leave ages out, do not begin at 0 or are not ascending, or
        whose last has an end; fewer than 2 or more than 20.
    """
    from simulators.country.bands import bands_of, check_bands  # brings what reads files: slow to import

    names = tuple(groups)
    if not 2 <= len(names) <= MOST_BANDS:
        raise ValueError(f"groups: there are {len(names)}; accepted among persons: 2 to {MOST_BANDS}")
    for name in names:
        if not isinstance(name, str) or bands_of([name]) is None:
            raise ValueError(f"groups: {name!r} says no ages; accepted among persons: '0-4', '65+'")
    check_bands(names, "groups")
    found = bands_of(names) or ()
    first = tuple(one.low for one in found)
    if first[0] != 0 or list(first) != sorted(first):
        raise ValueError(f"groups={list(names)} must ascend from age 0")
    if first[-1] >= OLDEST:
        raise ValueError(f"groups: {names[-1]!r} begins after the oldest age of a town, {OLDEST - 1}")
    if found[-1].high < OLDEST - 1:
        raise ValueError(f"groups: {names[-1]!r} is the last and must have no end, as {first[-1]}+")
    return AgeBands(names, first, own=True)
