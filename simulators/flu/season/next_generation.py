"""The transmission rate that gives a contact network a certain R0, by its next-generation matrix."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from simulators.arrays import Array
from simulators.flu.season.durations import Durations
from simulators.flu.season.transmission import ContactRows


def reproduction_number(
    hazard: float, rows: ContactRows, susceptibility: Array, infectious: Durations
) -> float:
    """R0 of a network with a transmission rate, by the group means of its contacts.

    The spectral radius of the next-generation matrix (Diekmann, Heesterbeek & Metz 1990, J. Math. Biol.
    28:365): an infectious person of group j infects, of the contacts in group i, the share E[1 - exp(-h s_i
    w_l D_j)], where D_j is the infectious period. With many contacts, each of which seldom transmits, the
    share is h s_i w_l times the mean period, as in the ODE. The hazard h is the transmission rate per day of
    a contact of weight 1 with a person of susceptibility 1.
    """
    # Reciprocity, N_i C_ij = N_j C_ji, makes this matrix similar to that of the infections in i by one of j.
    matrix = np.zeros((len(susceptibility),) * 2)
    for weight, contacts in zip(rows.weights, rows.means, strict=True):
        matrix += contacts * infectious.discounted(hazard * weight * susceptibility).T
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def transmission_rate(r0: float, rows: ContactRows, susceptibility: Array, infectious: Durations) -> float:
    """The rate h per day at which `reproduction_number` is as asked, with nobody immune.

    0 where nobody meets anybody: nothing can be transmitted, whatever R0 is asked. ValueError where R0 is out
    of reach, however readily contacts transmit.
    """
    if r0 == 0 or len(rows.partners) == 0:
        return 0.0
    # Season after season asks the same of a network.
    question = (r0, susceptibility.tobytes(), infectious.probabilities.tobytes())
    if question not in rows.rates:
        rows.rates[question] = _solve(r0, rows, susceptibility, infectious)
    return rows.rates[question]


def _solve(r0: float, rows: ContactRows, susceptibility: Array, infectious: Durations) -> float:
    def excess(log_rate: float) -> float:
        return reproduction_number(float(np.exp(log_rate)), rows, susceptibility, infectious) - r0

    greatest = reproduction_number(1e12, rows, susceptibility, infectious)
    if greatest == 0:
        raise ValueError(
            f"r0={r0:g} is out of reach: with susceptibility {susceptibility.tolist()} and layer weights "
            f"{dict(zip(rows.layers, rows.weights.tolist(), strict=True))} no contact transmits; it must be 0"
        )
    if r0 > 0.999 * greatest:
        raise ValueError(
            f"r0={r0:g} is out of reach on this network; it must be at most {0.999 * greatest:g}"
        )
    # Saturation only lowers R0 below what is linear in the rate: there the search begins.
    tiny = 1e-6
    low = np.log(0.999 * r0 * tiny / reproduction_number(tiny, rows, susceptibility, infectious))
    high = low + 0.5
    while excess(high) < 0:
        high += 2.0
    return float(np.exp(brentq(excess, low, high, xtol=1e-12)))
