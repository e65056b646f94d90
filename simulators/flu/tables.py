"""Parameters of the flu models, each with its source.

- Authors' code: the public repository of the paper's authors (guaguakai/DGPUCB), for numbers that the
  paper's text leaves out.
- Biggerstaff 2014: BMC Infectious Diseases 14:480, reproduction numbers of seasonal influenza.
"""

from __future__ import annotations

TRANSMISSIBILITY = 0.54
"""Chance that a contact of a most susceptible with a fully infective person transmits (authors' code)."""

INFECTIVITY = 0.1
"""Infectivity of an infected person, in every group (authors' code)."""

INFECTED_DEATH_RATE = 8e-8
"""Deaths of infected people per day in the authors' treatment dynamics (authors' code)."""

TREATMENT_BUDGET = 14.4
"""What the weighted treatment rates must sum to (authors' code)."""

TREATMENT_BOUNDS = (0.12, 0.3)
"""Least and greatest treatment rate, removals per infected person and day (authors' code)."""

INFECTIOUS_PERIOD = 4.0
"""Days an infected person stays infectious, seasonal influenza; 3 to 5 days is the usual range."""

EFFECTIVE_R0_2012 = 1.28
"""Effective reproduction number of a season: the median of seasonal influenza (Biggerstaff 2014)."""

SEASON_SEEDING = 100.0
"""Multiplies the initially infected in a vaccination season (0.34 % of people), so that it fits in a year."""
