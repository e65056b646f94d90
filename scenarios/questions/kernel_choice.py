"""Which kernel predicts stations that it has not seen: cross-validation on a user's own stations.

The stations are dealt into K folds. For every fold and family each quantity's kernel and mean, and where that
is wished its noise variance, are learned from the other folds by marginal likelihood; the process is
conditioned on these folds and predicts the fold's readings. Judged is the logarithm of the density that was
predicted where the reading came to lie (Rasmussen & Williams 2006, section 5.3), added over the quantities,
and told is the root mean square error besides. Families are compared station by station, so that the
standard error of a difference is that of paired values; it takes stations as independent, which neighbours
are not quite.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from optimizer import GaussianProcess, learn_prior
from optimizer.arrays import Array
from optimizer.prior.families import FAMILIES, ON_GRAPH
from scenarios.errors import UserError
from simulators.stations import Stations
from simulators.stations.sphere import points_on_sphere
from simulators.weather.sensor_graph import connected_neighbours, graph_of
from simulators.weather.sensor_network import GROUPS, NOISE_VARIANCE

KERNELS = (*FAMILIES, ON_GRAPH)

UNITS = ("K", "percent", "m/s")

MOST_STATIONS = 1500
"""Stations that take part; of more, so many are drawn."""

SAMPLES = 300
"""Stations of the other folds that hyperparameters are learned from; all are conditioned on."""


class Scores(NamedTuple):
    """How a family has predicted the stations (n,), each when it was left out.

    Attributes
    ----------
    density : (n, 3) array
        Logarithm of the predicted density of each quantity's reading.
    error : (n, 3) array
        What was predicted less what was read: K, percent, m/s.
    seconds : float
    """

    density: Array
    error: Array
    seconds: float


class KernelChoice(NamedTuple):
    """The families, compared.

    Attributes
    ----------
    scores : dict of str to Scores
        By family.
    folds, seed
        As asked.
    learned_noise : bool
        Whether the noise variances were learned; if not, those of the weather environments hold.
    drawn_from : int
        Stations that there are; `MOST_STATIONS` of them took part, if there are more.
    """

    scores: dict[str, Scores]
    folds: int
    seed: int
    learned_noise: bool
    drawn_from: int

    @property
    def stations(self) -> int:
        """How many took part."""
        return len(next(iter(self.scores.values())).density)

    @property
    def best(self) -> str:
        """The family with the highest mean density."""
        return max(self.scores, key=lambda family: self.scores[family].density.sum(axis=1).mean())

    def difference(self, family: str, quantity: int | None = None) -> tuple[float, float]:
        """The mean log density of a family less that of the best, and its standard error.

        Of all quantities together, or of one, whose best is its own.
        """
        every = {
            name: one.density.sum(axis=1) if quantity is None else one.density[:, quantity]
            for name, one in self.scores.items()
        }
        best = self.best if quantity is None else max(every, key=lambda name: every[name].mean())
        apart = every[family] - every[best]
        return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        families = {}
        for family, one in self.scores.items():
            apart, error = self.difference(family)
            families[family] = {
                "log_density": float(one.density.sum(axis=1).mean()),
                "minus_best": apart,
                "standard_error": error,
                "seconds": one.seconds,
                "quantities": {
                    name: {
                        "log_density": float(one.density[:, j].mean()),
                        "minus_best": self.difference(family, j)[0],
                        "standard_error": self.difference(family, j)[1],
                        "rmse": _rmse(one.error[:, j]),
                        "unit": UNITS[j],
                    }
                    for j, name in enumerate(GROUPS)
                },
            }
        return {
            "best": self.best,
            "stations": self.stations,
            "drawn_from": self.drawn_from,
            "folds": self.folds,
            "seed": self.seed,
            "noise": "learned" if self.learned_noise else list(NOISE_VARIANCE),
            "families": families,
        }

    def rows(self) -> list[list[str]]:
        """The families as a table's rows, best first."""
        order = sorted(self.scores, key=lambda family: -self.difference(family)[0])
        found = []
        for family in order:
            one, (apart, error) = self.scores[family], self.difference(family)
            against = "best" if family == self.best else f"{apart:.3f} (standard error {error:.3f})"
            errors = [f"{_rmse(one.error[:, j]):.3g}" for j in range(len(GROUPS))]
            found.append([family, f"{one.density.sum(axis=1).mean():.3f}", against, *errors])
        return found


HEADS = (
    "family",
    "log density\na station",
    "minus the best's",
    *(f"RMSE of\n{name}, {unit}" for name, unit in zip(GROUPS, UNITS, strict=True)),
)


def _rmse(errors: Array) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def choose_kernel(
    stations: Stations,
    *,
    families: Sequence[str] = KERNELS,
    folds: int = 5,
    seed: int = 0,
    learn_noise: bool = False,
    jobs: int = 1,
    seen: Callable[[str], None] = lambda text: None,
) -> KernelChoice:
    """Compare kernel families by cross-validation on stations.

    Parameters
    ----------
    stations : Stations
        At least two a fold.
    families : sequence of str
        Names of `KERNELS`.
    folds : int, default 5
        K, from 2 on.
    seed : int, default 0
        Of the folds and of the draws.
    learn_noise : bool, default False
        Learn the noise variances as well; otherwise those of the weather environments hold, as in a scenario.
    jobs : int, default 1
        Processes that learn quantities side by side; the result does not depend on it.
    seen : callable, optional
        Is told how far it is.

    Raises
    ------
    UserError
        Fewer than two folds, or than two stations a fold, or an unknown family.
    """
    unknown = [one for one in families if one not in KERNELS]
    if unknown:
        raise UserError(f"kernel family {unknown[0]!r}; accepted: {', '.join(KERNELS)}")
    n = len(stations)
    if not 2 <= folds <= n // 2:
        raise UserError(f"--folds {folds}; accepted: 2 to {max(n // 2, 2)}, as there are {n} stations")
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(stations))[:MOST_STATIONS])
    some = stations.take(chosen) if len(chosen) < len(stations) else stations
    fold = rng.permutation(np.arange(len(some)) % folds)
    scores = {}
    with threadpool_limits(1):
        for number, family in enumerate(families):
            began = time.perf_counter()
            density, error = np.empty((2, len(some), len(GROUPS)))
            for k in range(folds):
                seen(f"{family}, fold {k + 1} of {folds}; family {number + 1} of {len(families)}")
                out = fold == k
                density[out], error[out] = _predicted(family, some, out, learn_noise, seed + k, jobs)
            scores[family] = Scores(density, error, time.perf_counter() - began)
    return KernelChoice(scores, folds, seed, learn_noise, len(stations))


def _predicted(
    family: str, stations: Stations, out: NDArray[np.bool_], learn_noise: bool, seed: int, jobs: int
) -> tuple[Array, Array]:
    """Log density and error of the readings of the stations left out, each (m, 3)."""
    points = points_on_sphere(stations.lon, stations.lat)
    X, graph = points / 1000.0, None
    if family == ON_GRAPH:
        edges = connected_neighbours(points, None, stations.ids.tolist(), "stations")
        X, graph = np.arange(len(points), dtype=float)[:, None], graph_of(points, edges)
    Y = stations.readings
    rows = np.flatnonzero(~out)
    few = np.sort(np.random.default_rng(seed).permutation(rows)[:SAMPLES])
    prior = learn_prior(
        family,
        X[few],
        Y[few],
        graph=graph,
        noise_variances=None if learn_noise else NOISE_VARIANCE,
        restarts=1,
        seed=seed,
        jobs=jobs,
    )
    density, error = np.empty((2, int(out.sum()), Y.shape[1]))
    for j in range(Y.shape[1]):
        noise = float(prior.noise_variances[j])
        process = GaussianProcess(prior.kernels[j], noise, prior.means[j]).observe(X[rows], Y[rows, j])
        mean, variance = process.predict(X[out])
        error[:, j] = mean - Y[out, j]
        density[:, j] = log_density(error[:, j], variance + noise)
    return density, error


def log_density(error: Array, variance: Array) -> Array:
    """The logarithm of the normal density of errors with variances."""
    density: Array = -0.5 * (np.log(2.0 * np.pi * variance) + error**2 / variance)
    return density
