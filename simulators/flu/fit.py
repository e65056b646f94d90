"""What a calibration knows and finds: a population before the fit, and the reproduction number after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simulators.arrays import Array
from simulators.flu.people import People
from simulators.flu.season_ode import SeasonODE, radius

SMALLEST, LARGEST = 0.05, 30.0
"""Reproduction numbers among which one is sought."""
NORMAL_95 = 1.959963984540054


class Model(NamedTuple):
    """What is known of a population before the fit; arrays are of J groups."""

    groups: tuple[str, ...]
    population: Array
    contacts: Array
    susceptibility: Array
    infectivity: Array
    initial_infected: Array
    efficacy: Array
    coverage: Array | None
    infectious_period: float
    season: Callable[[Array, Array], SeasonODE]

    @classmethod
    def of(
        cls, people: People, efficacy: Array, infectious_period: float, season: Callable[..., SeasonODE]
    ) -> Model:
        """That of a people who were vaccinated with a vaccine of an efficacy (J,)."""
        return cls(
            people.groups,
            people.persons,
            people.contacts,
            people.susceptibility,
            people.infectivity,
            people.initial_infected,
            efficacy,
            people.coverage,
            infectious_period,
            season,
        )

    def shape(self, susceptibility: Array) -> Array:
        """`s_i C_ij k_j`."""
        matrix: Array = susceptibility[:, None] * self.contacts * self.infectivity
        return matrix

    def at(self, r0: float, susceptibility: Array, scale: float = 1.0) -> SeasonODE:
        """The season of an r0, with the initially infected times a number."""
        shape = self.shape(susceptibility)
        infected = np.minimum(self.initial_infected * scale, self.population)
        return self.season(r0 / (radius(shape) * self.infectious_period) * shape, infected)


@dataclass(frozen=True, eq=False)
class Fit:
    """What was fitted.

    Attributes
    ----------
    r0, log_error : float
        The reproduction number, and the standard error of its logarithm.
    susceptibility, initial_infected : (J,) array
        As fitted, or as they were.
    susceptibility_errors : (J,) array or None
        Standard errors of their logarithms, 0 for the largest; None where they were not fitted.
    observed, expected : (k,) array
        Attack rates, or counts.
    labels : tuple of str
        Whose.
    misfit : float
        The deviance by the degrees of freedom, by which variances are widened where it is above 1; nan
        without degrees of freedom, or where the variance itself is fitted.
    words : str
        What was fitted to what.
    """

    r0: float
    log_error: float
    susceptibility: Array
    initial_infected: Array
    susceptibility_errors: Array | None
    observed: Array
    expected: Array
    labels: tuple[str, ...]
    misfit: float
    words: str

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, of r0."""
        width = NORMAL_95 * self.log_error
        return self.r0 * float(np.exp(-width)), self.r0 * float(np.exp(width))

    def sentences(self, groups: Sequence[str]) -> tuple[str, ...]:
        """All of it in words, and r0 as a table `[ensemble]` takes it."""
        low, high = self.interval
        said = [
            f"calibrate: r0 = {self.r0:.4g}, 95 % {low:.4g} to {high:.4g}, fitted to {self.words}",
            f"calibrate: as an uncertain parameter, under [ensemble]: r0 = {{ lognormal = "
            f"[{np.log(self.r0):.4f}, {self.log_error:.4f}] }}",
        ]
        if self.misfit > 1:
            said.append(
                f"calibrate: the data lie {self.misfit:.3g} times further off than chance would have them; "
                f"the interval is widened by {np.sqrt(self.misfit):.3g}"
            )
        if self.susceptibility_errors is not None:
            errors = zip(groups, self.susceptibility, self.susceptibility_errors, strict=True)
            by_group = ", ".join(f"{name} {s:.3g} (+- {100 * e:.2g} %)" for name, s, e in errors)
            said.append(f"calibrate: susceptibility relative to the largest: {by_group}")
        pairs = zip(self.labels, self.observed, self.expected, strict=True)
        shown = ", ".join(f"{name} {seen:.3g} ({fitted:.3g})" for name, seen, fitted in pairs)
        return (*said, f"calibrate: observed (and fitted): {shown}")
