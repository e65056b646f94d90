"""Repeats that are said to be free of noise and contradict each other count equally, in all posteriors."""

import itertools

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from optimizer import (
    CandidatePosterior,
    Composition,
    DecomposedGP,
    DecomposedGPRegressor,
    GaussianProcess,
    RowStorage,
)
from optimizer.posterior.candidate_mixture import CandidateMixture
from optimizer.posterior.process_mixture import ProcessMixture

GRID = np.linspace(0, 1, 21)[:, None]
KERNEL, SHORT = 3.0 * RBF(0.2), 3.0 * RBF(0.1)
ROWS, VALUES = np.array([10, 4, 10, 10]), np.array([1.0, 0.3, 2.0, 6.0])


def over_candidates(**storage):
    return CandidatePosterior(
        [KERNEL], [0.0], Composition(1), features=GRID, storage=RowStorage(**storage) if storage else None
    )


# Each: a new posterior, whether it is told rows, and how far from the mean its arithmetic leaves it.
POSTERIORS = {
    "process": (lambda: GaussianProcess(KERNEL, 0.0), False, 1e-6),
    "decomposed": (lambda: DecomposedGP([KERNEL], [0.0], Composition(1)), False, 1e-6),
    "mixture": (lambda: ProcessMixture([KERNEL, SHORT], [0.0, 0.0], [0.5, 0.5]), False, 1e-6),
    "candidates": (over_candidates, True, 1e-6),
    "low rank": (lambda: over_candidates(rank_tolerance=1e-12), True, 1e-6),
    "float32": (lambda: over_candidates(dtype="float32"), True, 0.02),
    "mixture over candidates": (
        lambda: CandidateMixture([([KERNEL, SHORT], [0.0, 0.0], [0.5, 0.5])], Composition(1), features=GRID),
        True,
        1e-6,
    ),
}


def means(posterior, by_row):
    return np.asarray(posterior.predict(np.arange(21) if by_row else GRID)[0])


@pytest.mark.parametrize("kind", POSTERIORS)
@pytest.mark.parametrize("stated", [None, 0.0])
def test_contradicting_repeats_count_equally_in_any_order(kind, stated):
    new, by_row, tolerance = POSTERIORS[kind]
    once = new()
    at = np.array([10, 4])
    once.observe(at if by_row else GRID[at], np.array([[3.0], [0.3]]))
    expected = means(once, by_row)  # of their mean, observed once
    assert expected[10] == pytest.approx(3.0, abs=tolerance)
    for order in itertools.permutations(range(4)):
        told, rows = new(), ROWS[list(order)]
        for row, y in zip(rows, VALUES[list(order)], strict=True):
            x = np.array([row]) if by_row else GRID[[row]]
            told.observe(x, np.array([[y]]), stated)
        assert means(told, by_row) == pytest.approx(expected, abs=10 * tolerance)
        together = new().observe(rows if by_row else GRID[rows], VALUES[list(order)][:, None])
        assert means(together, by_row) == pytest.approx(expected, abs=10 * tolerance)


def test_the_regression_for_scikit_learn_has_the_same_rule():
    found = DecomposedGPRegressor(KERNEL, 0.0).fit(GRID[ROWS], VALUES[:, None]).predict(GRID)
    assert found == pytest.approx(
        means(GaussianProcess(KERNEL, 0.0).observe(GRID[ROWS], VALUES), False), abs=1e-5
    )


def test_a_noise_that_is_stated_is_left_as_it_is():
    noisy = GaussianProcess(KERNEL, 0.0).observe(GRID[ROWS], VALUES, np.full(4, 1e-3))
    K = KERNEL(GRID[ROWS]) + 1e-3 * np.eye(4)
    expected = KERNEL(GRID, GRID[ROWS]) @ np.linalg.solve(K, VALUES)
    assert noisy.predict(GRID)[0] == pytest.approx(expected, abs=1e-9)
