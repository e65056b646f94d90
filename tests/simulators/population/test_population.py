"""The synthetic population: what was asked of it, counted anew from the persons and their contacts."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

from simulators.population import survey
from simulators.population.population import build_population

N = 20_000
SETTINGS = ("household", "school", "work", "community")
FIRST = {5: [0, 20, 50, 65, 70], 9: [0, 4, 7, 10, 20, 35, 50, 65, 70]}


@pytest.fixture(scope="module")
def town():
    return build_population(N, seed=5)


def means(layer, group, J):
    """Mean contacts by group, as a product of matrices."""
    members = np.eye(J)[group]
    return (members.T @ (layer.astype(float) @ members)) / members.sum(axis=0)[:, None]


@pytest.mark.parametrize("groups", [5, 9])
def test_ages_are_those_of_the_population_to_a_person(groups):
    people = build_population(N, groups=groups, contacts="del-valle-2013", seed=1)
    population = survey.AGES[groups].population
    assert np.abs(people.sizes - N * population / population.sum()).max() < 1
    assert np.array_equal(people.group, np.searchsorted(FIRST[groups], people.age, side="right") - 1)
    assert people.age.min() == 0 and 90 <= people.age.max() < 95


def test_mistry_contacts_come_with_the_population_of_oregon(town):
    assert town.sizes / N == pytest.approx(np.array([0.254, 0.395, 0.210, 0.046, 0.094]) / 0.999, abs=1e-4)
    shares = build_population(N, groups=9, seed=5).sizes / N
    assert shares[:4].sum() == pytest.approx(0.254, abs=5e-4)


def test_the_shares_asked_for_are_met():
    people = build_population(1000, age_shares=[300, 400, 200, 50, 50], seed=2)
    assert people.sizes.tolist() == [300, 400, 200, 50, 50]


@pytest.mark.parametrize("setting", SETTINGS)
def test_contacts_are_those_of_the_matrix_by_setting(town, setting):
    asked = survey.CONTACTS_BY_SETTING["mistry-2021-oregon"][setting]
    achieved = means(town.network.layers[setting], town.group, 5)
    # One pair of persons more or less, and the published numbers, rounded, are reciprocal to about 1 %.
    assert achieved == pytest.approx(asked, rel=0.015, abs=0.004)
    assert town.network.contacts(setting) == pytest.approx(achieved)


def test_the_table_is_the_contacts_counted(town):
    table = town.network.achieved().set_index(["setting", "group", "met"])
    assert len(table) == 5 * 6 * 6
    work = means(town.network.layers["work"], town.group, 5)
    assert table.loc[("work", "20-49", "50-64"), "achieved"] == pytest.approx(work[1, 2])
    assert table.loc[("work", "20-49", "all"), "achieved"] == pytest.approx(work[1].sum())
    everything = sum(layer.nnz for layer in town.network.layers.values())
    assert table.loc[("all", "all", "all"), "achieved"] == pytest.approx(everything / N)
    asked = survey.CONTACTS["mistry-2021-oregon"][5][0].sum()
    assert table.loc[("all", "0-19", "all"), "asked"] == pytest.approx(asked, rel=2e-3)
    off, _ = town.network.asked.distance(town.network)
    by_pair = table.drop(index="all", level=0).drop(index="all", level=1).drop(index="all", level=2)
    persons = by_pair.index.get_level_values("group").map(dict(zip(town.groups, town.sizes, strict=True)))
    amiss = (persons * (by_pair.achieved - by_pair.asked).abs()).sum()
    assert off == pytest.approx(amiss / (persons * by_pair.asked).sum())
    assert off < 0.005


@pytest.mark.parametrize("setting", SETTINGS)
def test_people_meet_mutually_and_once_a_layer(town, setting):
    layer = town.network.layers[setting]
    assert layer.indices.dtype == np.int32 and layer.dtype == np.int8
    assert (layer.data == 1).all() and layer.has_canonical_format
    assert abs(layer - layer.T).nnz == 0
    assert not layer.diagonal().any()


def test_household_members_all_meet(town):
    sizes = np.bincount(town.household)
    assert sizes.min() >= 1 and (np.diff(town.household) >= 0).all()
    same = town.network.layers["household"].tocoo()
    at_home = np.count_nonzero(town.household[same.coords[0]] == town.household[same.coords[1]])
    assert at_home == np.sum(sizes * (sizes - 1))


def test_household_sizes_are_those_of_the_census(town):
    shares = np.bincount(np.bincount(town.household), minlength=8)[1:] / (town.household[-1] + 1)
    assert shares == pytest.approx([0.28, 0.34, 0.15, 0.13, 0.06, 0.03, 0.01], abs=0.005)
    large = build_population(2000, household_sizes=[0, 0, 0, 1], seed=1)
    assert set(np.bincount(large.household)) == {4}


def test_no_child_lives_without_an_adult_and_parents_are_a_generation_older(town):
    oldest = np.zeros(town.household[-1] + 1)
    np.maximum.at(oldest, town.household, town.age)
    assert oldest.min() >= 20
    children = town.age < 20
    homes = np.unique(town.household[children])
    adults = np.array([town.age[(town.household == h) & ~children].min() for h in homes[:300]])
    youngest = np.array([town.age[town.household == h].min() for h in homes[:300]])
    assert 22 < (adults - youngest).mean() < 34


def test_couples_are_of_like_age_and_the_old_more_often_alone(town):
    sizes = np.bincount(town.household)
    pairs = np.flatnonzero(sizes == 2)
    starts = np.searchsorted(town.household, pairs)
    ages = np.stack((town.age[starts], town.age[starts + 1])).astype(float)
    couples = ages[:, ages.min(axis=0) >= 20]
    assert np.corrcoef(couples)[0, 1] > 0.9
    alone = sizes[town.household] == 1
    # Census 2012: 11 % of the 20-49, 28 % of those of 65 and more live alone.
    assert alone[(town.age >= 20) & (town.age < 50)].mean() == pytest.approx(0.11, abs=0.04)
    assert alone[town.age >= 65].mean() == pytest.approx(0.28, abs=0.06)


def test_classes_have_twenty_to_thirty_pupils_of_like_age(town):
    pupils = (town.school_class >= 0) & (town.age < 20)
    sizes = np.bincount(town.school_class[pupils & (town.age >= 5) & (town.age < 18)])
    sizes = sizes[sizes > 0]
    assert np.mean((sizes >= 20) & (sizes <= 30)) > 0.95
    primary = pupils & (town.age >= 5) & (town.age < 11)
    of = town.school_class[primary]
    mean_age = np.bincount(of, weights=town.age[primary]) / np.maximum(np.bincount(of), 1)
    assert np.abs(town.age[primary] - mean_age[of]).mean() < 0.7
    assert pupils[(town.age >= 7) & (town.age < 16)].mean() == pytest.approx(0.98, abs=0.01)


def test_every_class_has_staff(town):
    classes = np.unique(town.school_class[(town.school_class >= 0) & (town.age < 18)])
    staffed = np.unique(town.school_class[(town.school_class >= 0) & (town.age >= 20)])
    assert np.isin(classes, staffed).all()


def test_school_contacts_are_within_the_class(town):
    school = town.network.layers["school"].tocoo()
    same = town.school_class[school.coords[0]] == town.school_class[school.coords[1]]
    assert same.mean() > 0.95


def test_workplaces_have_a_heavy_tail_and_hold_the_working_contacts(town):
    adults = town.age >= 20
    staff = (town.school_class >= 0) & (town.age >= 35)
    assert ((town.workplace >= 0) | staff)[adults].mean() == pytest.approx(0.6, abs=0.05)
    assert not (town.workplace[town.age < 16] >= 0).any()
    sizes = np.bincount(town.workplace[town.workplace >= 0])
    assert np.median(sizes) <= 2 and 100 < sizes.max() <= 1000
    work = town.network.layers["work"].tocoo()
    assert (town.workplace[work.coords[0]] == town.workplace[work.coords[1]]).mean() > 0.95
    assert (town.workplace[work.coords[0]] >= 0).all()


def test_the_town_hangs_together(town):
    graph = town.to_networkx()
    largest = max(nx.connected_components(graph), key=len)
    assert len(largest) > 0.995 * N
    assert graph.number_of_edges() <= sum(layer.nnz for layer in town.network.layers.values()) / 2
    for fact in ("age", "household"):
        assert [graph.nodes[i][fact] for i in range(N)] == getattr(town, fact).tolist()
    assert [graph.nodes[i]["group"] for i in range(N)] == [town.groups[j] for j in town.group]


def test_equal_seeds_give_equal_populations_in_any_process():
    script = (
        "import hashlib; from simulators.population.population import build_population;"
        "p = build_population(3000, seed=11);"
        "h = hashlib.sha256(p.age.tobytes() + p.household.tobytes() + p.workplace.tobytes());"
        "[h.update(l.indices.tobytes()) for l in p.network.layers.values()]; print(h.hexdigest())"
    )
    prints = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert prints[0] == prints[1] and len(prints[0]) == 65


def test_a_seed_sequence_can_be_used_again():
    seed = np.random.SeedSequence(3)
    first, again = build_population(500, seed=seed), build_population(500, seed=seed)
    other = build_population(500, seed=4)
    for setting in SETTINGS:
        indices = first.network.layers[setting].indices
        assert np.array_equal(indices, again.network.layers[setting].indices)
        assert not np.array_equal(indices, other.network.layers[setting].indices)


@pytest.mark.parametrize("groups", [5, 9])
def test_a_matrix_that_is_not_reciprocal_is_made_so_and_the_change_is_told(groups):
    people = build_population(N, contacts="del-valle-2013", groups=groups, seed=1)
    change = people.network.asked.reciprocity()
    sizes = change.group.map(dict(zip(people.groups, people.sizes, strict=True)))
    given = survey.CONTACTS["del-valle-2013"][groups]
    assert change.given.to_numpy().reshape(groups, groups) == pytest.approx(given)
    flows = (sizes * change.reciprocal).to_numpy().reshape(groups, groups)
    assert flows == pytest.approx(flows.T)
    assert flows.sum() == pytest.approx((sizes * change.given).sum())
    assert (change.given - change.reciprocal).abs().max() > 0.5
    total = sum(means(layer, people.group, groups) for layer in people.network.layers.values())
    off = np.abs(people.sizes[:, None] * total - flows).sum() / flows.sum()
    assert off < 0.002


def test_a_matrix_of_ones_own_is_met():
    contacts = np.array(
        [[9, 4, 1, 0.2, 0.3], [3, 7, 2, 0.3, 0.4], [1, 4, 4, 1, 1], [1, 2, 2, 1, 1], [1, 2, 1, 1, 2]]
    )
    people = build_population(N, contacts=contacts, age_shares=[1] * 5, seed=1)
    total = sum(means(layer, people.group, 5) for layer in people.network.layers.values())
    assert total == pytest.approx((contacts + contacts.T) / 2, abs=0.05)


def test_contacts_by_setting_are_met():
    by_setting = {s: np.full((5, 5), level) for s, level in zip(SETTINGS, (2.0, 0.2, 0.3, 0.4), strict=True)}
    people = build_population(N, contacts=by_setting, age_shares=[1] * 5, seed=1)
    for setting in ("work", "community"):
        lowest = 0 if setting == "community" else 1
        achieved = means(people.network.layers[setting], people.group, 5)[lowest:, lowest:]
        assert achieved == pytest.approx(by_setting[setting][lowest:, lowest:], rel=0.02)


def test_layers_weigh_one_unless_told_otherwise(town):
    assert town.network.weights == dict.fromkeys(SETTINGS, 1.0)
    half = build_population(300, seed=1, weights={"school": 0.5}).network
    assert half.weights == {"household": 1.0, "school": 0.5, "work": 1.0, "community": 1.0}
    plain = sum(half.contacts(s) for s in SETTINGS)
    assert half.contact_matrix() == pytest.approx(plain - half.contacts("school") / 2)


def test_one_person_is_alone():
    hermit = build_population(1)
    assert hermit.persons == 1 and hermit.household.tolist() == [0] and hermit.age[0] >= 20
    assert hermit.network.degrees().tolist() == [0]
    assert all(layer.shape == (1, 1) and layer.nnz == 0 for layer in hermit.network.layers.values())
    assert not hermit.network.contact_matrix().any()


@pytest.mark.parametrize("persons", [2, 3, 7, 25])
def test_a_handful_of_people_meet_whom_there_is(persons):
    few = build_population(persons, seed=1)
    assert few.sizes.sum() == persons
    for layer in few.network.layers.values():
        assert np.diff(layer.indptr).max() < persons
    home = few.network.layers["household"].toarray()
    together = few.household[:, None] == few.household
    assert (home[together & ~np.eye(persons, dtype=bool)] == 1).all()
