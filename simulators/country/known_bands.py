"""Bands of ages that published contacts are of, where the files themselves do not say them.

- Mossong et al. 2008, PLoS Medicine 5(3):e74 (POLYMOD): five years, the last 70+.
- Prem, Cook & Jit 2017, PLoS Computational Biology 13(9):e1005697, and Prem et al. 2021, 17(7):e1009098: 16
  bands of five years, the last 75+.
- Mistry et al. 2021, Nature Communications 12:323 (mobs-lab/mixing-patterns): 85 single years,
  of which "the last row and column [..] both refer to ages 84 years old and over"; since September 2021 also
  18 brackets, of five years.
"""

from __future__ import annotations

import re


def five_years(last: int) -> tuple[str, ...]:
    """Names of bands of five years, of which the last, open, begins at an age."""
    return (*(f"{low}-{low + 4}" for low in range(0, last, 5)), f"{last}+")


POLYMOD = five_years(70)
PREM = five_years(75)
MISTRY = (*map(str, range(84)), "84+")
MISTRY_18 = five_years(85)

UNLABELLED = {len(PREM): ("Prem's", PREM), len(MISTRY): ("Mistry's", MISTRY)}
"""The bands that a table without labels is of, by its size, where groups are others; and whose they are."""

MISTRY_WEIGHTS = {"household": 4.11, "school": 11.41, "work": 8.07, "community": 2.79}
"""Contacts a day by setting that can transmit: M = sum of weight times F (its README)."""

_MISTRY_SETTING = re.compile(r"_F_(household|school|work|community)_setting_(?:85|18)\.csv(?:\.gz)?$")
_MISTRY_18 = re.compile(r"_(?:F_\w+_setting|M_overall_contact_matrix|age_distribution)_18\.csv(?:\.gz)?$")


def mistry_setting(path: str) -> str | None:
    """The setting of a file of Mistry 2021 with frequencies per person, told from its name; else None."""
    found = _MISTRY_SETTING.search(path)
    return found.group(1) if found else None


def is_mistry_18(path: str) -> bool:
    """Whether a file of Mistry 2021 has the 18 brackets, told from its name."""
    return _MISTRY_18.search(path) is not None
