"""A town of one's own, of small tables in files."""

import numpy as np
import pytest

from simulators import FluABM, FluODE
from simulators.flu.own_town import missed
from simulators.flu.town_tables import by_size
from simulators.population.population import build_population

TABLES = {
    "household_sizes": "size,households\n1,30\n2,30\n3,15\n4,15\n5+,10\n",
    "schools": "level,ages,class_size,school_size,enrolled\nfirst,6-10,20,200,1\nsecond,11-17,30,600,0.9\n",
    "workplaces": "size,workplaces\n1-9,90\n10-49,9\n50+,1\n",
    "employment": "age,employed,commuting\n18-24,0.4,1\n25-64,0.8,0.75\n",
    "persons_by_age": "age,persons\n0-4,5\n5-9,5\n10-14,6\n15-19,6\n20-49,40\n50-64,20\n65-79,15\n80+,3\n",
}
GROUPS = "age,persons,current\n0-17,200000,0.2\n18-64,600000,0.2\n65+,200000,0.5\n"
CONTACTS = ",0-17,18-64,65+\n0-17,8,6,0.6\n18-64,2,8,1\n65+,0.6,3,3\n"


@pytest.fixture
def files(tmp_path):
    texts = {**TABLES, "groups": GROUPS, "contacts": CONTACTS}
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    return {name: str(tmp_path / f"{name}.csv") for name in texts}


@pytest.fixture
def town(files):
    def make(*names, **options):
        given = {name: files[name] for name in names}
        return FluABM(**{"persons": 6_000, "noise_variance": 1e-6, **given, **options})

    return make


def test_households_are_of_the_sizes_of_the_table(town):
    population = town("household_sizes").population
    sizes = np.bincount(np.bincount(population.household))[1:]
    assert sizes / sizes.sum() == pytest.approx([0.30, 0.30, 0.15, 0.15, 0.10], abs=0.01)


def test_pupils_are_of_the_ages_and_classes_of_the_table(town):
    population = town("schools").population
    pupils = (population.school_class >= 0) & (population.age < 18)
    ages = population.age[pupils]
    assert ages.min() == 6 and ages.max() == 17
    assert pupils[(population.age >= 6) & (population.age <= 10)].all()
    assert pupils[(population.age >= 11) & (population.age <= 17)].mean() == pytest.approx(0.9, abs=0.03)
    for low, high, size in ((6, 10, 20), (11, 17, 30)):
        of = pupils & (population.age >= low) & (population.age <= high)
        classes = np.bincount(population.school_class[of])
        assert classes[classes > 0].mean() == pytest.approx(size, rel=0.1)


def test_workplaces_are_of_the_sizes_of_the_table(town):
    population = town("workplaces", largest_workplace=80).population
    sizes = np.bincount(population.workplace[population.workplace >= 0])
    assert sizes.max() <= 80
    classes = np.histogram(sizes, [1, 10, 50, 1000])[0]
    assert classes / classes.sum() == pytest.approx([0.9, 0.09, 0.01], abs=0.03)


def test_those_who_work_are_of_the_ages_of_the_table_and_some_of_them_at_home(town):
    population = town("employment").population
    at_work = (population.workplace >= 0) | ((population.school_class >= 0) & (population.age >= 25))
    of = (population.age >= 25) & (population.age <= 64)
    assert at_work[of].mean() == pytest.approx(0.8 * 0.75, abs=0.02)
    assert not (population.workplace[(population.age < 18) | (population.age > 64)] >= 0).any()


def test_ages_are_those_of_the_table_and_so_are_the_groups_and_the_doses(town):
    env = town("persons_by_age")
    ages = env.population.age
    found = np.histogram(ages, [0, 5, 10, 15, 20, 50, 65, 80, 200])[0] / len(ages)
    assert found == pytest.approx([0.05, 0.05, 0.06, 0.06, 0.4, 0.2, 0.15, 0.03], abs=0.002)
    assert env.policy_space.constraint.A[0] == pytest.approx([0.22, 0.4, 0.2, 0.06, 0.12], abs=0.01)


def test_a_table_divides_the_groups_of_ones_own_country_by_age(town):
    env = town("groups", "contacts", "persons_by_age", "household_sizes", persons=4_000)
    ages = env.population.age
    assert (ages < 18).mean() == pytest.approx(0.2, abs=0.001)
    # Of those from 18 to 64: 60 % are of the ages 20-49 and 50-64 in the proportion of 40 to 20.
    assert ((ages >= 20) & (ages < 50)).sum() / ((ages >= 50) & (ages < 65)).sum() == pytest.approx(
        2, abs=0.02
    )


def test_what_was_read_and_what_holds_by_default_is_told(town):
    said = town("schools", "employment").findings
    assert any("schools.csv: schools by level (CSV" in one for one in said)
    assert any("employment.csv: work by age" in one for one in said)
    assert any("household sizes: those of the US of 2012, by default" in one for one in said)
    assert any(one.startswith("workplaces: of 1 to 1,000 persons") for one in said)
    assert not any(one.startswith(("schools: who", "work: who")) for one in said)
    assert town().findings == ()


def test_a_class_of_workplaces_told_by_who_works_there_has_as_many_who_work_there():
    from simulators.country.sizes import Sizes
    from simulators.country.town_tables import Workplaces

    found = by_size([Workplaces(Sizes(1, 9), None, 300.0), Workplaces(Sizes(10, None), None, 700.0)], 40)
    persons = found * np.arange(1, 41)
    assert persons[:9].sum() == pytest.approx(300) and persons[9:].sum() == pytest.approx(700)
    # Within a class the number falls with the square of the size.
    assert found[1] / found[3] == pytest.approx(4) and found[9] / found[19] == pytest.approx(4)


def test_orientation_and_reciprocity_are_passed_on_as_to_the_ode(town, files, tmp_path):
    columns = ",0-17,18-64,65+\n0-17,8,2,0.6\n18-64,6,8,3\n65+,0.6,1,3\n"
    (tmp_path / "columns.csv").write_text(columns, encoding="utf-8")
    options = {"contacts": str(tmp_path / "columns.csv"), "groups": files["groups"]}
    with pytest.raises(ValueError, match="orientation"):
        town(**options)
    env = town(orientation="column", **options)
    assert env.counterpart("flu-ode")["contacts"].sum() == pytest.approx(
        FluODE(orientation="column", **options).contacts.sum(), rel=0.02
    )
    skewed = CONTACTS.replace("0-17,8,6", "0-17,8,6.5")
    (tmp_path / "skewed.csv").write_text(skewed, encoding="utf-8")
    options["contacts"] = str(tmp_path / "skewed.csv")
    with pytest.raises(ValueError, match="is not reciprocal"):
        town(reciprocity="refuse", **options)
    kept = town(reciprocity="keep", **options).findings
    assert any("persons meet mutually" in one for one in kept)
    assert not any("persons meet mutually" in one for one in town(**options).findings)
    with pytest.raises(ValueError, match="orientation='row' says how files are read"):
        town(orientation="row")


def test_contacts_that_a_town_misses_are_told_by_setting_with_the_share():
    """More at home than households have, and than 60 persons of a group can meet."""
    rng = np.random.default_rng(1)
    asked = 2.0 + rng.uniform(0, 1, (5, 5))
    given = {"household": np.full((5, 5), 0.01), "school": asked, "work": asked, "community": asked}
    population = build_population(500, contacts=given, tolerance=1.0)
    network = population.network
    said = {one.split(":")[0]: one for one in missed(population)}
    sizes = population.sizes[:, None]
    for setting, layer in {"home": "household", "school": "school"}.items():
        flows = network.asked.flows[layer]
        off = np.abs(sizes * network.contacts(layer) - flows).sum() / flows.sum()
        assert f"{off:.1%} of those asked" in said[f"contacts at {setting}"]
        assert " a day instead of " in said[f"contacts at {setting}"]
    assert missed(build_population(5_000)) == ()


def test_how_many_are_infected_at_first_is_told_by_one_rule(town):
    for persons, number, raised in ((1_000, 50, True), (60_000, 60, False)):
        env = town("groups", "contacts", "household_sizes", persons=persons)
        lines = [one for one in env.findings if one.startswith("initial_infected")]
        assert len(lines) == 1
        assert f"{number} of the town's {persons:,} persons" in lines[0]
        assert ("but 50 persons at least" in lines[0]) == raised
        model = env.model(env.policy_space.bounds.lb, seed=0)
        assert sum(group.exposed + group.infectious for group in model.groups) == number


def test_a_country_with_few_infected_has_some_in_its_town_and_one_with_none_has_none(town, files, tmp_path):
    for told, number in (("60,60,60", 50), ("0,0,0", 0), ("20000,60000,20000", 600)):
        rows = [f"{row},{some}" for row, some in zip(GROUPS.split()[1:], told.split(","), strict=True)]
        (tmp_path / "few.csv").write_text(
            "age,persons,current,infected\n" + "\n".join(rows), encoding="utf-8"
        )
        env = town("contacts", "household_sizes", groups=str(tmp_path / "few.csv"))
        model = env.model(env.policy_space.bounds.lb, seed=0)
        assert sum(group.exposed + group.infectious for group in model.groups) == number
        assert any(
            f"{number} of the town's 6,000 persons on day 0: the table's" in one for one in env.findings
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schools": [1, 2]}, r"schools=\[1, 2\] must be the file of a table"),
        ({"schools": "nowhere.csv"}, "nowhere.csv: No such file"),
        ({"persons_by_age": [1.0, 2.0]}, "persons_by_age must be 95 numbers"),
        ({"persons_by_age": [1.0, -2.0, *[1.0] * 93]}, "persons_by_age of age 1 is -2; it must be a finite"),
        ({"household_sizes": "nowhere.csv"}, "nowhere.csv: No such file"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(town, options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        town(**options)
    assert "\n" not in str(refusal.value)
