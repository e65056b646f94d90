"""The flu model against the ODE and against what must be so."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from simulators import FluODE
from simulators.flu.season.model import FluModel
from simulators.population import survey
from simulators.population.network import ContactNetwork, symmetric
from simulators.population.pairs import key
from simulators.population.population import Population, build_population

MISTRY = survey.CONTACTS["mistry-2021-oregon"][5]
SHARES = (0.254, 0.395, 0.210, 0.046, 0.094)
GROUPS = survey.AGES[5].groups


def town(group, *pairs, layer="community"):
    """Persons of given groups who meet in given pairs, all in one household."""
    group = np.array(group, dtype=np.int8)
    ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    nowhere = np.full(len(group), -1, dtype=np.int32)
    contacts = symmetric(len(group), key(ends[:, 0], ends[:, 1], len(group)))
    return Population(
        age=np.array([10, 30, 55, 67, 75], dtype=np.int8)[group],
        group=group,
        groups=GROUPS,
        household=np.zeros(len(group), dtype=np.int32),
        school_class=nowhere,
        workplace=nowhere,
        network=ContactNetwork({layer: contacts}, {layer: 1.0}, group, GROUPS),
    )


def mixed(N, contacts, shares, seed):
    """N persons who meet at random, about `contacts` (J, J) a day by group."""
    rng = np.random.default_rng(seed)
    sizes = np.round(N * np.asarray(shares) / np.sum(shares)).astype(int)
    starts = np.cumsum([0, *sizes])
    keys = []
    for i in range(len(sizes)):
        for j in range(i, len(sizes)):
            meetings = rng.poisson(sizes[i] * contacts[i][j] * (0.5 if i == j else 1))
            a = rng.integers(starts[i], starts[i + 1], meetings)
            b = rng.integers(starts[j], starts[j + 1], meetings)
            low, high = np.minimum(a, b)[a != b], np.maximum(a, b)[a != b]
            keys.append(low * starts[-1] + high)
    pairs = np.unique(np.concatenate(keys))
    group = np.repeat(np.arange(len(sizes)), sizes)
    return town(group, np.stack(np.divmod(pairs, starts[-1]), axis=1))


@pytest.fixture(scope="module")
def small():
    return build_population(4_000, seed=2)


@pytest.fixture(scope="module")
def large_and_mixed():
    return mixed(60_000, 5 * MISTRY, SHARES, seed=0)


def season(population, **options):
    model = FluModel(population, **options)
    model.run_model()
    return model


def attack(model):
    return np.array([group.attack_rate for group in model.groups])


def counts(model):
    return [(group.susceptible, group.exposed, group.infectious, group.recovered) for group in model.groups]


@pytest.mark.parametrize("coverage", [np.zeros(5), np.array([0.5, 0.2, 0.3, 0, 0])])
@pytest.mark.parametrize("period", [4.0, [0, 0, 0, 1]])
def test_a_large_well_mixed_population_has_the_attack_rates_of_the_ode(large_and_mixed, coverage, period):
    """Within 0.02 in each group: the noise of 60,000 persons, who have 60 contacts, not infinitely many."""
    sizes, seeds = large_and_mixed.sizes, np.round(0.01 * large_and_mixed.sizes)
    ode = FluODE(
        contacts=large_and_mixed.network.contacts("community"),
        population=sizes,
        initial_infected=seeds,
        r0=1.67,
        budget=None,
    )
    model = season(
        large_and_mixed, coverage=coverage, initial_infected=seeds, r0=1.67, infectious_period=period, seed=5
    )
    expected = ode.step(coverage)
    assert attack(model) == pytest.approx(expected.info["attack_rate"], abs=0.02)
    sick_days = sum(group.sick_days for group in model.groups) / large_and_mixed.persons
    assert sick_days == pytest.approx(ode.expected([coverage]).sum(), abs=0.08)


def test_an_epidemic_needs_a_reproduction_number_above_one(large_and_mixed):
    seeds = np.array([20, 20, 20, 5, 5])
    totals = {
        r0: sum(
            group.infections
            for group in season(large_and_mixed, r0=r0, initial_infected=seeds, seed=1).groups
        )
        for r0 in (0.5, 0.8, 1.3)
    }
    assert 70 < totals[0.5] < 4 * 70  # about 70 / (1 - R0)
    assert totals[0.8] < 10 * 70
    assert totals[1.3] > 0.2 * large_and_mixed.persons


def test_nothing_is_transmitted_at_r0_zero(small):
    model = season(small, r0=0, seed=0)
    assert sum(group.infections for group in model.groups) == 50
    assert counts(model) == [(g.persons - g.infections, 0, 0, g.infections) for g in model.groups]


@pytest.mark.parametrize("scale", [2.0**900, 2.0**-900])
def test_only_the_ratios_of_susceptibilities_and_of_layer_weights_count(small, scale):
    usual = season(small, seed=1)
    scaled = season(small, susceptibility=scale * survey.AGES[5].susceptibility, seed=1)
    assert scaled.persons().equals(usual.persons())
    network = replace(small.network, weights=dict.fromkeys(small.network.weights, scale))
    assert season(replace(small, network=network), seed=1).persons().equals(usual.persons())


def test_coverage_that_is_not_given_is_nobodys(small):
    assert season(small, coverage=None, seed=1).persons().equals(season(small, coverage=0, seed=1).persons())


@pytest.mark.parametrize("persons", [40, 400])
def test_a_town_too_small_for_the_initially_infected_is_warned_of(persons):
    small_town = build_population(persons)
    with pytest.warns(UserWarning, match=f"of {persons} persons are infected on day 0, more than a tenth"):
        FluModel(small_town)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FluModel(small_town, initial_infected=1)
        FluModel(build_population(500))


def test_model_groups_and_population_show_themselves_in_a_line():
    pair = town([1, 0], (0, 1))
    model = FluModel(pair, r0=0, initial_infected=[0, 1, 0, 0, 0], seed=0)
    model.step()
    assert repr(model) == "FluModel(persons=2, day=1, days=365, infectious=1)"
    assert repr(model.groups[1]) == "AgeGroup('20-49', persons=1, infectious=1)"
    assert repr(pair) == "Population(persons=2, households=1)"
    assert repr(pair.network) == "ContactNetwork(persons=2, community=1)"


@pytest.mark.parametrize("vaccine", ["leaky", "all-or-nothing"])
def test_full_coverage_with_full_efficacy_leaves_only_the_initially_infected(small, vaccine):
    model = season(small, coverage=1, efficacy=1, vaccine=vaccine, seed=0)
    assert sum(group.infections for group in model.groups) == 50
    assert sum(group.doses for group in model.groups) == small.persons


def test_either_vaccine_prevents_infections_and_a_useless_one_changes_nothing(small):
    none, leaky, all_or_nothing, useless = (
        season(small, seed=3, **options).persons()["exposed_day"]
        for options in (
            {},
            {"coverage": 0.6, "vaccine": "leaky"},
            {"coverage": 0.6},
            {"coverage": 0.6, "efficacy": 0},
        )
    )
    assert none.equals(useless)
    assert leaky.count() < 0.8 * none.count()
    assert all_or_nothing.count() < 0.8 * none.count()


def test_one_person_may_be_ill_and_infects_nobody():
    model = season(town([1]), initial_infected=[0, 1, 0, 0, 0], infectious_period=[0, 0, 1], seed=0)
    assert counts(model)[1] == (0, 0, 0, 1)
    assert model.groups[1].sick_days == 3
    assert attack(model).tolist() == [0, 1, 0, 0, 0]


def test_an_isolated_household_is_infected_only_from_within():
    household = town([0, 0, 1, 1, 0, 0], (0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5))
    ever = np.zeros(6)
    for seed in range(40):
        model = season(household, r0=1.9, initial_infected=[0, 1, 0, 0, 0], susceptibility=1, seed=seed)
        infected = model.persons()["exposed_day"].notna().to_numpy()
        assert not (infected[:3].any() and infected[3:].any())
        ever += infected
    assert (ever > 0).all()


def test_people_are_conserved_every_day(small):
    model = FluModel(small, seed=4, coverage=0.3)
    persons = [group.persons for group in model.groups]
    while model.running:
        model.step()
        assert [sum(states) for states in counts(model)] == persons
        assert min(min(states) for states in counts(model)) >= 0


def test_the_persons_are_those_that_the_groups_count(small):
    model = FluModel(small, seed=4, coverage=[0.5, 0, 0, 0, 0.2], immune=np.arange(4000) % 10 == 0)
    for _ in range(30):
        model.step()
    persons = model.persons()
    table = persons.groupby(["group", "state"], observed=False).size().unstack()
    assert table.to_numpy().tolist() == [list(states) for states in counts(model)]
    assert persons.groupby("group", observed=False)["vaccinated"].sum().tolist() == [
        g.doses for g in model.groups
    ]
    assert (persons["infectious_day"] > persons["exposed_day"])[persons["exposed_day"] >= 0].all()
    assert (persons["exposed_day"] == -1).sum() == 400


def test_an_infectious_period_of_certain_length_makes_that_many_sick_days(small):
    model = season(small, seed=1, infectious_period=[0, 0, 0, 0, 1], latent_period=[0, 1])
    assert [g.sick_days for g in model.groups] == [5 * g.infections for g in model.groups]
    persons = model.persons().dropna()
    later = persons[persons["exposed_day"] > 0]
    assert set(later["infectious_day"] - later["exposed_day"]) == {2}
    assert set(persons["recovery_day"] - persons["infectious_day"]) == {5}


def test_treatment_shortens_the_illness_of_the_group_treated(small):
    model = season(small, treatment=[1.0, 0.25, 0.25, 0.25, 0.25], seed=1)
    assert model.groups[0].sick_days == model.groups[0].infections
    assert model.groups[1].sick_days == pytest.approx(4 * model.groups[1].infections, rel=0.2)


def test_a_closed_school_transmits_nothing():
    pupils = town([0] * 30, *[(a, b) for a in range(30) for b in range(a)], layer="school")
    start = {
        "r0": 20,
        "susceptibility": 1,
        "initial_infected": [1, 0, 0, 0, 0],
        "infectious_period": [0] * 9 + [1],
    }
    day = season(pupils, school_closure=5, closure_day=1, seed=0, **start).persons()["exposed_day"]
    assert day.nsmallest(2).tolist()[1] == 6
    opened = season(pupils, seed=0, **start).persons()["exposed_day"]
    assert opened.nsmallest(2).tolist()[1] <= 3
    late = season(pupils, school_closure=100, closure_day=4, seed=0, **start).persons()["exposed_day"]
    assert late[late < 4].equals(opened[opened < 4])
    assert (late.dropna() < 4).all()


def test_two_seasons_with_one_seed_differ_less_than_two_with_different_seeds(small):
    def difference(seed, other):
        a, b = (season(small, coverage=x, seed=s) for x, s in ((0.1, seed), (0.12, other)))
        return attack(a) @ small.sizes - attack(b) @ small.sizes

    common = [difference(seed, seed) for seed in range(15)]
    apart = [difference(seed, seed + 100) for seed in range(15)]
    assert np.var(common) < 0.5 * np.var(apart)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"population": 0}, "persons=0 must be a whole number >= 1"),
        ({"coverage": 1.2}, "coverage of group '0-19' is 1.2; .* >= 0 and <= 1"),
        ({"efficacy": [0, 0, 0, 0, -0.1]}, r"efficacy of group '70\+' is -0.1"),
        ({"treatment": 0}, "treatment of group '0-19' is 0"),
        ({"r0": -1}, "r0=-1 must be a finite number >= 0"),
        ({"r0": 1e3}, "r0=1000 is out of reach on this network; it must be at most"),
        ({"susceptibility": 0}, r"r0=1.67 is out of reach: with susceptibility \[0.0, .* it must be 0"),
        ({"latent_period": -2}, "latent_period=-2 must be"),
        ({"infectious_period": 0}, "infectious_period=0 must be"),
        ({"vaccine": "leakey"}, "did you mean 'leaky'"),
        ({"vaccination_day": -1}, "vaccination_day=-1 must be a whole number >= 0"),
        ({"school_closure": -1}, "school_closure=-1 must be a finite number >= 0"),
        ({"closure_day": 0}, "closure_day=0 must be a whole number >= 1"),
        ({"days": 0}, "days=0 must be a whole number >= 1"),
        ({"days": 40_000}, "days=40000 must be at most 10000"),
        ({"record_every": 0}, "record_every=0 must be"),
        ({"initial_infected": 1e6}, r"initial_infected of group '0-19' is 1e\+06; it must be at most"),
        ({"initial_infected": 1e300}, r"initial_infected of group '0-19' is 1e\+300; it must be at most"),
        ({"initial_infected": -1}, "initial_infected of group '0-19' is -1"),
        ({"immune": [True]}, "immune must be True or False for each of the 4000 persons"),
        ({"seed": -1}, "seed=-1 must be a whole number >= 0"),
    ],
)
def test_a_wrong_parameter_is_refused_in_one_line_that_names_it(small, options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        FluModel(**({"population": small} | options))
    assert "\n" not in str(refusal.value)
