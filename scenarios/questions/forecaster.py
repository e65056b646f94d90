"""The weather of the next hours at every station: a Gaussian process over places and time for each reading.

Its kernel is that of a climate that stays, a weather that passes and a daily cycle (`climate_kernel`), or the
product of a family over places and a kernel over time, as agents have it. It is learned from the readings
that the environment sets aside, which are no part of the trial, and told the trial's readings. What is warmer
than foretold is drier than foretold: intervals of the objective know how readings go together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import bridges
from optimizer import GaussianProcess, learn_prior
from optimizer.agents.recommending import objective_interval
from optimizer.arrays import Array
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition
from optimizer.composition.propagation import Delta
from optimizer.prior.correlation import residual_correlation
from optimizer.prior.families import CLIMATE, FAMILIES
from scenarios.errors import UserError
from scenarios.study.records import StoredRound
from simulators.stations.sphere import points_on_sphere

KERNELS = (CLIMATE, *FAMILIES)

SAMPLES = 300
"""Readings set aside that the kernels are learned from."""

End = tuple[float, float, float]
"""Mean, low and high of a 95 % credible interval."""


class Forecaster:
    """Gaussian processes of the readings of a living network of stations.

    Parameters
    ----------
    environment : Environment
        With stations, and readings of places and hours set aside.
    kernel : str, default "climate"
        A name of `KERNELS`.

    Raises
    ------
    UserError
        An unknown kernel.
    """

    def __init__(self, environment: Any, kernel: str = CLIMATE) -> None:
        if kernel not in KERNELS:
            raise UserError(f"--kernel {kernel}; accepted: {', '.join(KERNELS)}")
        self.environment = environment
        self.composition: BaseComposition = bridges.composition(environment)
        X, Y = environment.set_aside
        some = np.sort(np.random.default_rng(0).permutation(len(X))[:SAMPLES])
        seen = self._seen(X[some, :-1], X[some, -1])
        prior = learn_prior(
            kernel,
            seen,
            Y[some],
            time=True,
            noise_variances=environment.noise_variances,
            restarts=0,
        )
        self.noise: Array = prior.noise_variances
        if isinstance(self.composition, GeneralComposition):
            together = Delta(residual_correlation(prior, seen, Y[some]))
            self.composition = self.composition.propagated(together)
        self.groups: list[GaussianProcess] = [
            GaussianProcess(kernel, float(noise), mean)
            for kernel, noise, mean in zip(prior.kernels, prior.noise_variances, prior.means, strict=True)
        ]

    def _seen(self, features: Array, hours: Array) -> Array:
        """What the kernels see (n, 4) of the environment's features (n, p): places in 1,000 km, hours."""
        if self.environment.features == "sphere":
            points = features[:, :3]
        elif self.environment.features == "degrees":
            points = points_on_sphere(features[:, 0], features[:, 1]) / 1000.0
        else:
            points = self.environment.points[features[:, 0].astype(int)] / 1000.0
        return np.column_stack([points, hours])

    def _at(self, rows: NDArray[np.intp], hour: float) -> Array:
        space = self.environment.policy_space
        return self._seen(space.embed(rows), np.full(len(rows), hour))

    def tell(self, row: int, hour: float, one: StoredRound) -> None:
        """Add the reading of a station in an hour; groups that are missing teach nothing."""
        at = self._at(np.array([row]), hour)
        stated = np.full(len(self.groups), np.nan)
        if one.noise_variance is not None:
            stated = np.asarray(one.noise_variance, dtype=float).reshape(len(self.groups))
        for process, value, own, noise in zip(self.groups, one.outcomes, stated, self.noise, strict=True):
            if value is not None:
                process.observe(at, [value], [noise if np.isnan(own) else own])

    def moments(self, rows: NDArray[np.intp], hour: float) -> tuple[Array, Array]:
        """Means and variances (n, J) of the truth at stations in an hour."""
        Z = self._at(rows, hour)
        found = [process.predict(Z) for process in self.groups]
        means, variances = (np.stack([one[i] for one in found], axis=1) for i in range(2))
        return means, np.maximum(variances, 0.0)

    def objective(self, row: int, hour: float) -> End:
        """The objective's truth at a station in an hour."""
        rows = np.array([row])
        return objective_interval(self.composition, *self.moments(rows, hour), rows)

    def readings(self, row: int, hour: float) -> list[End]:
        """The truth of each group there."""
        means, variances = self.moments(np.array([row]), hour)
        half = 1.96 * np.sqrt(variances[0])
        ends = zip(means[0].tolist(), (means[0] - half).tolist(), (means[0] + half).tolist(), strict=True)
        return list(ends)

    def best(self, hour: float) -> int:
        """The station with the best expected objective in an hour."""
        rows = np.arange(self.environment.policy_space.size)
        return int(self.composition.moments(*self.moments(rows, hour), rows).mean.argmax())
