"""Made-up countries for tests."""

import numpy as np

from simulators import FluODE
from simulators.country import Country


def country(J, seed=0, **columns):
    """J groups whose contacts are reciprocal, about 9 a day."""
    rng = np.random.default_rng(seed)
    persons = rng.uniform(1e5, 1e6, J)
    flows = rng.uniform(0.2, 2.0, (J, J))
    flows = flows + flows.T
    contacts = flows / persons[:, None]
    contacts *= 9 / (persons @ contacts.sum(axis=1) / persons.sum())
    return Country(tuple(f"band {j}" for j in range(J)), persons, contacts, **columns)


def ode(J=3, seed=0, columns=None, **options):
    """A flu season in such a country."""
    given = {"r0": 1.6, "budget": "none", **options}
    return FluODE(groups=country(J, seed, **(columns or {})), **given)
