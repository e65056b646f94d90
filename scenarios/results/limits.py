"""How often rounds break the limits of a study, and whether a recommendation keeps them.

Only limits that are linear: one that is a function is code, and to read a study runs nothing that it names.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from optimizer.composition.outcome_limits import OutcomeLimits
from scenarios.declaration.asked import limits_of
from scenarios.declaration.schema import LimitSpec
from scenarios.numbers import significant
from scenarios.study.records import StoredRound
from scenarios.study.study import Study


class KnownLimits:
    """Limits that are data.

    Parameters
    ----------
    limits : sequence of LimitSpec
        None of which is a function.
    groups : sequence of J str
    """

    def __init__(self, limits: Sequence[LimitSpec], groups: Sequence[str]) -> None:
        self.each: list[OutcomeLimits] = [
            OutcomeLimits([limit.row(groups)], [limit.at_least], [limit.at_most], names=[limit.text])
            for spec in limits
            for limit in limits_of(spec, groups)
        ]
        self._used = np.any([limit.A[0] != 0 for limit in self.each], axis=0)

    def kept(self, outcomes: Sequence[float | None] | None) -> bool | None:
        """Whether outcomes keep all limits; None where one that a limit is of is unknown."""
        values = self._known(outcomes)
        return None if values is None else all(bool(limit.kept(values)) for limit in self.each)

    def in_words(self, outcomes: Sequence[float | None] | None) -> str:
        """Kept, or which limits are broken by which value; "-" where that is unknown."""
        values = self._known(outcomes)
        if values is None:
            return "-"
        broken = [
            f"{limit.names[0]} broken: {significant(float(limit.values(values)[0]))}"
            for limit in self.each
            if not limit.kept(values)
        ]
        return "; ".join(broken) or "kept"

    def _known(self, outcomes: Sequence[float | None] | None) -> NDArray[np.float64] | None:
        """Outcomes (J,), zero where no limit is of them; None where one that a limit is of is missing."""
        if outcomes is None:
            return None
        values = np.array(outcomes, dtype=np.float64)
        return None if np.isnan(values[self._used]).any() else np.where(self._used, values, 0.0)

    def share_broken(self, rounds: Sequence[StoredRound]) -> float:
        """The share of rounds that break a limit; nan where of none it is known.

        By the noise-free outcomes of a round's policy, and where they are unknown by those observed; a round
        of which neither is known does not count.
        """
        kept = [self.kept(one.expected_outcomes or one.outcomes) for one in rounds]
        known = [one for one in kept if one is not None]
        return 1.0 - sum(known) / len(known) if known else float("nan")


def known_limits(study: Study) -> KnownLimits | None:
    """The limits of a study; None where it has none, or one is a function."""
    if not study.limits or has_functions(study):
        return None
    return KnownLimits(study.limits, study.environment.groups)


def has_functions(study: Study) -> bool:
    """Whether one of the study's limits is a function."""
    return any(spec.function is not None for spec in study.limits)
