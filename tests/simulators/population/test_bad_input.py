"""A user's mistake about the population is one line that names the parameter."""

import numpy as np
import pytest

from simulators.population.population import build_population

SETTINGS = ("household", "school", "work", "community")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"persons": 0}, "persons=0 must be a whole number >= 1"),
        ({"persons": 10**12}, "persons=1000000000000 must be at most 100,000,000"),
        ({"persons": -5}, "persons=-5 must be a whole number >= 1"),
        ({"persons": 10.5}, "persons=10.5 must be a whole number >= 1"),
        ({"groups": 7}, "groups=7 must be one of 5, 9"),
        ({"age_shares": [1, 1, 1, 0, 1]}, "age_shares of group '65-69' is 0; it must be a finite number > 0"),
        ({"age_shares": [1, 1]}, "age_shares must be one number, or 5 of them"),
        ({"age_shares": [96, 1, 1, 1, 1]}, "age_shares: 96% of the people are under 20"),
        ({"contacts": "mistry-2021-oregn"}, "contacts='mistry-2021-oregn' must be one of"),
        ({"contacts": np.ones((4, 4))}, "contacts must be a 5 x 5 matrix"),
        ({"contacts": -np.ones((5, 5))}, "contacts: row '0-19', column '0-19' is -1"),
        ({"contacts": np.zeros((5, 5))}, "contacts: every entry is 0"),
        (
            {"contacts": {"home": np.ones((5, 5))}},
            "contacts has the settings 'home'; it must have 'household'.* zeros where nobody meets",
        ),
        (
            {"contacts": dict.fromkeys(SETTINGS, np.full((5, 5), np.nan))},
            r"contacts\['household'\]: row '0-19', column '0-19' is nan",
        ),
        ({"household_sizes": [0.5, 0.6]}, "household_sizes=.* must add up to 1, not 1.1"),
        ({"household_sizes": [1.2, -0.2]}, "household_sizes of group '1' is 1.2; .* <= 1"),
        ({"class_size": 0}, "class_size=0 must be a whole number >= 1"),
        ({"school_size": 10}, "school_size=10 must be a whole number >= 25"),
        ({"team_size": 2.5}, "team_size=2.5 must be a whole number >= 1"),
        ({"largest_workplace": 10**12}, "largest_workplace=1000000000000 must be at most 100,000,000"),
        ({"largest_workplace": 0}, "largest_workplace=0 must be a whole number >= 1"),
        ({"weights": {"schools": 1}}, "weights='schools' must be one of 'household'"),
        ({"weights": {"school": -1}}, r"weights\['school'\]=-1 must be a finite number >= 0"),
        ({"tolerance": 1.5}, "tolerance=1.5 must be a share, 0..1"),
        ({"tolerance": -0.1}, "tolerance=-0.1 must be a finite number >= 0"),
        ({"seed": -1}, "seed=-1 must be a whole number >= 0"),
    ],
)
def test_a_mistake_is_told_in_one_line(options, said):
    with pytest.raises(ValueError, match=f"^{said}") as error:
        build_population(**{"persons": 200, **options})
    assert "\n" not in str(error.value)


def test_contacts_with_more_people_than_there_are_cannot_be_matched():
    with pytest.raises(
        ValueError, match=r"^contacts cannot be matched: \d+\.\d% .*tolerance=0.1.* \d+ a day instead of \d+$"
    ):
        build_population(200, contacts=np.full((5, 5), 90.0), age_shares=[1] * 5)


def test_fewer_contacts_than_people_who_live_together_cannot_be_matched():
    no_home = {"household": np.zeros((5, 5)), **dict.fromkeys(SETTINGS[1:], np.full((5, 5), 0.5))}
    with pytest.raises(
        ValueError, match=r"^contacts cannot be matched: .* in household, .* instead of 0$"
    ) as error:
        build_population(1000, contacts=no_home)
    told = float(str(error.value).split("%")[0].split()[-1]) / 100
    people = build_population(1000, contacts=no_home, tolerance=1.0)
    table = people.network.achieved().query("setting != 'all' and group != 'all' and met != 'all'")
    sizes = table.group.map(dict(zip(people.groups, people.sizes, strict=True)))
    amiss = (sizes * (table.achieved - table.asked).abs()).sum() / (sizes * table.asked).sum()
    assert told == pytest.approx(amiss, abs=0.0006)


def test_a_small_distance_is_not_told_as_none():
    with pytest.raises(ValueError, match=r"^contacts cannot be matched: 0\.[1-9]\d*% .*tolerance=0\)"):
        build_population(2_000, tolerance=0)
