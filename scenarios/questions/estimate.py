"""A number and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval: credible where it is predicted, Student's where it is over seeds."""

    mean: float
    low: float
    high: float
