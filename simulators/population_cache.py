"""The population built last, kept for whoever asks for it again."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from simulators.population import Population, build_population


def cached_population(persons: int, seed: Any, contacts: Any, groups: Any, weights: Any) -> Population:
    """Return a population, or the same one again: the trials of a study often share it.

    Parameters
    ----------
    persons, seed, contacts, groups, weights
        As in :func:`~simulators.population.build_population`.

    Returns
    -------
    Population
        Not to be changed. Kept until another one is built.
    """
    if not (isinstance(contacts, str) and isinstance(seed, int) and isinstance(persons, int)):
        return build_population(persons, seed=seed, contacts=contacts, groups=groups, weights=weights)
    return _build_named(persons, seed, contacts, groups, None if weights is None else tuple(weights.items()))


@lru_cache(maxsize=1)
def _build_named(persons: int, seed: int, contacts: str, groups: Any, weights: Any) -> Population:
    return build_population(
        persons,
        seed=seed,
        contacts=contacts,
        groups=groups,
        weights=None if weights is None else dict(weights),
    )
