"""A town of one's own country among persons."""

import numpy as np
import pytest

from simulators import FluABM

SHARES = [0.4, 0.3, 0.15, 0.05, 0.1]
SIZES = [0.1, 0.2, 0.2, 0.2, 0.2, 0.1]


def town(**options):
    given = {"persons": 2_000, "noise_variance": 1e-6, **options}
    return FluABM(**given)


def test_ages_and_households_are_those_asked_for():
    population = town(age_shares=SHARES, household_sizes=SIZES).population
    assert population.sizes == pytest.approx(2_000 * np.array(SHARES), abs=1)
    sizes = np.bincount(np.bincount(population.household))[1:]
    assert sizes / sizes.sum() == pytest.approx(SIZES, abs=0.02)


def test_the_budget_is_one_of_the_towns_doses():
    env = town(age_shares=SHARES)
    assert env.policy_space.constraint.A[0] == pytest.approx(SHARES, abs=1e-3)


def test_classes_and_teams_are_no_larger_than_asked_for():
    default, small = town().population, town(class_size=10, team_size=5, largest_workplace=50).population
    assert np.bincount(small.workplace[small.workplace >= 0]).max() <= 50
    assert small.school_class.max() > default.school_class.max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"age_shares": [0.5, 0.5]}, "age_shares must be one number, or 5"),
        ({"household_sizes": [0.5, 0.4]}, "household_sizes=.* must add up to 1"),
        ({"class_size": 0}, "class_size=0"),
    ],
)
def test_a_town_that_cannot_be_is_refused_in_one_line(options, message):
    with pytest.raises(ValueError, match=message):
        town(**options)
