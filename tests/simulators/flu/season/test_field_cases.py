"""What has bitten users of other frameworks."""

import copy
import gc
import inspect
import pickle
import weakref

import mesa
import networkx
import numpy as np
import psutil
import pytest

from simulators.flu.season.model import FluModel
from simulators.population.population import build_population


@pytest.fixture(scope="module")
def population():
    return build_population(10_000, seed=0)


def table(processes):
    parameters = {
        "population": [2_000],
        "coverage": [[0.0] * 5, [0.3] * 5, [0.6, 0.3, 0, 0, 0]],
        "days": [120],
    }
    options = {"number_processes": processes, "display_progress": False}
    seeds = np.random.SeedSequence(11).generate_state(4).tolist()
    if "rng" in inspect.signature(mesa.batch_run).parameters:  # Mesa 3.5 asks for the seeds there
        options["rng"] = seeds
    else:
        parameters["seed"] = seeds
    return sorted(mesa.batch_run(FluModel, parameters, **options), key=lambda row: row["RunId"])


@pytest.mark.slow
def test_a_table_of_runs_is_the_same_twice_and_on_two_processes():
    once = table(1)
    assert len(once) == 12
    assert once == table(1)
    assert once == table(2)
    assert len({(row["susceptible"], str(row["coverage"])) for row in once}) >= 11
    for row in once:  # the last row is the state after the last day
        assert row["day"] == row["Step"] + 1
        assert row["susceptible"] + row["exposed"] + row["infectious"] + row["recovered"] == 2_000
        assert row["exposed"] + row["infectious"] == 0 or row["Step"] >= 119


def test_recording_every_seventh_day_of_a_year_makes_53_rows_with_the_last_day_among_them(population):
    model = FluModel(population, record_every=7, infectious_period=100, seed=1)
    model.run_model()
    rows = model.datacollector.get_model_vars_dataframe()
    assert (model.day, len(rows)) == (365, 53)
    assert rows["day"].tolist() == [*range(7, 365, 7), 365]
    final = [sum(getattr(g, state) for g in model.groups) for state in ("susceptible", "infectious")]
    assert rows.iloc[-1][["susceptible", "infectious"]].tolist() == final


def test_the_last_row_of_three_days_is_the_state_after_day_3(population):
    model = FluModel(population, days=3, seed=1)
    model.run_model()
    rows = model.datacollector.get_model_vars_dataframe()
    assert rows["day"].tolist() == [1, 2, 3]
    assert not model.running
    states = model.persons()["state"].value_counts()
    assert {name: int(rows[name].iloc[-1]) for name in states.index} == states.to_dict()
    model.step()
    assert model.day == 3
    assert len(model.datacollector.get_model_vars_dataframe()) == 3


def test_an_epidemic_that_ends_before_its_recording_day_has_its_last_day_recorded(population):
    model = FluModel(population, r0=0, record_every=50, seed=1)
    model.run_model()
    assert 0 < model.day < 50
    assert model.datacollector.get_model_vars_dataframe()["recovered"].tolist() == [50]


def test_a_vaccination_on_day_60_changes_nothing_before_day_60(population):
    nobody, many = (FluModel(population, coverage=x, vaccination_day=60, r0=1.4, seed=2) for x in (0.0, 0.4))
    for _ in range(59):
        nobody.step()
        many.step()
    assert nobody.persons().equals(many.persons())
    assert sum(group.doses for group in many.groups) == 0
    many.step()
    assert sum(group.doses for group in many.groups) == 4_000
    nobody.run_model()
    many.run_model()
    assert sum(g.infections for g in many.groups) < sum(g.infections for g in nobody.groups)


@pytest.mark.parametrize("seed", range(3))
def test_exactly_the_doses_planned_are_given(seed):
    town = build_population(31_111, seed=1)
    model = FluModel(town, coverage=12_345 / 31_111, days=1, seed=seed)
    model.run_model()
    assert sum(group.doses for group in model.groups) == 12_345
    assert model.persons()["vaccinated"].sum() == 12_345


def test_no_dose_is_given_outside_the_group_meant(population):
    model = FluModel(population, coverage=[0, 0, 0, 0.5, 0], days=1, seed=0)
    model.run_model()
    vaccinated = model.persons().query("vaccinated")
    assert set(vaccinated["group"]) == {"65-69"}
    assert vaccinated["age"].between(65, 69).all()
    assert len(vaccinated) == round(0.5 * population.sizes[3])


def test_a_model_pickled_on_day_40_and_resumed_equals_the_undisturbed_one(population):
    model = FluModel(population, coverage=0.2, seed=3)
    for _ in range(40):
        model.step()
    stored, copied = pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
    ends = []
    for resumed in (model, stored, copied):
        resumed.run_model()
        ends.append((resumed.datacollector.get_model_vars_dataframe(), resumed.persons(), resumed.steps))
    for curve, persons, steps in ends[1:]:
        assert curve.equals(ends[0][0]) and persons.equals(ends[0][1]) and steps == ends[0][2]
    assert model.day > 40


def test_a_finished_model_leaves_no_memory_behind(population):
    FluModel(population, days=20, seed=0).run_model()
    gc.collect()
    before, last = psutil.Process().memory_info().rss, None
    for seed in range(200):
        model = FluModel(population, days=20, seed=seed)
        model.run_model()
        last = weakref.ref(model)
    del model
    gc.collect()
    assert last() is None
    assert psutil.Process().memory_info().rss - before < 50e6


def test_a_model_of_ten_thousand_persons_lays_out_no_graph(monkeypatch):
    def never(*_, **__):
        raise AssertionError("a graph was laid out")

    for name in ("spring_layout", "kamada_kawai_layout", "circular_layout", "random_layout"):
        monkeypatch.setattr(networkx, name, never)
        monkeypatch.setattr(networkx.drawing.layout, name, never)
    assert FluModel(10_000, seed=0).population.persons == 10_000
