"""Kriging at other places, against the system of ordinary kriging solved by hand."""

import numpy as np
import pytest

from simulators.stations.local_kriging import Covariance, Neighbourhoods, choose_covariance, kriged
from simulators.stations.sphere import points_on_sphere


@pytest.fixture
def world():
    rng = np.random.default_rng(3)
    return rng.uniform(-100, -90, 12), rng.uniform(30, 40, 12), rng.normal(290, 5, 12)


def test_a_place_between_stations_solves_the_system_of_ordinary_kriging(world):
    lon, lat, values = world
    x, y = np.array([-95.0, -91.3]), np.array([35.0, 38.2])
    covariance = Covariance(400.0, 0.1)
    around = Neighbourhoods(lon, lat, 11)
    mean, deviation = around.elsewhere(values, points_on_sphere(x, y), covariance)
    points = points_on_sphere(lon, lat)
    K = np.exp(-np.linalg.norm(points[:, None] - points[None], axis=2) / 400.0) + 0.1 * np.eye(12)
    system = np.block([[K, np.ones((12, 1))], [np.ones((1, 12)), np.zeros((1, 1))]])
    for i in range(2):
        c = np.exp(-np.linalg.norm(points - points_on_sphere(x[i], y[i]), axis=1) / 400.0)
        solution = np.linalg.solve(system, [*c, 1.0])
        weights, multiplier = solution[:12], solution[12]
        assert mean[i] == pytest.approx(weights @ values)
        assert deviation[i] ** 2 == pytest.approx(1.1 - weights @ c - multiplier)


def test_the_scale_is_that_of_the_errors_at_the_stations(world):
    lon, lat, values = world
    mean, deviation = kriged(lon, lat, values, np.array([-95.0]), np.array([35.0]))
    again, twice = kriged(lon, lat, 290.0 + 2.0 * (values - 290.0), np.array([-95.0]), np.array([35.0]))
    assert again - 290.0 == pytest.approx(2.0 * (mean - 290.0))
    assert twice == pytest.approx(2.0 * deviation)
    around = Neighbourhoods(lon, lat, 16)
    every = np.ones(12, dtype=bool)
    covariance = choose_covariance(around, values, every)
    own, spread = around.predict(values, np.arange(12), every, covariance)
    unit = around.elsewhere(values, points_on_sphere([-95.0], [35.0]), covariance)[1]
    assert deviation == pytest.approx(1.4826 * np.median(np.abs(values - own) / spread) * unit)
