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
from sklearn.gaussian_process.kernels import ConstantKernel

from optimizer.arrays import Array
from optimizer.prior.families import ON_GRAPH, Family
from optimizer.prior.hyperparameters import Draws, Group, LengthPrior
from optimizer.prior.learning import one_thread, outcome_units
from optimizer.prior.mixture import PriorMixture
from optimizer.prior.prior import Prior

LENGTH = LengthPrior(math.log(0.35), 1.0)
"""Shorter than for samples, so that data have to show how far one may extrapolate: docs/calibration.md."""

MEAN_VARIANCE = 1.0
"""Prior variance of the constant mean about the observations' own, in amplitudes."""

GROWTH = 1.02
RESTART_GROWTH = 1.25
RESTARTS = 2
"""Random starts, beside the default one."""
MOST = 1000
TOLERANCE = 1e-7
"""Of the search, as a share of the log density: it begins anew with the next observation."""

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
    """

    def __init__(self, family: str, seed: int) -> None:
        if family != ON_GRAPH:
            Family(family)  # refuses an unknown one before the first round
        self._name = family
        self._seed = seed
        self._thetas: dict[int, Array] = {}
        self._learned_at = self._restarted_at = 0

    @cached_property
    def family(self) -> Family:
        """The family; ValueError for the one that needs a graph, which agents do not have."""
        return Family(self._name)

    def due(self, observations: int, surprised: bool) -> bool:
        """Whether it is time to learn anew."""
        return surprised or observations >= max(GROWTH * self._learned_at, self._learned_at + 1)

    def learn(
        self, X: Array, Y: Array, noise: Array, *, surprised: bool = False, room: float = math.inf
    ) -> PriorMixture:
        """Learn from all that was told.

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
        restarts = surprised or observations >= RESTART_GROWTH * self._restarted_at
        self._learned_at = observations
        if restarts:
            self._restarted_at = observations
        groups = [np.flatnonzero(np.isfinite(y)) for y in Y.T]
        units, varies = outcome_units([Y[rows, j] for j, rows in enumerate(groups)])
        means = [float(Y[rows, j].mean()) for j, rows in enumerate(groups)]
        span = self.family.span(X)
        S = draws(observations, room)
        parts: list[tuple[list[Prior], Array, Prior]] = []
        with one_thread():
            for j, rows in enumerate(groups):
                rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(len(Y), j)))
                if len(rows) > MOST:
                    rows = np.sort(rng.choice(rows, MOST, replace=False))
                y, stated = (Y[rows, j] - means[j]) / units[j], noise[rows, j] / units[j] ** 2
                group = Group(self.family, X[rows] / span, y, stated, LENGTH, MEAN_VARIANCE)
                if varies[j]:
                    best = self._search(j, group, restarts, rng)
                    some = group.draws(best, S, rng)
                else:
                    best, some = group.unlearned, group.draws_unlearned(S, rng)
                parts.append(self._priors(group, some, best, span, units[j], means[j], noise[rows, j]))
        return PriorMixture(
            [_joined([priors[s] for priors, _, _ in parts]) for s in range(S)],
            np.stack([weights for _, weights, _ in parts], axis=1),
            _joined([one for _, _, one in parts]),
        )

    def _search(self, j: int, group: Group, restarts: bool, rng: np.random.Generator) -> Array:
        """The most probable hyperparameters of group j, kept for the next time."""
        last = self._thetas.get(j, np.empty(0))
        starts = [last] if len(last) == len(group.default) else []
        if restarts or not starts:
            starts += [group.default, *(group.random(rng) for _ in range(RESTARTS))]
        self._thetas[j] = group.most_probable(starts, rng, TOLERANCE)
        return self._thetas[j]

    def _priors(
        self, group: Group, some: Draws, best: Array, span: Array, unit: float, mean: float, noise: Array
    ) -> tuple[list[Prior], Array, Prior]:
        """Of one group: the priors of the draws, their weights, and the prior of the most probable."""

        def prior(theta: Array) -> Prior:
            amplitude, inner, learned = group.split(theta)
            amplitude *= unit**2
            # What states no noise where all others did, has theirs.
            own = float(noise.mean()) if learned is None else learned * unit**2
            shape = self.family.in_units(inner, span)
            kernel = ConstantKernel(amplitude) * shape + ConstantKernel(MEAN_VARIANCE * amplitude)
            return Prior([kernel], np.array([own]), [mean])

        return [prior(theta) for theta in some.thetas], some.weights, prior(best)


def _joined(priors: list[Prior]) -> Prior:
    """The priors of single groups as one."""
    return Prior(
        [prior.kernels[0] for prior in priors],
        np.concatenate([prior.noise_variances for prior in priors]),
        [prior.means[0] for prior in priors],
    )
