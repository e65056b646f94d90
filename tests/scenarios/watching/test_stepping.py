"""A model that is watched is the model that is run: the same policy and seed give the same season."""

import threading

import numpy as np
import pytest

import simulators
from scenarios import load
from scenarios.cli import invoke
from scenarios.errors import UserError
from scenarios.watching import models
from scenarios.watching.stepping import MOST_STEPS, Stepping

WAITED_FOR = threading.Event()
HEAD = 'name = "s"\nrounds = 1\ntrials = 1\nagents = ["random"]\n[environment]\n'
TOWN = f'{HEAD}name = "flu-abm"\noptions = {{options}}\n'
SENSORS = TOWN.replace("flu-abm", "weather-live")


def scenario(folder, text, **options):
    pairs = ", ".join(f"{key} = {value}" for key, value in options.items())
    (folder / "s.toml").write_text(text.replace("{options}", f"{{ {pairs} }}"))
    return load(folder / "s.toml")


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    return Stepping(scenario(tmp_path_factory.mktemp("town"), TOWN, persons=1500, days=120))


@pytest.fixture(scope="module")
def sensors(tmp_path_factory):
    return Stepping(scenario(tmp_path_factory.mktemp("sensors"), SENSORS, sensors=60))


def begun(stepped, **asked):
    return stepped.begin({"seed": 3, **asked}, WAITED_FOR)


def on(stepped, found, **asked):
    return stepped.step({"run": found["run"], **asked}, WAITED_FOR)


def test_a_season_watched_is_the_season_simulated(town):
    policy = town.about({}, WAITED_FOR)["start"]
    found = begun(town, policy=policy)
    points = found["points"]
    while not found["over"]:
        found = on(town, found, steps=MOST_STEPS)
        points += found["points"]
    model = town.model.environment.model(np.array(policy), seed=3)
    model.run_model()
    assert [row[0] for row in found["rows"]] == [group.name for group in model.groups]
    assert [row[3] for row in found["rows"]] == [str(group.infectious) for group in model.groups]
    infected = [model.datacollector.model_vars[f"infectious {group.name}"] for group in model.groups]
    assert [point[1:] for point in points[1:]] == np.transpose(infected).tolist()
    assert points[-1][0] == model.day and on(town, found)["points"] == []


def test_cells_are_the_persons_by_state(town):
    found = begun(town, policy=[0.5, 0.0, 0.0, 0.0, 0.0])
    found = on(town, found, steps=40)
    persons = town.model.model.persons()
    state = np.where(
        (persons["state"] == "susceptible") & persons["vaccinated"],
        "vaccinated",
        persons["state"].astype(str),
    )
    names = [*("susceptible", "exposed", "infectious", "recovered"), "vaccinated"]
    for digit, name in enumerate(names):
        assert found["cells"].count(str(digit)) == (state == name).sum(), name
    about = town.about({}, WAITED_FOR)
    assert sum(about["blocks"]) == len(found["cells"]) == about["persons"] == 1500


def test_of_a_city_some_persons_are_shown(town, monkeypatch, tmp_path):
    monkeypatch.setattr(models, "MOST_CELLS", 400)
    city = Stepping(scenario(tmp_path, TOWN, persons=1500))
    found = begun(city, policy=[0.0] * 5)
    assert len(found["cells"]) == 375 == sum(city.about({}, WAITED_FOR)["blocks"])  # every fourth


def test_a_policy_beyond_the_budget_is_said_and_the_nearest_taken_when_asked_for(town):
    with pytest.raises(UserError, match="constraint|budget|above"):
        begun(town, policy=[1.0] * 5)
    found = begun(town, policy=[1.0] * 5, nearest=True)
    space = town.model.environment.policy_space
    assert space.contains(np.array([found["policy"]]))[0]
    np.testing.assert_allclose(found["policy"], space.project(np.ones(5)), atol=1e-9)


@pytest.mark.parametrize("policy", [None, "0.5", [0.1], ["a"] * 5, [float("nan")] * 5, {}])
def test_what_is_no_policy_is_refused(town, policy):
    for nearest in (False, True):
        with pytest.raises(UserError):
            begun(town, policy=policy, nearest=nearest)


@pytest.mark.parametrize(
    "asked", [{"steps": 0}, {"steps": MOST_STEPS + 1}, {"steps": "1"}, {"run": -1}, {"run": None}]
)
def test_steps_of_no_model_and_too_many_are_refused(town, asked):
    found = begun(town, policy=[0.0] * 5)
    with pytest.raises(UserError):
        on(town, found, **asked)


def test_the_page_that_began_last_has_the_model(town):
    first = begun(town, policy=[0.0] * 5)
    second = begun(town, policy=[0.0] * 5)
    with pytest.raises(UserError, match="another page has begun anew"):
        on(town, first)
    assert on(town, second)["points"][0][0] == 1


def test_the_weather_watched_is_the_weather_simulated(sensors):
    environment = sensors.model.environment
    found = begun(sensors, policy=4)
    hours = [on(sensors, found) for _ in range(3)] + [on(sensors, found, policy=7)]
    other = simulators.make("weather-live", sensors=60)
    other.reset(3)
    rows = np.arange(60)
    for hour, (row, seen) in enumerate(zip((4, 4, 4, 7), hours, strict=True)):
        felt = other.compose(other.expected(rows), rows)
        reading = other.step(row).values
        ((time, warmest, here, read),) = seen["points"]
        assert (time, warmest, here) == (hour, pytest.approx(felt.max()), pytest.approx(felt[row]))
        assert read == pytest.approx(float(other.compose(reading, row)))
        assert seen["row"] == row
        truth = np.array(seen["field"])[:, 1:]
        np.testing.assert_allclose(
            truth, environment.expected(rows) if seen is hours[-1] else other.expected(rows), atol=0.01
        )


def test_a_silent_sensor_is_said_and_the_hour_passes(sensors):
    found = begun(sensors, policy=0)
    sensors.model.environment.model.broken[:, 3] = True
    found = on(sensors, found)
    assert "silent in hour 0" in found["said"] and found["points"][0][3] is None
    assert sensors.model.environment.context == 1


def test_a_sensor_that_is_not_there_is_refused(sensors):
    found = begun(sensors, policy=0)
    for row in (60, -1, 1.5, "0", [1, 2]):
        with pytest.raises(UserError):
            on(sensors, found, policy=row)


def test_an_environment_without_a_model_is_one_line(capsys):
    assert invoke(["watch", "flu", "--no-browser"]) == 2
    assert "accepted: flu-abm, weather-live and mesa" in capsys.readouterr().err


def test_code_that_a_scenario_names_is_not_run_unless_it_is_trusted(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("scenarios.commands.trust._agreed", lambda *asked: False)
    (tmp_path / "mine.py").write_text("raise SystemExit('run')")
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 1\ntrials = 1\nagents = ["random"]\n[environment]\n'
        f'name = "{tmp_path}/mine.py:Clinics"\n'
    )
    assert invoke(["watch", str(tmp_path / "s.toml"), "--no-browser"]) == 2
    assert "nobody here has accepted" in capsys.readouterr().err


def test_a_name_that_is_neither_study_nor_scenario_tells_the_nearest(capsys):
    assert invoke(["watch", "flu-amb", "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert "no such study" in said and "flu-abm" in said and said.count("\n") == 1
