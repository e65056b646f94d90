"""Sensors as agents: what each does in its hour, and when it is asked."""

import numpy as np
import pytest

from simulators import SimulationError, check_environment, make
from simulators.stations.sphere import points_on_sphere
from simulators.weather.energy import Energy
from simulators.weather.model import WeatherModel
from simulators.weather.radio import routes
from simulators.weather.sensor import Habits, Sensor
from simulators.weather.sensor_graph import nearest_neighbours

GROUPS = ("temperature", "humidity", "wind")


def line(n=6, habits=None, **options):
    """Sensors along the equator, 50 km apart, of which only the first has mains; nothing is random."""
    lon = np.arange(n) * 0.45
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    first = np.array([0])
    energy = Energy(edges, first, routes(edges, n, first), np.array([1.0, 2.0, 4.0]), 0.5, 0.1, None)
    quiet = {"noise_variance": [0, 0, 0], "drift": [0, 0, 0], "channel_life": np.inf, "sensor_life": np.inf}
    readings = np.tile([290.0, 50.0, 3.0], (n, 1))
    made = Habits.of(habits or {}, GROUPS)
    return WeatherModel(lon, np.zeros(n), readings, edges, energy=energy, habits=made, **quiet | options)


def test_the_model_steps_its_agents(monkeypatch):
    world = line()
    asked = []
    monkeypatch.setattr(Sensor, "step", lambda sensor: asked.append(sensor.row))
    world.step()
    assert asked == list(range(6))


def test_agents_wear_as_arrays_of_all_of_them_would():
    rng = np.random.default_rng(1)
    lon, lat = rng.uniform(-110, -90, 50), rng.uniform(30, 45, 50)
    edges = nearest_neighbours(points_on_sphere(lon, lat), 8)
    readings = np.tile([290.0, 50.0, 10.0], (50, 1))
    world = WeatherModel(lon, lat, readings, edges, channel_life=10.0, sensor_life=20.0, repair=5.0, rng=(4,))
    drift, broken, keeps, spread = world.drift, world.broken, np.exp(-1 / 720), np.array([0.2, 1.0, 0.1])
    for hour in range(1, 30):
        world.step()
        draws = np.random.default_rng([4, hour])
        drift = keeps * drift + np.sqrt(1 - keeps**2) * spread * draws.standard_normal((50, 3))
        chance = draws.random((50, 4))
        broken = np.where(broken, chance >= 1 / 5, chance < [0.1, 0.1, 0.1, 0.05])
        noise = np.sqrt([0.04, 0.03, 0.005]) * draws.standard_normal((50, 3))
        assert np.array_equal(world.drift, drift)
        assert np.array_equal(world.broken, broken)
        assert np.array_equal(world.noise, noise)


def test_a_battery_pays_for_standby_and_for_what_it_senses_and_relays():
    world = line(habits={"battery": 100.0, "standby": 2.0})
    answer = world.sensors[3].answer([0, 2])
    hop = 0.5 + 2 * 0.1
    assert answer.energy == pytest.approx(5 + 3 * hop)
    assert world.charge[1:5] == pytest.approx([100 - hop, 100 - hop, 100 - 5 - hop, 100])
    assert np.isnan(answer.values).tolist() == [False, True, False]
    world.step()
    assert world.charge[1:5] == pytest.approx([98 - hop, 98 - hop, 93 - hop, 98])
    assert world.mean_charge == pytest.approx(world.charge[1:].mean())


def test_the_sun_charges_a_battery_by_day_and_not_above_what_it_holds():
    world = line(habits={"battery": 50.0, "standby": 1.0, "harvest": 6.0})
    charge = [world.charge[2]]
    for _ in range(24):
        world.step()
        charge.append(world.charge[2])
    sun = np.cos(2 * np.pi * (np.arange(1, 25) + world.lon[2] / 15 - 12) / 24)
    known = [50.0]
    for light in sun:
        known.append(min(known[-1] + 6 * max(light, 0) - 1, 50.0))
    assert charge == pytest.approx(known)
    assert charge[6] == pytest.approx(44.0, abs=0.1) and max(charge[12:18]) == 50.0


def test_a_sensor_saves_its_battery_then_falls_flat_and_cuts_off_those_behind_it():
    world = line(habits={"battery": 10.0, "standby": 1.0, "reserve": 0.3})
    for _ in range(7):
        world.step()
    assert {one.silence for one in world.sensors[1:]} == {"saves its battery"}
    assert all(one.relays for one in world.sensors)
    assert world.sensors[0].silence == ""
    world.charge[3:] = 10.0
    world.charge[2] = 0.0
    world.routes = world.ways()
    assert [one.silence for one in world.sensors[3:]] == ["has no way to a gateway"] * 3


def test_a_sensor_that_sleeps_answers_in_its_turn_and_relays_always():
    world = line(habits={"wake_every": 3})
    for hour in range(7):
        assert [one.silence == "" for one in world.sensors] == [(hour + row) % 3 == 0 for row in range(6)]
        assert all(one.relays for one in world.sensors)
        world.step()


def test_a_channel_that_sticks_goes_on_reading_what_it_read_until_it_is_repaired():
    world = line(n=40, habits={"stuck_life": 20.0}, repair=5.0, noise_variance=[1.0, 1.0, 0.01])
    stuck, before, repeated = [], None, 0
    for _ in range(400):
        world.step()
        now = np.array([one.read() for one in world.sensors])
        if before is not None:
            both = world.stuck & before[1]
            assert np.array_equal(now[both], before[0][both])
            repeated += int(both.sum())
            free = ~world.stuck
            assert np.array_equal(now[free], (world.weather + world.noise)[free])
        before, _ = (now, world.stuck), stuck.append(world.stuck.mean())
    assert repeated > 1000
    assert np.mean(stuck[50:]) == pytest.approx(5 / 25, rel=0.1)  # of an alternating renewal process


def test_a_channel_is_sent_when_it_has_changed_enough_and_costs_nothing_otherwise():
    world = line(habits={"report_change": [1.0, 0.0, 0.5]})
    sensor = world.sensors[2]
    first = sensor.answer(range(3))
    assert first.variance.tolist() == [0, 0, 0]
    world.weather = world.weather + [0.9, 0.001, 0.6]
    again = sensor.answer(range(3))
    assert again.values == pytest.approx([290.0, 50.001, 3.6])
    assert again.variance == pytest.approx([1 / 3, 0, 0])
    assert again.energy == pytest.approx(7 + 2 * (0.5 + 2 * 0.1))
    world.weather = world.weather + [0.2, 0.0, 0.0]
    assert sensor.answer([0]).values[0] == pytest.approx(291.1)


def test_a_living_network_with_batteries_keeps_the_contract_and_states_its_costs():
    options = {"gateways": 3, "battery": 30.0, "harvest": 8.0, "report_change": [0.5, 2.0, 0.5]}
    assert check_environment(make("weather-live", sensors=40, **options)) == []
    env = make("weather-live", sensors=40, wake_every=2, stuck_life=50.0, **options)
    env.reset(1)
    told = []
    for step in range(60):
        try:
            told.append(env.step_groups(step // 6, [0, 1]))
        except SimulationError as error:
            assert "in hour" in str(error)
    assert len(told) > 15
    assert all(np.isnan(one.values[2]) and one.info["cost"] > 0 for one in told)
    assert any((one.noise_variance > env.noise_variances).any() for one in told)


def test_a_state_with_batteries_goes_on_as_if_nothing_had_happened():
    env = make("weather-live", sensors=30, gateways=2, battery=12.0, standby=0.5, stuck_life=30.0)
    env.reset(5)

    def walk(rows):
        found = []
        for row in rows:
            try:
                found.append(env.step(row).values.tolist())
            except SimulationError as error:
                found.append(str(error))
        return found

    walk(range(10))
    state = env.get_state()
    expected = walk(range(10, 30))
    env.set_state(state)
    assert walk(range(10, 30)) == expected
    assert any("saves its battery" in one for one in expected if isinstance(one, str))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"battery": 9.0}, "battery=9.0 has no effect without gateways"),
        ({"harvest": 2.0}, "harvest=2.0 has no effect without a battery"),
        ({"gateways": 1, "battery": -1}, "battery=-1 must be a finite number > 0"),
        ({"gateways": 1, "battery": 9, "reserve": 1.0}, "reserve=1.0 must be >= 0 and < 1"),
        ({"wake_every": 0}, "wake_every=0 must be a whole number >= 1"),
        ({"report_change": [1, 2]}, "report_change"),
        ({"stuck_life": 0.1}, "stuck_life=0.1 must be a finite number >= 1"),
    ],
)
def test_an_impossible_habit_is_named(options, message):
    with pytest.raises(ValueError, match=message) as error:
        make("weather-live", sensors=20, **options)
    assert "\n" not in str(error.value)


def test_several_sensors_are_read_in_an_hour_and_then_it_passes():
    env = make("weather-live", sensors=20, readings=3, channel_life=np.inf, sensor_life=np.inf)
    env.reset(0)
    hours = [env.step(row).info["hour"] for row in range(7)]
    assert hours == [0, 0, 0, 1, 1, 1, 2]
    assert env.context == 2.0 and env.steps_at_once == 3
    state = env.get_state()
    env.step(8)
    env.set_state(state)
    assert [env.step(8).info["hour"] for _ in range(3)] == [2, 2, 3]
