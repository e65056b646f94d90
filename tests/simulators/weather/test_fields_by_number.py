"""The living weather against its laws: how far a flow carries, how anomalies vary and fade."""

import numpy as np
import pytest

from simulators.weather.model import AMPLITUDE, DRYING, SPREAD, WeatherModel
from simulators.weather.transport import transport_matrix

EARTH = 6371.0


def chain(n):
    return np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)


@pytest.mark.parametrize(("flow", "sign"), [((0.0, 10.0), 1), ((0.0, -10.0), -1)])
def test_a_northward_flow_carries_along_a_meridian_at_its_speed(flow, sign):
    lat = np.linspace(20, 60, 81)
    M = transport_matrix(np.full(81, -100.0), lat, chain(81), flow, 0.0)
    moved = np.eye(81)[40]
    for _ in range(10):
        moved = M @ moved
    km = np.radians(moved @ lat - lat[40]) * EARTH
    assert km == pytest.approx(sign * 360.0, rel=2e-3)  # ten hours at 36 km an hour


def test_an_eastward_flow_carries_along_a_parallel_at_its_speed():
    lon = np.linspace(-110, -70, 81)
    M = transport_matrix(lon, np.full(81, 45.0), chain(81), (10.0, 0.0), 0.0)
    moved = np.eye(81)[20]
    for _ in range(10):
        moved = M @ moved
    km = np.radians(moved @ lon - lon[20]) * EARTH * np.cos(np.radians(45))
    assert km == pytest.approx(360.0, rel=2e-3)


@pytest.fixture(scope="module")
def still():
    """Anomalies (hours, sensors, 3) where nothing moves or mixes, and the model."""
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(-120, -70, 40), rng.uniform(25, 50, 40)
    readings = np.tile([290.0, 50.0, 30.0], (40, 1))
    world = WeatherModel(lon, lat, readings, chain(40), flow=(0.0, 0.0), mixing=0.0, memory=6.0)
    seen = []
    for _ in range(2500):
        world.step()
        seen.append(world.anomaly)
    return np.array(seen[60:]), world


def test_anomalies_have_their_spread_their_correlation_and_their_memory(still):
    seen, _ = still
    for j, spread in enumerate(SPREAD):
        one = seen[:, :, j]
        assert one.std() == pytest.approx(spread, rel=0.06)
        kept = np.sum(one[1:] * one[:-1]) / np.sum(one[:-1] ** 2)
        assert kept == pytest.approx(np.exp(-1 / 6), abs=0.015)
    pushes = seen[1:] - np.exp(-1 / 6) * seen[:-1]
    temperature, humidity, wind = (pushes[:, :, j].ravel() for j in range(3))
    assert np.corrcoef(temperature, humidity)[0, 1] == pytest.approx(-DRYING, abs=0.03)
    assert np.corrcoef(temperature, wind)[0, 1] == pytest.approx(0.0, abs=0.05)
    assert np.corrcoef(humidity, wind)[0, 1] == pytest.approx(0.0, abs=0.05)


def test_fronts_have_variance_one_everywhere_and_fall_off_with_distance(still):
    _, world = still
    np.testing.assert_allclose((world.fronts**2).sum(axis=1), 1.0)
    at = np.radians([world.lat, world.lon])
    points = EARTH * np.array([np.cos(at[0]) * np.cos(at[1]), np.cos(at[0]) * np.sin(at[1]), np.sin(at[0])])
    distance = np.linalg.norm(points[:, :, None] - points[:, None], axis=0)
    found, expected = world.fronts @ world.fronts.T, np.exp(-0.5 * (distance / 800.0) ** 2)
    assert np.sqrt(np.mean((found - expected) ** 2)) < 2.0 / np.sqrt(64)  # 64 random features
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.8


def test_the_truth_is_climate_plus_cycle_plus_anomaly_by_the_sun(still):
    _, world = still
    hours = world.start + world.hour + world.lon / 15.0
    cycle = np.cos(2 * np.pi * (hours[:, None] - 15.0) / 24.0) * AMPLITUDE
    at_zero = np.cos(2 * np.pi * (world.start + world.lon[:, None] / 15.0 - 15.0) / 24.0) * AMPLITUDE
    expected = np.array([290.0, 50.0, 30.0]) - at_zero + cycle + world.anomaly
    expected[:, 1] = np.clip(expected[:, 1], 0, 100)
    np.testing.assert_allclose(world.weather, expected)
