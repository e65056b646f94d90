"""The living weather: transport, stationarity, sensors that fail, and the contract of a world that lives."""

import pickle

import mesa
import numpy as np
import pytest

from simulators import SimulationError, WeatherLive, check_environment, make
from simulators.stations.sphere import points_on_sphere
from simulators.weather.model import AMPLITUDE, SPREAD, Sensor, WeatherModel
from simulators.weather.sensor_graph import nearest_neighbours
from simulators.weather.transport import transport_matrix


def line(n=40, step=0.5):
    """Sensors along the equator, from west to east, each joined to its neighbours."""
    lon = np.arange(n) * step
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    return lon, np.zeros(n), edges


def model(n=60, seed=0, **options):
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(-110, -90, n), rng.uniform(30, 45, n)
    readings = np.stack([rng.uniform(280, 295, n), rng.uniform(45, 55, n), rng.uniform(9, 11, n)], axis=1)
    edges = nearest_neighbours(points_on_sphere(lon, lat), 8)
    return WeatherModel(lon, lat, readings, edges, **options)


@pytest.fixture(scope="module")
def live():
    return make("weather-live", sensors=80)


def test_the_living_network_keeps_the_contract(live):
    assert check_environment(live) == []
    assert check_environment(make("weather-live", sensors=40, features="graph", rule="paper")) == []


def test_transport_is_a_weighted_mean_at_every_sensor():
    M = model().transport.toarray()
    assert (M >= 0).all()
    assert M.sum(axis=1) == pytest.approx(1.0, abs=1e-12)


def test_the_flow_carries_a_front_at_its_speed():
    lon, lat, edges = line(n=80)
    km_a_step = np.radians(0.5) * 6371.0
    M = transport_matrix(lon, lat, edges, (km_a_step / 3.6, 0.0), 0.0)
    front = np.zeros(80)
    front[10] = 1.0
    for hour in range(1, 6):
        front = M @ front
        assert front.argmax() == 10 + hour
        assert front[10 + hour] == pytest.approx(1.0, abs=1e-3)
    slow = transport_matrix(lon, lat, edges, (km_a_step / 3.6 / 4, 0.0), 0.0)
    front = np.eye(80)[10]
    for _ in range(40):
        front = slow @ front
    assert front @ np.arange(80) == pytest.approx(20.0, rel=1e-3)  # 40 hours at a quarter of a step


def test_mixing_without_flow_conserves_a_front_on_a_ring_and_spreads_it():
    n = 36
    lon = np.arange(n) * 10.0 - 180
    edges = np.sort(np.stack([np.arange(n), np.roll(np.arange(n), -1)], axis=1), axis=1)
    M = transport_matrix(lon, np.zeros(n), edges, (0.0, 0.0), 0.5)
    front = np.eye(n)[5]
    for _ in range(8):
        front = M @ front
    assert front.sum() == pytest.approx(1.0)
    steps = (np.arange(n) - 5 + n // 2) % n - n // 2
    assert front @ steps == pytest.approx(0.0, abs=1e-12)
    assert front @ steps**2 == pytest.approx(8 * 0.5)  # variance of a lazy random walk


def test_hour_zero_is_what_the_stations_read(live):
    live.reset(1)
    rows = np.arange(live.policy_space.size)
    assert live.context == 0.0
    assert live.expected(rows) == pytest.approx(live.stations.readings, abs=1e-9)


def test_without_fronts_the_weather_is_a_daily_cycle_warmest_in_the_afternoon():
    world = model(memory=1e12)  # fronts that take for ever to arrive
    days = []
    for _ in range(48):
        days.append(world.weather[:, 0])
        world.step()
    days = np.array(days)
    assert days[:24] == pytest.approx(days[24:], abs=1e-3)
    assert np.ptp(days, axis=0) == pytest.approx(2 * AMPLITUDE[0], rel=0.02)
    warmest = (days[:24].argmax(axis=0) + world.lon / 15) % 24
    assert np.abs(warmest - 15).max() <= 0.51


def test_anomalies_stay_within_their_spread_and_fade():
    world = model(memory=12.0)
    seen = []
    for _ in range(1500):
        world.step()
        seen.append(world.anomaly)
    deviation = np.array(seen).std(axis=0)
    assert (deviation < 1.15 * np.array(SPREAD)).all()
    assert (deviation.mean(axis=0) > 0.5 * np.array(SPREAD)).all()
    temperature = np.array(seen)[:, :, 0]
    humidity = np.array(seen)[:, :, 1]
    assert np.corrcoef(temperature.ravel(), humidity.ravel())[0, 1] < -0.6
    apart = [np.corrcoef(temperature[:-h].ravel(), temperature[h:].ravel())[0, 1] for h in (1, 12, 48)]
    assert apart[0] > 0.8 > 0.45 > apart[1] > apart[2]
    assert abs(apart[2]) < 0.15


def test_humidity_and_wind_stay_physical():
    lon, lat, edges = line()
    readings = np.tile([290.0, 97.0, 0.2], (40, 1))
    world = WeatherModel(lon, lat, readings, edges)
    seen = []
    for _ in range(300):
        world.step()
        seen.append(world.weather)
    seen = np.array(seen)
    assert 0.0 <= seen[..., 1].min() < seen[..., 1].max() == 100.0
    assert seen[..., 2].min() == 0.0


def test_sensors_are_mesa_agents_that_read_the_weather_of_their_place():
    world = model(noise_variance=[0.0, 0.0, 0.0], drift=[0.0, 0.0, 0.0])
    assert isinstance(world, mesa.Model)
    assert len(world.agents) == 60
    assert list(world.agents_by_type) == [Sensor]
    world.step()
    for sensor in world.sensors[::7]:
        assert np.array_equal(sensor.read(), world.weather[sensor.row])


def test_noise_and_drift_have_their_variance_and_drift_is_slow():
    world = model(n=400, noise_variance=[0.04, 0.03, 0.005], drift=[0.2, 1.0, 0.1])
    drift, noise = [world.drift], [world.noise]
    for _ in range(50):
        world.step()
        drift.append(world.drift)
        noise.append(world.noise)
    assert np.array(noise).var(axis=(0, 1)) == pytest.approx([0.04, 0.03, 0.005], rel=0.05)
    assert drift[-1].std(axis=0) == pytest.approx([0.2, 1.0, 0.1], rel=0.15)
    assert np.corrcoef(drift[0][:, 0], drift[-1][:, 0])[0, 1] == pytest.approx(np.exp(-50 / 720), abs=0.03)
    assert abs(np.corrcoef(noise[0][:, 0], noise[1][:, 0])[0, 1]) < 0.2


def test_channels_and_sensors_fail_and_are_repaired_at_their_rates():
    world = model(n=300, channel_life=50.0, sensor_life=100.0, repair=10.0)
    dead, silent = [], []
    for _ in range(600):
        world.step()
        dead.append(world.dead.mean())
        silent.append(world.silent.mean())
    assert np.mean(dead[100:]) == pytest.approx(10 / 60, rel=0.06)  # of an alternating renewal process
    assert np.mean(silent[100:]) == pytest.approx(10 / 110, rel=0.08)
    table = world.datacollector.get_model_vars_dataframe()
    assert len(table) == 601
    assert table["silent_sensors"].iloc[-1] == world.silent.sum()
    assert table["temperature"].iloc[-1] == pytest.approx(world.weather[:, 0].mean())


def test_sensors_work_for_ever_where_nothing_fails():
    env = make("weather-live", sensors=30, channel_life=np.inf, sensor_life=np.inf)
    env.reset(0)
    assert np.isfinite([env.step(hour % 30).values for hour in range(100)]).all()


def test_a_dead_channel_is_a_missing_group_and_a_silent_sensor_a_failed_step():
    env = make("weather-live", sensors=60, channel_life=5.0, sensor_life=20.0)
    env.reset(0)
    missing = failed = 0
    for hour in range(150):
        assert env.context == hour
        model = env.model
        silent, dead = model.silent[hour % 60, 0], model.dead[hour % 60]
        if silent or dead.all():
            failed += 1
            with pytest.raises(SimulationError, match=f"is silent in hour {hour}") as error:
                env.step(hour % 60)
            assert error.value.policy == hour % 60
        else:
            outcomes = env.step(hour % 60)
            assert np.array_equal(np.isnan(outcomes.values), dead)
            assert outcomes.info["hour"] == hour
            missing += dead.any()
    assert missing > 10 and failed > 10
    assert env.context == 150.0


def test_a_refused_policy_lets_no_time_pass(live):
    live.reset(0)
    with pytest.raises(ValueError, match=r"candidate row 80 is outside 0\.\.79"):
        live.step(80)
    assert live.context == 0.0


def test_the_stated_variance_is_that_of_the_readings_errors():
    env = make("weather-live", sensors=400, channel_life=np.inf, sensor_life=np.inf)
    errors = []
    for seed in range(3):
        env.reset(seed)
        for row in range(0, 400, 2):
            truth = env.expected([row])[0]
            errors.append(env.step(row).values - truth)
    assert np.array(errors).var(axis=0) == pytest.approx(env.noise_variances, rel=0.2)


def read(env, row):
    """A reading, nan where the sensor is silent."""
    try:
        return env.step(row).values
    except SimulationError:
        return np.full(3, np.nan)


def walk(env, rows, seed):
    """Readings and truths of a sequence of rows."""
    env.reset(seed)
    readings, truths = [], []
    for row in rows:
        truths.append(env.expected(np.arange(env.policy_space.size)))
        readings.append(read(env, row))
    return np.array(readings), np.array(truths)


def test_the_weather_is_the_worlds_and_the_errors_are_the_trials(live):
    rows = [3, 1, 4, 1, 5, 9]
    first, truth = walk(live, rows, 7)
    again, same_truth = walk(live, rows, 7)
    assert np.array_equal(first, again, equal_nan=True)
    other, other_truth = walk(live, rows, 8)
    assert not np.array_equal(first, other)
    assert np.array_equal(truth, same_truth) and np.array_equal(truth, other_truth)
    elsewhere = walk(make("weather-live", sensors=80, seed=1), rows, 7)[1]
    assert not np.array_equal(truth[-1], elsewhere[-1])


def test_what_is_read_changes_neither_weather_nor_errors(live):
    one, truth = walk(live, [0, 0, 0, 5], 3)
    two, same_truth = walk(live, [9, 8, 7, 5], 3)
    assert np.array_equal(truth, same_truth)
    assert np.array_equal(one[3], two[3])


def test_a_saved_state_goes_on_as_if_nothing_had_happened(live):
    expected, _ = walk(live, range(30), 2)
    walk(live, range(10), 2)
    state, copy = live.get_state(), pickle.loads(pickle.dumps(live))
    assert all(isinstance(value, np.ndarray) for value in state.values())
    live.reset(99)
    live.set_state(state)
    assert live.context == 10.0
    for row in range(10, 30):
        for env in (live, copy):
            assert np.array_equal(read(env, row), expected[row], equal_nan=True)


def test_the_pilot_run_is_another_weather_of_the_same_sensors(live):
    features, outcomes = live.set_aside
    assert features.shape == (1000, 4)
    assert outcomes.shape == (1000, 3)
    hours = features[:, -1]
    assert np.array_equal(np.unique(hours), np.arange(200.0))
    places = live.policy_space.embed(np.arange(80))
    rows = np.array([np.abs(places - point).sum(axis=1).argmin() for point in features[:, :3]])
    assert np.array_equal(places[rows], features[:, :3])
    start, late = hours == 0, hours == 100
    live.reset(0)
    assert outcomes[start] == pytest.approx(live.expected(rows[start]))
    for _ in range(100):
        live.model.step()
    assert np.abs(outcomes[late] - live.expected(rows[late]))[:, 0].max() > 0.5
    assert np.isfinite(live.bounds).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": 0}, "memory=0 must be a finite number > 0"),
        ({"flow": 8}, "flow=8 must be two numbers: eastward and northward"),
        ({"channel_life": 0.5}, "channel_life=0.5 must be a finite number >= 1"),
        ({"repair": "never"}, "repair='never' must be a finite number >= 1"),
        ({"sensor": 9}, r"no option 'sensor'; did you mean 'sensors'."),
    ],
)
def test_a_wrong_option_is_named_with_what_is_accepted(options, message):
    with pytest.raises(ValueError, match=message) as error:
        make("weather-live", **options)
    assert "\n" not in str(error.value)


def test_where_there_are_fewer_stations_all_are_sensors():
    env = WeatherLive(sensors=5000)
    assert env.policy_space.size == 1426
