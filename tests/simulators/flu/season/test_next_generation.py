"""R0 of a network whose groups differ in size, susceptibility and illness, person by person."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.sparse import csr_array

from simulators import ContactNetwork
from simulators.flu.season.durations import Durations
from simulators.flu.season.next_generation import reproduction_number, transmission_rate
from simulators.flu.season.transmission import contact_rows

GROUPS = ("a", "b", "c")
PERSONS = 70
GROUP = np.repeat([0, 1, 2], [10, 20, 40]).astype(np.int8)
WEIGHTS = {"home": 1.0, "work": 0.4}
SUSCEPTIBILITY = np.array([1.0, 0.3, 0.6])
CHANCES = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.5], [0.1, 0.2, 0.3, 0.4]])


def pairs(seed, share):
    first, second = np.triu_indices(PERSONS, 1)
    keep = np.random.default_rng(seed).random(len(first)) < share
    return first[keep].astype(np.int32), second[keep].astype(np.int32)


@pytest.fixture(scope="module")
def layers():
    return {"home": pairs(1, 0.05), "work": pairs(2, 0.2)}


@pytest.fixture(scope="module")
def rows(layers):
    matrices = {}
    for name, (first, second) in layers.items():
        met = np.zeros((PERSONS, PERSONS), dtype=np.int8)
        met[first, second] = met[second, first] = 1
        matrices[name] = csr_array(met)
    return contact_rows(ContactNetwork(matrices, WEIGHTS, GROUP, GROUPS))


def by_persons(layers, hazard):
    """Spectral radius of the mean number that one person of j infects in i, from every single contact."""
    sizes = np.bincount(GROUP)
    infected = np.zeros((3, 3))
    for name, (first, second) in layers.items():
        for infector, contact in [*zip(first, second, strict=True), *zip(second, first, strict=True)]:
            i, j = GROUP[contact], GROUP[infector]
            rate = hazard * WEIGHTS[name] * SUSCEPTIBILITY[i]
            chance = sum(p * (1 - np.exp(-rate * (d + 1))) for d, p in enumerate(CHANCES[j]))
            infected[i, j] += chance / sizes[j]
    return np.abs(np.linalg.eigvals(infected)).max()


@pytest.mark.parametrize("hazard", [0.01, 0.3, 5.0])
def test_r0_is_the_spectral_radius_of_infections_by_one_person(layers, rows, hazard):
    found = reproduction_number(hazard, rows, SUSCEPTIBILITY, Durations(CHANCES))
    assert found == pytest.approx(by_persons(layers, hazard), rel=1e-9)


def test_the_rate_of_an_r0_solves_it(layers, rows):
    rate = transmission_rate(1.5, rows, SUSCEPTIBILITY, Durations(CHANCES))
    assert rate == pytest.approx(brentq(lambda h: by_persons(layers, h) - 1.5, 1e-3, 10), rel=1e-6)


def test_the_mean_and_the_discount_of_a_duration_are_sums_over_its_days():
    found = Durations(CHANCES)
    assert found.mean == pytest.approx([1.0, 3.0, 3.0])
    hazards = np.array([0.0, 0.2, 1.7])
    by_hand = [
        [sum(p * (1 - np.exp(-h * (d + 1))) for d, p in enumerate(row)) for h in hazards] for row in CHANCES
    ]
    assert found.discounted(hazards) == pytest.approx(np.array(by_hand))
