"""An epidemic with a latent period, waning immunity and hospital beds, integrated for many policies at once.

Where there is none of them, `simulators.flu.sir` is the same model and faster. Notation: `S, E, I`
susceptible, latent and infectious persons, `V` immune by vaccine, `R` immune by illness, `A` the integral of
I (person-days of sickness), `C` all who were infected since day 0, `H` persons in hospital, each `(J, n)`
with policies along the last axis. `N_j` is the population of group j, which nobody leaves, and `beta_ij` the
daily rate at which a fully infected group j would infect a susceptible of group i.

    lambda_i = sum_j beta_ij I_j / N_j
    dS_i = - lambda_i S_i + R_i / waning + V_i / vaccine_waning
    dE_i =   lambda_i S_i - E_i / latent
    dI_i =   E_i / latent - removal I_i
    dV_i = - V_i / vaccine_waning
    dH_i =   hospitalisation_i E_i / latent - H_i / stay
    dA_i =   I_i,   dC_i = lambda_i S_i,   R_i = N_i - S_i - E_i - I_i - V_i

Without a latent period lambda_i S_i takes the place of E_i / latent. The first infected are infectious.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simulators.arrays import Array

BLOCK_NUMBERS = 4_000_000
"""Numbers of a course that are kept together; policies are integrated in blocks that take no more."""
BLOCK = 500
"""Policies integrated together, at most."""
STATES = "SEIVHAC"


class Stages(NamedTuple):
    """What there is besides infection and removal: times in days, 0 or infinite where there is no such stage.

    Attributes
    ----------
    latent : float
        Mean days from infection to infectiousness; 0: none.
    waning, vaccine_waning : float
        Mean days that immunity by illness, and by vaccine, lasts; infinite: for ever.
    hospitalisation : (J,) array or None
        Share of the infected who go to hospital when they become infectious; None: nobody.
    stay : float
        Mean days in hospital.
    """

    latent: float = 0.0
    waning: float = np.inf
    vaccine_waning: float = np.inf
    hospitalisation: Array | None = None
    stay: float = 1.0


@dataclass(frozen=True, eq=False)
class Course:
    """An epidemic: its end, and what was asked for of its course.

    Attributes
    ----------
    infected_days, infections : (J, n) array
        Person-days infectious, and persons infected after day 0, over the whole time.
    least : (J, n) array
        The fewest persons of any compartment on the last day; below 0, or not finite, where the step was too
        long to be stable.
    peak_beds : (J, n) array
        Persons in hospital when most of all groups together are.
    days : (m,) array
    curves : dict of str to (m, J, n) array
        The states that were recorded, such as "I", at those times.
    """

    infected_days: Array
    infections: Array
    least: Array
    peak_beds: Array
    days: Array
    curves: dict[str, Array]


def integrate(
    beta: Array,
    population: Array,
    susceptible: Array,
    infected: Array,
    removal: float,
    stages: Stages,
    *,
    days: float,
    n_steps: int,
    record: str = "",
) -> Course:
    """Integrate the model by the classical Runge-Kutta method of order 4 with a fixed step.

    As in `simulators.flu.sir` a policy's result is the same to the last bit alone and among others.

    Parameters
    ----------
    beta : (J, J) array
        Transmission rates per day; row = susceptible group.
    population, susceptible, infected : (J,), (J, n) and (J, n) array
        Persons on day 0; the others are immune by vaccine.
    removal : float
        Removals per infectious person and day.
    stages : Stages
    record : str, default ""
        The letters of the states whose curves are wanted.
    """
    kept = record + ("H" if stages.hospitalisation is not None and "H" not in record else "")
    n, J = susceptible.shape[1], len(population)
    size = min(BLOCK, max(2, BLOCK_NUMBERS // max(1, len(kept) * n_steps * J)))
    times = np.linspace(0.0, days, n_steps + 1)
    slope = _slope(beta / population, population, removal, stages)
    parts = []
    for start in range(0, n, size):
        block = slice(start, start + size)
        columns = len(susceptible[0, block])
        wide = max(columns, 2)  # einsum sums a single column in another order
        Y = np.zeros((len(STATES), J, wide))
        Y[0], Y[2] = susceptible[:, block], infected[:, block]
        Y[3] = np.maximum(population[:, None] - Y[0] - Y[2], 0.0)
        curves = _march(Y, slope, days / n_steps, n_steps, [STATES.index(letter) for letter in kept])
        beds = _at_peak(curves[kept.index("H")]) if "H" in kept else np.zeros((J, wide))
        removed = population[:, None] - Y[0] - Y[1] - Y[2] - Y[3]
        least = np.minimum(Y[:4].min(axis=0), removed)
        found = (Y[5], Y[6], least, beds, *(curves[kept.index(letter)] for letter in record))
        parts.append([one[..., :columns] for one in found])
    A, C, least, beds, *recorded = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return Course(A, C, least, beds, times, dict(zip(record, recorded, strict=True)))


def _slope(
    beta_per_person: Array, population: Array, removal: float, stages: Stages
) -> Callable[[Array, Array], None]:
    """What writes the slopes at a state (7, J, n) into another array."""
    N = population[:, None]
    lost = 0.0 if np.isinf(stages.waning) else 1 / stages.waning
    lost_by_vaccine = 0.0 if np.isinf(stages.vaccine_waning) else 1 / stages.vaccine_waning
    risk = None if stages.hospitalisation is None else stages.hospitalisation[:, None]

    def write(Y: Array, into: Array) -> None:
        S, E, I, V, H, _, _ = Y  # noqa: E741
        dS, dE, dI, dV, dH, dA, dC = into
        np.einsum("ij,jn->in", beta_per_person, I, out=dC)
        np.multiply(dC, S, out=dC)
        np.negative(dC, out=dS)
        if stages.latent:
            onset = E / stages.latent
            np.subtract(dC, onset, out=dE)
        else:
            onset = dC
        np.multiply(I, -removal, out=dI)
        np.add(dI, onset, out=dI)
        if lost:
            dS += lost * (N - S - E - I - V)
        if lost_by_vaccine:
            np.multiply(V, -lost_by_vaccine, out=dV)
            np.subtract(dS, dV, out=dS)
        if risk is not None:
            np.multiply(onset, risk, out=dH)
            dH -= H / stages.stay
        np.copyto(dA, I)

    return write


def _march(Y: Array, slope: Callable[[Array, Array], None], h: float, n_steps: int, kept: list[int]) -> Array:
    """Carry a state (7, J, n) to the end, in place; the curves (k, m, J, n) of the states that are kept."""
    curves = np.empty((len(kept), n_steps + 1 if kept else 0, *Y.shape[1:]))
    K1, K2, K3, K4 = np.zeros((4, *Y.shape))
    with np.errstate(over="ignore", invalid="ignore"):  # the caller finds numbers that are not finite
        for k in range(n_steps):
            for i, state in enumerate(kept):
                curves[i, k] = Y[state]
            slope(Y, K1)
            slope(Y + h / 2 * K1, K2)
            slope(Y + h / 2 * K2, K3)
            slope(Y + h * K3, K4)
            K2 += K3
            K2 *= 2
            K2 += K1
            K2 += K4
            K2 *= h / 6
            Y += K2
    for i, state in enumerate(kept):
        curves[i, n_steps] = Y[state]
    return curves


def _at_peak(curve: Array) -> Array:
    """The groups' values (J, n) at the time when their total of a course (m, J, n) is greatest.

    Between steps the three values around the greatest are joined by a parabola, the total's as the groups':
    so what a policy does is smooth, and the groups add up to the total's peak.
    """
    total, columns = curve.sum(axis=1), np.arange(curve.shape[2])
    top = np.argmax(total, axis=0)
    middle = np.clip(top, 1, max(1, len(total) - 2))
    if len(total) < 3:
        return np.ascontiguousarray(curve[top, :, columns].T)
    a, b, c = (total[middle + i, columns] for i in (-1, 0, 1))
    bend = a - 2 * b + c
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((top == middle) & (bend < 0), 0.5 * (a - c) / bend, (top - middle).astype(float))
    weights = t * (t - 1) / 2, 1 - t * t, t * (t + 1) / 2
    around = (curve[middle + i, :, columns].T for i in (-1, 0, 1))
    beds: Array = np.sum([w * one for w, one in zip(weights, around, strict=True)], axis=0)
    return beds
