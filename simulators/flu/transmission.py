"""From contacts and a reproduction number to rates of transmission."""

from __future__ import annotations

from simulators.arrays import Array
from simulators.contract.validation import number
from simulators.flu import tables
from simulators.flu.season_ode import radius


def transmission(
    shape: Array, infectious_period: float, r0: float | None, immune: Array
) -> tuple[Array, float]:
    """The (J, J) transmission rates per day in proportion to a shape, and R0, nobody being vaccinated.

    Parameters
    ----------
    shape : (J, J) array
        Contacts a day times susceptibility (rows) and infectivity (columns).
    infectious_period : float
        Days.
    r0 : float or None
        The spectral radius of the next-generation matrix (Diekmann, Heesterbeek & Metz 1990). None: such
        that the effective one, with shares (J,) immune, is that of the median season, 1.28.
    immune : (J,) array

    Raises
    ------
    ValueError
        An r0 that is not above 0, or a shape by which nobody infects anybody.
    """
    _refuse_nothing(shape)
    if r0 is not None:
        rate = number("r0", r0, above=0) / (radius(shape) * infectious_period)
    else:
        unprotected = (1 - immune)[:, None] * shape
        rate = tables.EFFECTIVE_R0_2012 / (radius(unprotected) * infectious_period)
    return rate * shape, rate * radius(shape) * infectious_period


def published_transmission(shape: Array, infectious_period: float) -> tuple[Array, float]:
    """The same by the transmissibility of the paper's authors."""
    _refuse_nothing(shape)
    rate = tables.TRANSMISSIBILITY * tables.INFECTIVITY
    return rate * shape, rate * radius(shape) * infectious_period


def _refuse_nothing(shape: Array) -> None:
    if radius(shape) == 0:
        raise ValueError(
            "contacts, susceptibility and infectivity let no infection through; some product must be > 0"
        )
