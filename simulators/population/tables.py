"""Tables of the synthetic population, each with its source.

- Census 2012: US Census Bureau, America's Families and Living Arrangements 2012, and population estimates by
  age 2012.
- NCES 2012: National Center for Education Statistics, Digest of Education Statistics, share of the population
  enrolled in school by age, October 2012, rounded.
- CPS 2012: Current Population Survey, employment-population ratios by age, annual averages 2012.
- Axtell 2001: "Zipf distribution of US firm sizes", Science 293:1818.
"""

from __future__ import annotations

import numpy as np

from simulators.arrays import Array
from simulators.population.survey import AGES

FIRST_AGES: dict[int, tuple[int, ...]] = {5: (0, 20, 50, 65, 70), 9: (0, 4, 7, 10, 20, 35, 50, 65, 70)}
"""First year of each age group, by the number of groups."""

OLDEST = 95
"""Ages are 0..94."""

ADULT = 20
"""Years from which a person may live without an adult; those below are the children of a household."""

HOUSEHOLD_SIZES = (0.28, 0.34, 0.15, 0.13, 0.06, 0.03, 0.01)
"""Shares of the households of 1, 2, .. 7 persons (Census 2012; 7 stands for 7 and more)."""

TWO_PARENTS = 0.7
"""Share of the households with children, and room for it, that have two parents (Census 2012, rounded)."""

FAMILIES = (0.0, 0.35, 1.0, 1.0, 1.0, 1.0, 1.0)
"""Odds that a household of 1, 2, .. 7 persons has children, relative to the largest (Census 2012)."""

CLASS_SIZE, SCHOOL_SIZE = 25, 500
"""Pupils in a class (20 to 30) and in a school, typical values."""

SCHOOL_LEVELS = (3, 5, 11, 18)
"""First ages of nursery, primary and secondary schools and of colleges."""

TEAM_SIZE, LARGEST_WORKPLACE = 20, 1000
"""Most persons in a team of a workplace, and persons in the largest workplace, typical values."""

WORKPLACE_EXPONENT = 2.0
"""The share of workplaces with s persons falls with this power of s (Axtell 2001: 2.06 for firms)."""


def _by_age(*shares: tuple[int, float]) -> Array:
    """A share for each year of age, from the first ages at which it changes."""
    by_age = np.zeros(OLDEST)
    for first, share in shares:
        by_age[first:] = share
    by_age.flags.writeable = False
    return by_age


ENROLLED = _by_age(
    (3, 0.54),
    (5, 0.93),
    (7, 0.98),
    (16, 0.96),
    (18, 0.69),
    (20, 0.54),
    (22, 0.31),
    (25, 0.14),
    (30, 0.08),
    (35, 0.0),
)
"""Share enrolled in school by age (NCES 2012; those of 35 and older left out)."""

EMPLOYED = _by_age((16, 0.261), (20, 0.615), (25, 0.757), (55, 0.607), (65, 0.173))
"""Share employed by age (CPS 2012)."""

_YEARS_70 = np.repeat([0.070, 0.052, 0.040, 0.019], [5, 5, 5, 10])

PERSONS_BY_AGE = np.concatenate(
    [
        np.full(last - first, persons / (last - first))
        for first, last, persons in zip(
            FIRST_AGES[9][:-1], FIRST_AGES[9][1:], AGES[9].population[:-1], strict=True
        )
    ]
    + [AGES[9].population[-1] * _YEARS_70 / _YEARS_70.sum()]
)
"""Persons by year of age: the nine groups of `simulators.population.survey.AGES`, each spread evenly
over its years, and those from 70 on as in the Census 2012 (35, 26, 20 and 19 % are 70-74, 75-79, 80-84,
older)."""
