"""What happened in one round, as the loop tells it and studies store it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from optimizer.arrays import Array

Status = Literal["ok", "partial", "failed", "lost"]


@dataclass(frozen=True, eq=False)
class Round:
    """What happened in one round.

    Attributes
    ----------
    round : int
        From 1.
    policy : ndarray of shape (d,)
        The policy's entries.
    row : int or None
        Its candidate row in a finite policy space.
    outcomes : ndarray of shape (J,)
        Observed outcomes; nan where a group is missing, all nan if the round failed.
    noise_variance : ndarray of shape (J,) or None
        Variance of each observation, where the environment states it.
    objective : float
        Observed composed value; nan unless every group was observed.
    expected : float
        Noise-free composed value; nan where unknown.
    expected_outcomes : ndarray of shape (J,) or None
        Noise-free outcomes, where known.
    regret : float
        Instantaneous regret, noise-free, not negative at an optimum; nan where unknown. In a living world
        against the best policy of the moment.
    seconds : float
        Wall time of the agent's ask and tell; in a batch its share of the ask, and with the round that ends
        last the time to tell all of them.
    step_seconds : float
        Wall time of the environment's step.
    status : {"ok", "partial", "failed", "lost"}
        All groups observed, some, or none: "failed" where that is the policy's doing, "lost" where the step
        was stopped at a limit or its process was killed.
    error : str
        Why nothing was observed.
    info : mapping
        What the simulator says of its step besides (`Outcomes.info`).
    runs : ndarray of shape (R, J) or None
        Where the step was repeated, the outcomes of each run; `outcomes` are their means.
    """

    round: int
    policy: Array
    row: int | None
    outcomes: Array
    noise_variance: Array | None
    objective: float
    expected: float
    expected_outcomes: Array | None
    regret: float
    seconds: float
    step_seconds: float
    status: Status
    error: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    runs: Array | None = None

    @property
    def asked(self) -> Any:
        """The policy as agents and environments speak of it: its row in a finite space, else its entries."""
        return self.policy if self.row is None else self.row


def moment(context: float | None) -> dict[str, Any]:
    """The time as an agent's argument; none where the world does not live: agents need not know of it."""
    return {} if context is None else {"context": context}
