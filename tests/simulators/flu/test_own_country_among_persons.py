"""A country of one's own among persons."""

import numpy as np
import pytest

from simulators import FluABM, FluODE

NAMES = ["0-4", "5-17", "18-64", "65+"]
PERSONS = np.array([60_000, 160_000, 600_000, 180_000])
SHARES = PERSONS / PERSONS.sum()
FLOWS = {
    # At least what people meet in households of the US sizes, where all members meet.
    "home": [[0.7, 0.5, 1.6, 0.1], [0.5, 2.0, 3.0, 0.2], [1.6, 3.0, 9.8, 0.7], [0.1, 0.2, 0.7, 1.25]],
    "school": [[0.3, 0.1, 0.2, 0], [0.1, 8.0, 0.8, 0], [0.2, 0.8, 0.6, 0], [0, 0, 0, 0]],
    "work": [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 15.0, 0.2], [0, 0, 0.2, 0]],
    "other": (20 * np.outer(SHARES, SHARES)).tolist(),
}
CONTACTS = {
    name: np.array(flow) * 1e5 / PERSONS[:, None] * (10 if name == "other" else 1)
    for name, flow in FLOWS.items()
}


def town(**options):
    given = {
        "persons": 4_000, "noise_variance": 1e-6, "groups": NAMES, "age_shares": PERSONS,
        "contacts": CONTACTS, "r0": 1.5, "budget": 0.2, **options,
    }  # fmt: skip
    return FluABM(**given)


def test_contacts_of_each_setting_are_those_given():
    network = town().population.network
    layers = {"home": "household", "school": "school", "work": "work", "other": "community"}
    for name, layer in layers.items():
        given = CONTACTS[name] * SHARES[:, None]
        achieved = network.contacts(layer) * SHARES[:, None]
        assert np.abs(achieved - given).sum() <= 0.1 * given.sum()


def test_ages_are_those_given_and_each_is_in_its_band():
    population = town().population
    assert population.sizes == pytest.approx(4_000 * SHARES, abs=1)
    assert (np.digitize(population.age, [5, 18, 65]) == population.group).all()


def test_r0_is_the_spectral_radius_of_the_next_generation_matrix():
    env = town(r0=1.5, infectious_period=[0, 0, 0, 1])
    model = env.model([0.1] * 4, seed=1)
    chance = 1 - np.exp(-model.rate * 4)
    assert chance * max(abs(np.linalg.eigvals(env.population.network.contact_matrix()))) == pytest.approx(1.5)


def test_equal_seeds_give_equal_seasons():
    one, other = town(), town()
    one.reset(3), other.reset(3)
    assert (one.step([0.1] * 4).values == other.step([0.1] * 4).values).all()


def test_its_ode_has_the_same_groups_and_budget():
    env = town()
    ode = FluODE(**env.counterpart("flu-ode"))
    assert ode.groups == tuple(NAMES)
    assert ode.r0 == pytest.approx(1.5)
    assert ode.policy_space.constraint.ub == pytest.approx(0.2)


def test_defaults_are_told():
    assert any("US of 2012" in line for line in town().findings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": ["young", "5-17", "18-64", "65+"]}, "'young' says no ages"),
        ({"groups": ["1-4", "5-17", "18-64", "65+"]}, "must ascend from age 0"),
        ({"groups": ["0-4", "5-17", "18-64", "65-80"]}, "must have no end"),
        ({"contacts": {k: v for k, v in CONTACTS.items() if k != "work"}}, "missing or strange: work"),
        ({"age_shares": None}, "population is missing"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(options, message):
    with pytest.raises(ValueError, match=message) as error:
        town(**options)
    assert "\n" not in str(error.value)
