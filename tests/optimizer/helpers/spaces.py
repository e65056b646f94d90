"""Spaces that searches are tested on, and a function of many bumps."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint

from optimizer.space.search_space import SearchSpace

DOSES = np.array([0.262, 0.406, 0.197, 0.044, 0.091])
COSTS = np.array([24.0, 33.0, 15.0, 4.0, 6.0])


def box(d, low=0.0, high=1.0):
    return Bounds(np.full(d, low), np.full(d, high))


def vaccination():
    return SearchSpace(box(5), LinearConstraint(DOSES, -np.inf, 0.47))


def treatment():
    return SearchSpace(box(5, 0.12, 0.3), LinearConstraint(COSTS, 14.4, 14.4))


def two_budgets():
    rows = LinearConstraint(np.array([[1.0, 1, 1, 1], [1.0, -1, 0, 0]]), [2.0, -0.2], [2.0, 0.2])
    return SearchSpace(Bounds([0, -1, 0.5, 0], [1, 1, 0.5, 3]), [rows, LinearConstraint([0, 0, 1, 1], 1, 6)])


def box_only():
    return SearchSpace(Bounds([-3.0, 0.0], [5.0, 1e4]))


def needle():
    """Two per cent of a per cent of the box: sampled by hit-and-run."""
    return SearchSpace(box(4), LinearConstraint([1.0, 2, 3, 4], -np.inf, 0.5))


SPACES = [vaccination, treatment, box_only, needle]


def bumps(space, seed, count=6):
    """A sum of Gaussian bumps over the unit box, its value and its gradient by the coordinates."""
    rng = np.random.default_rng(seed)
    centres, heights = rng.random((count, space.d)), rng.normal(size=count)
    width = np.where(space.upper > space.lower, space.upper - space.lower, 1.0)

    def value_and_gradient(x):
        difference = (x - space.lower)[:, None] / width - centres
        e = heights * np.exp(-4 * (difference**2).sum(axis=2))
        return e.sum(axis=1), -8 * (e[..., None] * difference).sum(axis=1) / width

    return lambda x: value_and_gradient(x)[0], value_and_gradient
