"""What holds on which day of a season, and that everything drawn for a person is drawn by itself."""

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from simulators import ContactNetwork, FluModel, FluODE, Population, build_population
from simulators.flu.season.durations import durations
from simulators.flu.season.start import whole_numbers
from simulators.population import survey

GROUPS = survey.AGES[5].groups
ALWAYS_ILL = [0] * 99 + [1]


def crowd(persons=400, layer="community"):
    """Persons of one group who all meet each other."""
    met = np.ones((persons, persons), dtype=np.int8) - np.eye(persons, dtype=np.int8)
    group = np.ones(persons, dtype=np.int8)
    nowhere = np.full(persons, -1, dtype=np.int32)
    return Population(
        age=np.full(persons, 30, dtype=np.int8),
        group=group,
        groups=GROUPS,
        household=np.zeros(persons, dtype=np.int32),
        school_class=nowhere,
        workplace=nowhere,
        network=ContactNetwork({layer: csr_array(met)}, {layer: 1.0}, group, GROUPS),
    )


@pytest.fixture(scope="module")
def people():
    return crowd()


@pytest.fixture(scope="module")
def town():
    return build_population(8_000, seed=1)


def days(population, **options):
    """The days on which persons were exposed who were not infected at the start."""
    start = {
        "r0": 25,
        "infectious_period": ALWAYS_ILL,
        "initial_infected": [0, 10, 0, 0, 0],
        "susceptibility": 1,
    }
    model = FluModel(population, days=12, seed=1, **{**start, **options})
    model.run_model()
    exposed = model.persons()["exposed_day"].dropna().astype(int)
    return exposed[exposed > 0].to_numpy()


def test_a_leaky_vaccine_protects_from_its_first_day_on(people):
    infected = days(people, coverage=1, efficacy=1, vaccine="leaky", vaccination_day=5)
    assert set(infected) == {1, 2, 3, 4}


def test_schools_are_closed_from_the_closure_day_for_as_many_days():
    found = days(crowd(layer="school"), school_closure=3, closure_day=4)
    assert set(found) >= {1, 2, 3, 7, 8} and not set(found) & {4, 5, 6}


def test_a_leaky_vaccine_lowers_the_hazard_by_its_efficacy(people):
    """Of 250 within reach, the share infected on day 1 is 1 - exp(-H), with half the hazard 1 - exp(-H/2)."""

    def share(efficacy):
        infected = days(
            people,
            coverage=1,
            efficacy=efficacy,
            vaccine="leaky",
            r0=300,
            initial_infected=[0, 150, 0, 0, 0],
        )
        return (infected == 1).mean() * len(infected) / 250

    hazard = -np.log1p(-share(0.0))
    assert 1.5 < hazard < 3
    assert share(0.5) == pytest.approx(-np.expm1(-0.5 * hazard), abs=0.1)
    assert share(0.8) == pytest.approx(-np.expm1(-0.2 * hazard), abs=0.1)


def test_an_all_or_nothing_vaccine_leaves_the_share_it_does_not_take_as_susceptible_as_before(people):
    taken = days(people, coverage=1, efficacy=0.6, r0=300)
    assert len(taken) / 390 == pytest.approx(0.4, abs=3 * np.sqrt(0.24 / 390))


@pytest.mark.parametrize("period", [3.0, [0.1, 0.4, 0.3, 0.2]])
def test_latent_and_sick_days_are_drawn_apart(town, period):
    model = FluModel(town, latent_period=period, infectious_period=period, r0=2.5, seed=3)
    model.run_model()
    ill = model.persons().dropna()
    ill = ill[(ill["exposed_day"] > 0) & (ill["recovery_day"] < model.day)].astype(
        {name: int for name in ("exposed_day", "infectious_day", "recovery_day")}
    )
    latent, sick = ill["infectious_day"] - ill["exposed_day"], ill["recovery_day"] - ill["infectious_day"]
    assert len(ill) > 2000
    assert abs(stats.spearmanr(latent, sick).statistic) < 4 / np.sqrt(len(ill))
    expected = 3.0 if period == 3.0 else np.arange(1, 5) @ period
    assert latent.mean() == pytest.approx(expected, rel=0.08)


def test_who_is_vaccinated_is_drawn_apart_from_whom_the_vaccine_protects_and_who_starts_infected(town):
    options = {
        "coverage": 0.4,
        "efficacy": 0.5,
        "r0": 8,
        "seed": 5,
        "initial_infected": [300, 500, 300, 60, 60],
    }
    model = FluModel(town, **options)
    model.run_model()
    persons = model.persons()
    seeds = persons["exposed_day"].eq(0).fillna(False).to_numpy(dtype=bool)
    given = persons["vaccinated"].to_numpy()
    n = seeds.sum()
    assert given[seeds].mean() == pytest.approx(0.4, abs=4 * np.sqrt(0.24 / n))
    reached = persons["exposed_day"].notna().to_numpy()
    assert reached[~given].mean() > 0.95  # so that nearly all whom the vaccine does not protect are infected
    assert reached[given & ~seeds].mean() == pytest.approx(0.5, abs=0.03)


def test_the_immunity_that_is_left_is_drawn_apart_from_the_illness(town):
    model = FluModel(town, r0=2.5, seed=3)
    model.run_model()
    left = model.still_immune(0.3)
    had = model.persons()["exposed_day"].notna().to_numpy()
    assert not left[~had].any()
    assert left[had].mean() == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / had.sum()))
    ill = model.persons()[had]
    sick = (ill["recovery_day"] - ill["infectious_day"]).astype("float").to_numpy()
    known = np.isfinite(sick)
    r = stats.spearmanr(left[had][known], sick[known]).statistic
    assert abs(r) < 4 / np.sqrt(known.sum())


def test_r0_is_how_many_one_person_infects_among_the_susceptible():
    """The first generation of ten among 2,000 who all meet: each infects about R0 of them."""
    people = crowd(2_000)
    first = []
    for seed in range(8):
        model = FluModel(
            people, r0=3, susceptibility=1, initial_infected=[0, 10, 0, 0, 0], infectious_period=2,
            latent_period=[0] * 49 + [1], days=40, seed=seed,
        )  # fmt: skip
        model.run_model()
        first.append(model.groups[1].infections - 10)
    assert np.mean(first) == pytest.approx(30, abs=4 * np.sqrt(30 / 8) * 2)


def test_contacts_of_a_lighter_layer_transmit_at_their_weight():
    """One person meets half of all at home, half at work: on day 1 it infects 1 - exp(-rate w) of each."""
    n = 4_000
    layers, half = {}, n // 2
    for name, first, last in (("home", 1, half), ("work", half, n)):
        met = np.zeros((n, n), dtype=np.int8)
        met[0, first:last] = met[first:last, 0] = 1
        layers[name] = csr_array(met)
    group, nowhere = np.ones(n, dtype=np.int8), np.full(n, -1, dtype=np.int32)
    group[0] = 0
    weights = {"home": 1.0, "work": 0.3}
    people = Population(
        age=np.full(n, 30, dtype=np.int8),
        group=group,
        groups=GROUPS,
        household=np.zeros(n, dtype=np.int32),
        school_class=nowhere,
        workplace=nowhere,
        network=ContactNetwork(layers, weights, group, GROUPS),
    )
    model = FluModel(
        people,
        r0=20,
        susceptibility=1,
        initial_infected=[1, 0, 0, 0, 0],
        infectious_period=[1.0],
        days=1,
        seed=0,
    )
    model.run_model()
    infected = model.persons()["exposed_day"].eq(1).fillna(False).to_numpy()
    home, work = infected[1:half].mean(), infected[half:].mean()
    assert 0.2 < home < 0.9
    assert np.log1p(-work) / np.log1p(-home) == pytest.approx(0.3, abs=0.06)


@pytest.mark.parametrize("first", [0, 3])
def test_doses_are_given_and_shown_on_the_first_day_of_protection(town, first):
    model = FluModel(town, coverage=0.5, vaccination_day=first, days=5, seed=0)
    for day in range(1, 6):
        before = sum(group.doses for group in model.groups)
        assert (model.persons()["vaccinated"].sum() > 0) == (day - 1 >= first)
        model.step()
        assert (sum(group.doses for group in model.groups) > before) == (day == max(first, 1))


def test_unless_told_otherwise_a_season_begins_with_the_shares_of_the_ode():
    large, ode = build_population(30_000, seed=0), FluODE()
    model = FluModel(large, seed=0)
    expected = ode.initial_infected / ode.population * large.sizes
    infected = np.array([group.infections for group in model.groups])
    assert np.abs(infected - expected).max() < 1 and infected.sum() == round(expected.sum())
    assert infected.sum() / 30_000 == pytest.approx(0.0034, abs=2e-4)
    small = FluModel(build_population(8_000, seed=1), seed=0)  # of whom 0.34 % would be 27
    fifty = np.array([group.infections for group in small.groups])
    assert fifty.sum() == 50
    assert fifty / 50 == pytest.approx(infected / infected.sum(), abs=0.06)


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([0.6, 0.7, 0.2, 1.5], [1, 1, 0, 1]),
        ([0.4, 0.3, 0.3], [1, 0, 0]),
        ([0.2, 0.2], [0, 0]),
        ([2.5, 0.25, 0.25], [3, 0, 0]),
        ([3.0, 5.0], [3, 5]),
    ],
)
def test_whole_numbers_go_to_the_largest_remainders(values, numbers):
    assert whole_numbers(np.array(values)).tolist() == numbers


@pytest.mark.parametrize("period", [4.0, 1.0, 365_000, [0.2, 0.8], stats.gamma(4, scale=0.5)])
def test_the_chances_of_a_period_add_up_to_one(period):
    np.testing.assert_allclose(durations("p", period, 2).probabilities.sum(axis=1), 1.0, atol=1e-13)
