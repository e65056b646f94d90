"""An age-stratified SIR model, integrated for many policies at once.

Notation: `S, I` susceptible and infected persons, `A` the integral of I (person-days of sickness), each
`(J, n)` with policies along the last axis, so that every operation runs over contiguous memory. `N_j` is
the population of group j, `beta_ij` the daily rate at which a fully infected group j would infect a
susceptible of group i.

    dS_i = - lambda_i S_i                       lambda_i = sum_j beta_ij I_j / N_j
    dI_i =   lambda_i S_i - (removal_i + deaths) I_i
    dA_i =   I_i

The removed follow from `R = R(0) + removal A` and those alive from `N_j = N_j(0) - deaths A_j`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulators.arrays import Array

BLOCK = 1000
"""Policies integrated together; more of them no longer fit in a core's cache."""


@dataclass(frozen=True, eq=False)
class Epidemic:
    """The end of an epidemic, and its course when asked for.

    Attributes
    ----------
    susceptible, infected : (J, n) array
        Persons on the last day.
    infected_days : (J, n) array
        Person-days spent infected, the integral of I over the whole time.
    days : (m,) array
        Times of `curve`, from 0; m = 0 unless recorded.
    curve : (m, J, n) array
        Persons infected at those times.
    """

    susceptible: Array
    infected: Array
    infected_days: Array
    days: Array
    curve: Array


def integrate(
    beta: Array,
    population: Array,
    susceptible: Array,
    infected: Array,
    removal: Array,
    *,
    days: float,
    n_steps: int,
    deaths: float = 0.0,
    record: bool = False,
) -> Epidemic:
    """Integrate the model by the classical Runge-Kutta method of order 4 with a fixed step.

    A policy's result is the same to the last bit whether it is integrated alone or among others: all is done
    element by element, and the sum over j in lambda always runs in the order of j. (A BLAS product would not
    promise that: it picks another kernel, and another order, for another number of columns.)

    Parameters
    ----------
    beta : (J, J) array
        Transmission rates per day; row = susceptible group.
    population, susceptible, infected : (J,), (J, n) and (J, n) array
        Persons on day 0.
    removal : (J, n) array
        Removals per infected person and day.
    deaths : float
        Deaths per infected person and day; the dead leave the population that people meet.

    Returns
    -------
    Epidemic
        Not finite, or negative, where the step was too long to be stable.
    """
    parts = [
        _integrate_block(
            beta / population,
            deaths / population,
            susceptible[:, start : start + BLOCK],
            infected[:, start : start + BLOCK],
            removal[:, start : start + BLOCK] + deaths,
            days / n_steps,
            n_steps,
            record,
        )
        for start in range(0, susceptible.shape[1], BLOCK)
    ]
    (S, I, A), curve = (np.concatenate(part, axis=2) for part in zip(*parts, strict=True))  # noqa: E741
    return Epidemic(S, I, A, np.linspace(0.0, days, n_steps + 1 if record else 0), curve)


def _integrate_block(
    beta_per_person: Array,
    deaths_per_person: Array,
    S0: Array,
    I0: Array,
    leaving: Array,
    h: float,
    n_steps: int,
    record: bool,
) -> tuple[Array, Array]:
    """The last (3, J, n) state of one block of policies and its (m, J, n) curve, if recorded.

    Few NumPy calls a stage matter more than anything else for one policy. So half the step is multiplied into
    the rates, A is kept in half steps, and each slope K is a half step's increment:

        Z2 = Y + K1,  Z3 = Y + K2,  Z4 = Y + 2 K3,  Y_next = (Z2 + 2 Z3 + Z4 - Y + K4) / 3
    """
    J, columns = S0.shape
    # einsum would sum a single column along memory, and so in another order: two columns at least.
    n = max(columns, 2)
    half = h / 2
    beta = -half * beta_per_person
    dying = np.ascontiguousarray(-half * deaths_per_person[:, None])
    with_deaths = bool(deaths_per_person.any())
    leave = np.ascontiguousarray(np.broadcast_to(-half * leaving, (J, n)))
    Y = np.zeros((3, J, n))
    Y[0], Y[1] = S0, I0
    Z2, Z3, Z4, K = (np.empty_like(Y) for _ in range(4))
    dS, dI, dA = K
    share = np.empty((J, n))
    curve = np.empty((n_steps + 1 if record else 0, J, n))
    third = 1.0 / 3.0

    def slope(state: Array) -> None:
        """Write half a step's increment at a state into K."""
        S, I, A = state  # noqa: E741
        met = I
        if with_deaths:
            np.multiply(A, dying, out=share)
            np.add(share, 1.0, out=share)
            np.divide(I, share, out=share)
            met = share
        np.einsum("ij,jn->in", beta, met, out=dS)
        np.multiply(dS, S, out=dS)
        np.multiply(leave, I, out=dI)
        np.subtract(dI, dS, out=dI)
        np.copyto(dA, I)

    # Too long a step overflows; the caller finds numbers that are not finite, which says enough.
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(n_steps):
            if record:
                curve[k] = Y[1]
            slope(Y)
            np.add(Y, K, out=Z2)
            slope(Z2)
            np.add(Y, K, out=Z3)
            slope(Z3)
            np.add(Y, K, out=Z4)
            np.add(Z4, K, out=Z4)
            slope(Z4)
            np.add(Z2, Z3, out=Z2)
            np.add(Z2, Z3, out=Z2)
            np.add(Z2, Z4, out=Z2)
            np.subtract(Z2, Y, out=Z2)
            np.add(Z2, K, out=Z2)
            np.multiply(Z2, third, out=Y)
    if record:
        curve[n_steps] = Y[1]
    Y[2] *= half
    return Y[:, :, :columns], curve[:, :, :columns]
