"""Priors that an agent learns from its own rounds, as it goes, with what is uncertain of them.

The prior of a group is amplitude (family + MEAN_VARIANCE) about the mean of its observations: the constant
kernel says that their mean is not the function's. The rule of learning:

- after every `tell`, until observations have to grow by a share (`GROWTH`) since they were last learned from;
- from where the last learning ended, and from other starts as well the first time, whenever observations have
  grown by a quarter (`RESTART_GROWTH`), and after a surprise, which is learned from at once;
- from samples that do not vary nothing is learned: their group keeps its priors (`outcome_units`);
- from `MOST` observations drawn at random, where there are more.

The posterior is a mixture over S draws of the hyperparameters, fewer as observations tell more (`draws`).
"""

import math
from functools import cached_property

import numpy as np

from optimizer.arrays import Array
from optimizer.prior.families import CLIMATE, ON_GRAPH, Family
from optimizer.prior.hyperparameters import Group, LengthPrior
from optimizer.prior.learned import MEAN_VARIANCE, Learned, LearnedGroup
from optimizer.prior.learning import one_thread, outcome_units
from optimizer.prior.prior import Prior

LENGTH = LengthPrior(math.log(0.35), 1.0)
"""Shorter than for samples, so that data have to show how far one may extrapolate: docs/calibration.md."""

GROWTH = 1.02
RESTART_GROWTH = 1.25
RESTARTS = 2
"""Random starts, beside the default one."""
MOST = 1000
TOLERANCE = 1e-7
"""Of the search, as a share of the log density: it begins anew with the next observation."""

BEGUN_FROM, BEGUN_GROWTH = 5, 1.25
BEGUN_DEVIATION = 0.15
"""Where learning begins with kernels of samples: from how many observations on, by which growth, and the
standard deviation by which logarithms of hyperparameters move: docs/weather-models.md."""

DRAWS = 24
DRAWS_TIMES_OBSERVATIONS = 960
"""S is 24 up to 40 observations, 9 at 100, 4 at 200, and 1, the most probable, from 481 on."""


def draws(observations: int, room: float = math.inf) -> int:
    """S: how many draws of the hyperparameters make the mixture.

    Parameters
    ----------
    observations : int
        T.
    room : float
        More draws than this would need too much memory.
    """
    return int(max(min(DRAWS, DRAWS_TIMES_OBSERVATIONS // observations, room), 1))


class OwnRounds:
    """What has been learned from an agent's own rounds, so far.

    Parameters
    ----------
    family : str
        Of the kernels.
    seed : int
        Of random starts and draws, together with the number of rounds told.
    begin : Prior, optional
        Kernels of the family, learned elsewhere, with which the learning begins: they take the place of the
        weak priors of the hyperparameters (`BEGUN_DEVIATION`), and their means that of the observations'. The
        most probable hyperparameters are then the only draw.
    """

    def __init__(self, family: str, seed: int, begin: Prior | None = None) -> None:
        if family not in (ON_GRAPH, CLIMATE):
            Family(family)  # refuses an unknown one before the first round
        self._name = family
        self._seed = seed
        self.begin = begin
        self.last: Learned | None = None

    @cached_property
    def family(self) -> Family:
        """The family; ValueError for those that need a graph or samples, which agents do not have."""
        return Family(self._name)

    def due(self, observations: int, surprised: bool) -> bool:
        """Whether it is time to learn anew."""
        last = self.last.learned_at if self.last else 0
        if self.begin is not None:
            return observations >= max(BEGUN_FROM, BEGUN_GROWTH * last)
        return surprised or observations >= max(GROWTH * last, last + 1)

    def learn(
        self, X: Array, Y: Array, noise: Array, *, surprised: bool = False, room: float = math.inf
    ) -> Learned:
        """Learn from all that was told, beginning where the last learning ended.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Features of all rounds.
        Y, noise : ndarray of shape (n, J)
            Observations, nan where missing, and their noise variances, nan where unstated.
        surprised : bool, default=False
            Whether to search from other starts as well.
        room : float
            See `draws`.
        """
        observations = int(np.isfinite(Y).any(axis=1).sum())
        before = self.last.restarted_at if self.last else 0
        restarts = surprised or observations >= RESTART_GROWTH * before
        samples = [np.flatnonzero(np.isfinite(y)) for y in Y.T]
        units, varies = outcome_units([Y[rows, j] for j, rows in enumerate(samples)])
        span = self.family.span(X)
        S = draws(observations, room) if self.begin is None else 1
        about_mean = MEAN_VARIANCE if self.begin is None else 0.0
        groups = []
        with one_thread():
            for j, rows in enumerate(samples):
                mean = self._mean(j, Y[rows, j])
                rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(len(Y), j)))
                if len(rows) > MOST:
                    rows = np.sort(rng.choice(rows, MOST, replace=False))
                y, stated = (Y[rows, j] - mean) / units[j], noise[rows, j] / units[j] ** 2
                group = Group(self.family, X[rows] / span, y, stated, LENGTH, about_mean)
                if self.begin is not None:
                    group.begin_at(self._begun(j, units[j], span), BEGUN_DEVIATION)
                if varies[j]:
                    best = group.most_probable(self._starts(j, group, restarts, rng), rng, TOLERANCE)
                    some = group.draws(best, S, rng)
                else:
                    best, some = group.unlearned, group.draws_unlearned(S, rng)
                # What states no noise where all others did, has theirs.
                own = 0.0 if group.learns_noise else float(noise[rows, j].mean())
                groups.append(
                    LearnedGroup(
                        best,
                        *some,
                        group.learns_noise,
                        float(units[j]),
                        mean,
                        own,
                        bool(varies[j]),
                        about_mean,
                    )
                )
        restarted = observations if restarts else before
        self.last = Learned(self.family.name, span, groups, observations, restarted)
        return self.last

    def _mean(self, j: int, y: Array) -> float:
        """The prior mean of group j."""
        if self.begin is None:
            return float(y.mean())
        begun = self.begin.means[j]
        assert not callable(begun)  # scenarios refuse `mean_from` here
        return float(begun)

    def _begun(self, j: int, unit: float, span: Array) -> Array:
        """The amplitude and the kernel of group j to begin with, in the units of its samples: logarithms."""
        assert self.begin is not None
        theta: Array = np.array(self.begin.kernels[j].theta)
        theta[0] -= 2 * math.log(unit)
        theta[1:] += self.family.shift(len(theta) - 1, np.ones(len(span)), span)
        return theta

    def _starts(self, j: int, group: Group, restarts: bool, rng: np.random.Generator) -> list[Array]:
        """Where the search for the most probable hyperparameters of group j begins."""
        last = self.last.groups[j] if self.last else None
        known = last is not None and last.varies and len(last.best) == len(group.default)
        starts = [last.best] if last is not None and known else []
        if restarts or not starts:
            starts += [group.default, *(group.random(rng) for _ in range(RESTARTS))]
        return starts
