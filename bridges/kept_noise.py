"""Which part of the noise a policy keeps, as an environment states it, and as its agents know it."""

from collections.abc import Sequence

import numpy as np

from bridges.feedback import composed_noise
from optimizer.agents.agent import Feedback
from optimizer.posterior.kept_noise import KeptNoise
from simulators.contract.environment import Environment, KeptVariance


def kept_noise(environment: Environment, feedback: Feedback | None) -> Sequence[KeptNoise] | None:
    """What an agent that is told groups, or the composed value, knows of it; None where nothing is stated.

    Of the composed value the part is that of its mean variance, by the slopes dg/df_j at the measurements set
    aside; it is unknown where there are none.
    """
    stated: KeptVariance | None = getattr(environment, "kept_noise", None)
    if stated is None or feedback is None:
        return None
    kept, whole = np.asarray(stated.kept, dtype=float), np.asarray(stated.whole, dtype=float)
    if feedback == "decomposed":
        shares = np.divide(kept, whole, out=np.zeros(len(kept)), where=whole > 0)
        return [KeptNoise(float(share), stated.hours) for share in shares]
    measured = environment.set_aside
    if measured is None or not environment.policy_space.finite:
        return None
    values = measured[1][np.isfinite(measured[1]).all(axis=1)]
    policies = np.zeros(len(values), dtype=int)
    part, total = (
        composed_noise(environment, values, np.broadcast_to(one, values.shape), policies).mean()
        for one in (kept, whole)
    )
    return [KeptNoise(float(part / total), stated.hours)] if total > 0 else None
