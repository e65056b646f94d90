"""Regret bounds of one round, where every term has a closed form."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer import Composition, FiniteBeta, Prior, SearchSpace, regret_bounds

POINTS = np.linspace(0, 1, 21)[:, None]
SCALES, NOISE = np.array([1.0, 4.0, 0.25]), np.array([0.01, 0.5, 0.02])
PRIOR = Prior([ConstantKernel(s) * RBF(0.2) for s in SCALES], NOISE, [0.0] * 3)
BETA = 2 * np.log(21 * np.pi**2 / (6 * 0.1))  # not scaled down


def varying(rows):
    x = POINTS[np.asarray(rows), 0]
    return np.stack([1 - 2 * x, -3 + x, 0.5 * np.ones_like(x)], axis=1)


@pytest.mark.parametrize("weights", [[1.0, -3.0, 2.0], varying])
def test_bounds_of_the_first_round_are_their_closed_forms(weights):
    """gamma_1 = max_x log(1 + k(x, x) / noise) / 2, the information of one observation."""
    W = varying(np.arange(21)) if callable(weights) else np.tile(weights, (21, 1))
    composition = Composition(3, weights=weights, sense="minimize")
    found = regret_bounds(
        PRIOR, composition, SearchSpace(candidates=POINTS), FiniteBeta(21, 0.1, scale_down=5.0), 1
    )
    gamma = np.log1p(SCALES / NOISE) / 2
    constants = 8 / np.log1p(SCALES / NOISE) * SCALES
    B = np.abs(W).max(axis=0)
    assert found.decomposed == pytest.approx([np.sqrt(BETA * np.sum(constants * B**2 * gamma))])
    k, noise = W**2 @ SCALES, W**2 @ NOISE
    entire = BETA * (8 * k / np.log1p(k / noise)).max() * (np.log1p(k / noise) / 2).max()
    assert found.entire == pytest.approx([np.sqrt(entire)])
