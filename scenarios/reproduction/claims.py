"""A claim of the paper beside our value, and the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["holds", "holds weakly", "does not hold", "not measured"]

RULE = """\
Every value is signed so that the paper's claim is a number above zero.
*Holds*: the 95 % interval lies above zero, and the claimed size lies inside or below it.
*Holds weakly*: the value is above zero, but its interval includes zero, or lies below the claimed size.
*Does not hold*: the value is zero or below. *Not measured*: there is no interval.
Where the paper claims a range, its lower end is the claimed size; where it claims a direction only, the size
plays no part."""


def verdict(mean: float | None, low: float | None, high: float | None, size: float | None = None) -> Verdict:
    """The verdict on a claim by our value and its 95 % interval, by `RULE`.

    `size` is the claimed size, the lower end of a claimed range; without one, only the sign is claimed.
    """
    if mean is None or low is None or high is None or not low <= mean <= high:
        return "not measured"
    if mean <= 0:
        return "does not hold"
    if low <= 0 or (size is not None and high < size):
        return "holds weakly"
    return "holds"


@dataclass(frozen=True)
class Claim:
    """One row of the report: what the paper says, and our value with its 95 % interval."""

    claim: str
    measured: str  # what our value is, in words
    unit: str  # "%" or "points"
    mean: float | None
    low: float | None
    high: float | None
    size: float | None = None  # claimed, see `verdict`

    @property
    def verdict(self) -> Verdict:
        """The verdict by `RULE`."""
        return verdict(self.mean, self.low, self.high, self.size)

    def as_dict(self) -> dict[str, Any]:
        """The claim as plain data, as stored."""
        return asdict(self)
