"""The kernel of a climate, a weather and a day: its three parts by hand, and its slopes by differences."""

import numpy as np
import pytest

from optimizer.kernels.space_time import climate_kernel


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=(8, 3)), rng.uniform(0, 100, 8)])


def test_it_is_the_sum_of_what_stays_what_passes_and_what_comes_back(points):
    d = np.linalg.norm(points[:, None, :3] - points[None, :, :3], axis=2)
    t = np.abs(points[:, None, 3] - points[None, :, 3])
    stays = np.exp(-d / 0.5)
    passes = 0.5 * (1 + np.sqrt(3) * d / 0.8) * np.exp(-np.sqrt(3) * d / 0.8) * np.exp(-t / 24.0)
    back = 0.5 * np.exp(-(d**2) / (2 * 3.0**2)) * np.exp(-2 * np.sin(np.pi * t / 24.0) ** 2)
    np.testing.assert_allclose(climate_kernel()(points), stays + passes + back, atol=1e-12)
    np.testing.assert_allclose(climate_kernel().diag(points), np.full(8, 2.0))


def test_after_many_days_at_the_same_hour_climate_and_cycle_are_left():
    here, later = np.array([[0.0, 0.0, 0.0, 5.0]]), np.array([[0.0, 0.0, 0.0, 5.0 + 24.0 * 100]])
    assert climate_kernel()(here, later)[0, 0] == pytest.approx(1.5)


def test_its_slopes_are_differences(points):
    kernel = climate_kernel()
    K, slopes = kernel(points, eval_gradient=True)
    assert slopes.shape == (8, 8, len(kernel.theta)) and len(kernel.theta) == 8
    for i in range(len(kernel.theta)):
        step = np.zeros(len(kernel.theta))
        step[i] = 1e-6
        up, down = (kernel.clone_with_theta(kernel.theta + s)(points) for s in (step, -step))
        np.testing.assert_allclose(slopes[:, :, i], (up - down) / 2e-6, atol=1e-6)
    assert (np.linalg.eigvalsh(K) > 0).all()
