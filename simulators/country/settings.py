"""Where people meet: the settings of contacts, by the names that files give them."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from simulators.arrays import Array

SETTINGS = ("home", "school", "work", "other")

_ALIASES = {
    "home": ("home", "household", "households"),
    "school": ("school", "schools"),
    "work": ("work", "workplace", "workplaces"),
    "other": ("other", "others", "other_locations", "otherplace", "community", "general_community"),
}

_ROUNDING = 0.01
"""By which share of the largest contact the settings may miss the total, as rounded files do."""


def setting_of(name: str) -> str:
    """The setting that a name means; a name of another setting stays, in small letters."""
    key = re.sub(r"\W+", "_", name.strip().lower()).strip("_")
    return next((setting for setting, aliases in _ALIASES.items() if key in aliases), key)


def summed(
    by_setting: Mapping[str, Array], total: Array | None, groups: tuple[str, ...], source: str
) -> Array:
    """The contacts of all settings.

    ValueError where a total is given that they miss by more than rounding; the message names the entry where
    they do so most.
    """
    together = np.sum(list(by_setting.values()), axis=0)
    if total is not None:
        missed = np.abs(together - total)
        i, j = np.unravel_index(int(np.argmax(missed)), missed.shape)
        if missed[i, j] > _ROUNDING * total.max():
            raise ValueError(
                f"{source}: row {groups[i]!r}, column {groups[j]!r} is {total[i, j]:.4g}, and the settings "
                f"({', '.join(by_setting)}) sum to {together[i, j]:.4g}"
            )
    return np.asarray(together, dtype=float)
