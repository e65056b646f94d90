"""Rounds that repeat their step: the mean of several runs, and how sure it is, by the noise of all rounds.

The noise of one run is a covariance of the groups (J, J), for what a run draws they share. It is estimated
from the residuals of all rounds together, pooled over policies and never of one policy alone: a few runs of
one policy say next to nothing of a variance, and a policy whose runs happen to agree would be believed too
much. Correlations are shrunk (Ledoit & Wolf 2004).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.covariance import ledoit_wolf

from bridges.environments.replicates import of_all
from bridges.feedback import composed_noise
from bridges.seeds import as_int, child
from bridges.steps import Steps, Taken, whole_policy
from optimizer.arrays import Array
from simulators.contract.environment import Environment, Outcomes
from simulators.contract.observed import checked

FIRST = 4
"""Runs of a round before its standard error is looked at."""
LATEST = 5000
"""Runs, of the last rounds, from which noise is estimated."""


@dataclass(frozen=True)
class Replication:
    """How often a round repeats its step.

    Attributes
    ----------
    runs : int
        So many times; where a standard error is asked for, at most.
    standard_errors : ndarray of shape (J,), optional
        Repeated until that of every group's mean is no larger, nan where it does not matter.
    of_objective : float, default inf
        The same of the objective.
    """

    runs: int
    standard_errors: Array | None = None
    of_objective: float = math.inf

    @property
    def adaptive(self) -> bool:
        """Whether a standard error is asked for."""
        return self.standard_errors is not None or math.isfinite(self.of_objective)


@dataclass
class PooledNoise:
    """What rounds that repeat their step know of the noise of one run, in their order.

    Attributes
    ----------
    rounds : int
        How many have told something.
    """

    rounds: int = 0
    _residuals: list[Array] = field(default_factory=list)

    def tell(self, runs: Array | None) -> None:
        """Learn of a round's runs (R, J)."""
        found = residuals(runs)
        if len(found):
            self.rounds += 1
            self._residuals.append(found)

    def covariance(self, own: Array | None = None) -> Array | None:
        """The covariance (J, J) of one run's noise, of these rounds and one's own runs (R, J).

        None where fewer than two rounds are known.
        """
        mine = residuals(own)
        if self.rounds + bool(len(mine)) < 2:
            return None
        return shrunk(np.concatenate([*self._residuals, *([mine] if len(mine) else [])])[-LATEST:])


def residuals(runs: Array | None) -> Array:
    """Deviations (R, J) of runs from their mean, such that their mean square is the unbiased variance.

    nan of groups that no run has. Runs that lack one which others have are left out; of a single run nothing
    is known, (0, J).
    """
    if runs is None:
        return np.empty((0, 0))
    seen = np.isfinite(runs)
    whole = runs[(seen == seen.any(axis=0)).all(axis=1)]
    R = len(whole)
    if R < 2:
        return np.empty((0, runs.shape[1]))
    found: Array = (whole - whole.mean(axis=0)) * np.sqrt(R / (R - 1))
    return found


def shrunk(found: Array) -> Array:
    """The covariance (J, J) of residuals (n, J), its correlations shrunk to none; variances are as they are.

    Groups are made comparable first: they may have different units, which Ledoit and Wolf's target has not.
    Where not all groups are observed together nothing is said of their correlations: they are none.
    """
    seen = np.isfinite(found)
    squares = np.where(seen, found**2, 0.0).sum(axis=0)
    deviations = np.sqrt(squares / np.where(seen.any(axis=0), seen.sum(axis=0), np.nan))
    if not seen.all():
        return np.diag(deviations**2)
    scale = np.where(deviations > 0, deviations, 1.0)
    correlations, _ = ledoit_wolf(found / scale, assume_centered=True)
    np.fill_diagonal(correlations, 1.0)  # of a group that does not vary as well
    covariance: Array = correlations * np.outer(deviations, deviations)
    return covariance


class Replicated:
    """Takes every step several times; a `Steps`.

    Parameters
    ----------
    steps : Steps
        Who takes the runs, of all rounds of a batch side by side where it can.
    environment : Environment
        Whose groups and objective they are of.
    replication : Replication

    Attributes
    ----------
    noise : PooledNoise
        To be told of every round, in order, once its batch has ended.
    """

    def __init__(self, steps: Steps, environment: Environment, replication: Replication) -> None:
        self._steps, self._environment, self._plan = steps, environment, replication
        self.noise: PooledNoise = PooledNoise()

    def take(self, asked: Sequence[tuple[int | None, object]]) -> Iterator[Taken]:
        """Take the steps, and yield each as the mean of its runs, as soon as it has enough of them."""
        runs: list[dict[int, Taken]] = [{} for _ in asked]
        open_, wanted = set(range(len(asked))), [0] * len(asked)
        while open_:
            orders = []
            for i in sorted(open_):
                more = self._more(runs[i], asked[i][1])
                orders += [(i, r) for r in range(wanted[i], wanted[i] + more)]
                wanted[i] += more
            steps = [(seed_of(asked[i][0], r), asked[i][1]) for i, r in orders]
            for taken in self._steps.take(steps):
                i, r = orders[taken.which]
                runs[i][r] = taken
                if len(runs[i]) == wanted[i] and not self._more(runs[i], asked[i][1]):
                    open_.discard(i)
                    yield self._mean(i, [runs[i][k] for k in range(wanted[i])], asked[i][1])

    def _more(self, runs: dict[int, Taken], policy: object) -> int:
        """How many further runs a round needs."""
        done, plan = len(runs), self._plan
        if not plan.adaptive or done == 0:
            return min(FIRST, plan.runs) if plan.adaptive else plan.runs - done
        values = self._values([runs[r] for r in range(done)])
        if not len(values):
            return 0  # all of them fail
        if len(values) < 2:
            return min(done, plan.runs - done)
        own = residuals(values)
        covariance = self.noise.covariance(values)
        if covariance is None and len(own):
            covariance = shrunk(own)
        if covariance is None:
            return min(done, plan.runs - done)
        ratio = self._excess(values, covariance, whole_policy(policy))
        needed = math.ceil(done * ratio * (1 - 1e-12))
        return int(np.clip(needed - done, 0, min(done, plan.runs - done)))

    def _excess(self, values: Array, covariance: Array, policy: object) -> float:
        """The largest variance of a mean over what its standard error may be, squared."""
        plan = self._plan
        means, noise = of_all(list(values), covariance)
        assert noise is not None
        ratios = [0.0]
        if plan.standard_errors is not None:
            ratios += (np.diag(noise) / plan.standard_errors**2).tolist()
        if math.isfinite(plan.of_objective) and np.isfinite(means).all():
            variance = composed_noise(self._environment, means[None], noise[None], np.asarray([policy]))
            ratios.append(float(variance[0]) / plan.of_objective**2)
        return float(np.nanmax(ratios))

    def _values(self, runs: Sequence[Taken]) -> Array:
        """The outcomes (R, J) of runs that have not failed."""
        groups = self._environment.groups
        seen = [one.outcomes.values for one in runs if isinstance(self._checked(one), Outcomes)]  # type: ignore[union-attr]
        return np.array(seen, dtype=float).reshape(len(seen), len(groups))

    def _checked(self, run: Taken) -> Outcomes | Exception:
        if isinstance(run.outcomes, Exception):
            return run.outcomes
        try:
            return checked(run.outcomes, self._environment.groups, self._environment.outcome_range)
        except Exception as error:
            return error

    def _mean(self, which: int, runs: Sequence[Taken], policy: object) -> Taken:
        """A step whose outcomes are the means of its runs; failed, where all of them have."""
        seconds = sum(one.seconds for one in runs)
        found = [self._checked(one) for one in runs]
        good = [one for one in found if isinstance(one, Outcomes)]
        if not good:
            return Taken(which, found[0], seconds)
        values = np.array([one.values for one in good])
        covariance = self.noise.covariance(values)
        means, noise = of_all(list(values), stated(good) if covariance is None else covariance)
        if covariance is None and stated(good) is None:
            noise = None  # not from one policy alone
        elif noise is not None and noise.ndim == 2 and not np.isfinite(noise).all():
            noise = np.diag(noise).copy()
        if noise is not None and noise.ndim == 1:
            noise = np.where(np.isnan(means), np.nan, noise)
        return Taken(which, Outcomes(means, noise, good[0].info), seconds, values)


def stated(runs: Sequence[Outcomes]) -> Array | None:
    """The noise variances (J,) of one run that the runs themselves state, in their mean."""
    known = [np.asarray(one.noise_variance, dtype=float) for one in runs if one.noise_variance is not None]
    if not known:
        return None
    each = np.array([np.diag(one) if one.ndim == 2 else one for one in known])
    seen = np.isfinite(each)
    total = np.where(seen, each, 0.0).sum(axis=0)
    return np.where(seen.any(axis=0), total / np.maximum(seen.sum(axis=0), 1), np.nan)


def seed_of(seed: int | None, run: int) -> int | None:
    """The seed of a round's run: its own of the first, as if it were the only one."""
    return seed if seed is None or run == 0 else as_int(child(seed, run))
