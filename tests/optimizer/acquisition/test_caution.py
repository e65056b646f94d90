"""How a search keeps to policies that probably work: the level that it asks for, and what the lack costs."""

import numpy as np
import pytest
from scipy.optimize import Bounds, approx_fprime
from scipy.special import expit

from optimizer import SearchSpace
from optimizer.acquisition.caution import ASKED, LOWEST, SHARE, SMOOTH, STEEP, Caution
from optimizer.acquisition.feasibility import Feasibility

LINE = SearchSpace(Bounds([0.0, 0.0], [1.0, 2.0]))
GRID = np.linspace(0, 1, 11)[:, None]


class Known(Feasibility):
    """A probability that is known: `most` times the logistic of a plane, at policies or rows of the grid."""

    def __init__(self, most=1.0, slope=12.0, middle=0.5):
        self.most, self.slope, self.middle = most, slope, middle

    def probability(self, policies):
        X = GRID[policies] if np.ndim(policies) == 1 else policies
        return self.most * expit(self.slope * (self.middle - X[:, 0]) + 0.3 * X[:, -1])

    def with_gradient(self, X):
        p = self.probability(X)
        inner = p * (1 - p / self.most)
        return p, np.stack([-self.slope * inner, 0.3 * inner], axis=1)


def of(space, feasibility, failed=(), worked=()):
    empty = np.empty((0, 2)) if not space.finite else np.empty(0, dtype=int)
    return Caution(
        space,
        feasibility,
        np.array(worked) if len(worked) else empty,
        np.array(failed) if len(failed) else empty,
    )


@pytest.mark.parametrize("most", [1.0, 0.85, 0.4, 0.01])
def test_the_level_is_what_is_asked_for_or_else_nine_tenths_of_what_can_be_had(most):
    space, known = SearchSpace(candidates=GRID), Known(most)
    best = known.probability(np.arange(11)).max()
    expected = ASKED if best >= ASKED else SHARE * best
    assert of(space, known).level == pytest.approx(expected)
    assert (most < 0.8) == (expected < ASKED)


def test_where_little_works_the_best_of_what_probably_works_is_still_chosen():
    """The score is highest where nothing works; all within nine tenths of the best probability is allowed."""
    space, known = SearchSpace(candidates=GRID), Known(0.3, slope=5.0)
    chosen = space.maximise(of(space, known).restricted(lambda rows: rows.astype(float)))[0]
    probability = known.probability(np.arange(11))
    assert chosen == np.flatnonzero(probability >= 0.9 * probability.max()).max() > 0


def value(X):
    return 3.0 * np.sin(4 * X[:, 0]) - X[:, 1] ** 2


def slopes(X):
    return np.stack([12.0 * np.cos(4 * X[:, 0]), -2 * X[:, 1]], axis=1)


def priced(known, **which):
    caution = of(LINE, known, **which)
    return caution, *caution.priced(value, lambda X: (value(X), slopes(X)))


@pytest.mark.parametrize("most", [1.0, 0.5])
def test_the_price_is_ten_ranges_of_the_score_for_all_that_is_lacking(most):
    """By the definition: with l the share that lacks, l^2 / (2 s) up to l = s = 0.05, then l - s / 2."""
    caution, of_policies, _ = priced(Known(most))
    seen = LINE.sample(256, np.random.default_rng(0))
    X = np.stack([np.linspace(0, 1, 401), np.full(401, 0.7)], axis=1)
    lacking = np.maximum(1 - Known(most).probability(X) / caution.level, 0)
    total = np.where(lacking < 0.05, lacking**2 / 0.1, lacking - 0.025)
    expected = value(X) - 10 * np.ptp(value(seen)) * total
    assert of_policies(X) == pytest.approx(expected)
    assert (lacking == 0).any() and (lacking > 0.9).any() and ((lacking > 0) & (lacking < 0.05)).any()
    assert (STEEP, SMOOTH) == (10.0, 0.05)


@pytest.mark.parametrize("most", [1.0, 0.5])
def test_the_priced_gradient_is_that_of_the_priced_score_and_has_no_jump(most):
    _, of_policies, with_gradient = priced(Known(most))
    X = np.stack([np.linspace(0.31, 0.69, 58), np.linspace(0.2, 1.8, 58)], axis=1)
    values, gradients = with_gradient(X)
    assert values == pytest.approx(of_policies(X))
    for x, gradient in zip(X, gradients, strict=True):
        numeric = approx_fprime(x, lambda y: of_policies(y[None])[0], 1e-7)
        assert gradient == pytest.approx(numeric, rel=1e-3, abs=1e-3)
    fine = np.stack([np.linspace(0, 1, 20001), np.full(20001, 0.7)], axis=1)
    assert np.abs(np.diff(of_policies(fine))).max() < 0.5  # a jump of s / 2 ranges would be 1.5


def test_what_has_failed_is_priced_below_all_else():
    failed = np.array([[0.1, 0.5]])
    _, of_policies, _ = priced(Known(), failed=failed)
    beside = failed + [[1e-3, 0.0]]
    assert of_policies(failed)[0] == LOWEST < of_policies(beside)[0]


def test_a_flat_score_has_a_price_as_well():
    caution = of(LINE, Known())
    flat, _ = caution.priced(lambda X: np.full(len(X), 2.0), lambda X: (np.full(len(X), 2.0), 0 * X))
    hopeless = np.array([[1.0, 0.0]])
    lacking = 1 - Known().probability(hopeless) / caution.level
    assert flat(hopeless) == pytest.approx(2.0 - 10.0 * (lacking - 0.025))
