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

OWN_SEEDING = 1e-3
"""Share of every group infected on the first day, in a country of one's own.

One in a thousand: a season of an effective reproduction number of 1.2 or more then passes its peak within the
year. Each tenth of it would move the epidemic log(10) / growth later (46 days at 1.2), and not change its
size.
"""

OWN_EFFICACY = 0.4
"""Share of the vaccinated who become immune, in a country of one's own.

Between what test-negative studies of many seasons found for H3N2, 0.33, B, 0.54, and H1N1, 0.61 (Belongia
2016, Lancet Infectious Diseases 16:942), and what the CDC tells of most seasons, 0.4 to 0.6: the cautious
end.
"""

OWN_NOISE_VARIANCE = 8e-5
"""Variance of an observation of all groups' sick days per person, in a country of one's own; each group has
its share of persons of it. The sum of the paper's five groups, 80 years times 1e-6."""

HOSPITAL_STAY = 6.0
"""Mean days in hospital with influenza, a typical value of adults; children stay shorter, the old longer."""
