"""What a season among persons brought, and several of them on average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulators.arrays import Array, Integers, Mask
from simulators.flu.season.model import FluModel


@dataclass(frozen=True, eq=False)
class Season:
    """What one season brought, by group (J,)."""

    sick_days: Array  # person-days infectious, by person of the whole population
    attack_rate: Array  # share infected
    infectious: Integers  # (days + 1, J): persons on the days 0, 1, ..
    immune: Mask  # (N,): who leaves the season immune

    @classmethod
    def of(cls, model: FluModel, carry_over: float) -> Season:
        """Simulate a model to its end; of those then immune a share is carried over to the next season."""
        model.run_model()
        curve = np.zeros((model.days + 1, len(model.groups)), dtype=np.int64)
        recorded = [model.datacollector.model_vars[f"infectious {group.name}"] for group in model.groups]
        curve[1 : model.day + 1] = np.transpose(recorded)
        return cls(
            sick_days=np.array([group.sick_days for group in model.groups]) / model.population.persons,
            attack_rate=np.array([group.attack_rate for group in model.groups]),
            infectious=curve,
            immune=model.still_immune(carry_over),
        )


def told(seasons: Sequence[Season], sizes: Integers) -> dict[str, Any]:
    """What seasons brought a town with so many persons a group on average, for the `info` of an outcome."""
    infected = np.mean([season.infectious for season in seasons], axis=0)
    attack = np.array([season.attack_rate for season in seasons])
    mean_attack = attack.mean(axis=0)
    return {
        "attack_rate": mean_attack,
        "attack_rate_total": float(mean_attack @ sizes / int(sizes.sum())),
        "days": np.arange(float(len(infected))),
        "infected": infected,
        "peak_day": float(np.mean([np.argmax(season.infectious.sum(axis=1)) for season in seasons])),
        "replicates": attack,
    }
