"""Whether a policy works, as a probability: against scikit-learn, by hand, and against differences."""

import numpy as np
import pytest
from scipy.optimize import Bounds, approx_fprime
from scipy.special import expit
from sklearn.gaussian_process import GaussianProcessClassifier

from optimizer import SearchSpace
from optimizer.acquisition.caution import Caution
from optimizer.acquisition.feasibility import ALONE, MEMORY, Answering, Classified, Unknown, feasibility

SPACE = SearchSpace(Bounds([0.0, -10.0], [1.0, 10.0]))
TRIED = SPACE.sample(40, np.random.default_rng(0))
WORKED = TRIED[:, 0] < 0.7
NEW = SPACE.sample(9, np.random.default_rng(1))


def models():
    hours = np.arange(40.0)
    return {
        "classified": Classified(SPACE, TRIED, WORKED),
        "unknown": Unknown(SPACE, TRIED[:3]),
        "answering": Answering(
            SPACE, np.vstack([NEW + [0.01, 0.1]] * 2), np.arange(18) % 3 > 0, hours[:18], 20
        ),
    }


def test_the_classifier_is_scikit_learns():
    ours = Classified(SPACE, TRIED, WORKED)
    peer = GaussianProcessClassifier(ours.kernel, optimizer=None).fit(SPACE.to_unit(TRIED), WORKED)
    expected = peer.predict_proba(SPACE.to_unit(NEW))[:, 1]
    # Both approximate the integral of the logistic function, each in its own way.
    assert ours.probability(NEW) == pytest.approx(expected, abs=0.02)
    if not hasattr(peer.base_estimator_, "latent_mean_and_variance"):
        pytest.skip("scikit-learn tells the latent mean and variance from 1.7 on")
    m, v = peer.base_estimator_.latent_mean_and_variance(SPACE.to_unit(NEW))
    assert ours.probability(NEW) == pytest.approx(expit(m / np.sqrt(1 + np.pi * v / 8)), abs=1e-6)
    assert np.ptp(np.sqrt(1 + np.pi * v / 8)) > 0.1
    assert expected.min() < 0.2 and expected.max() > 0.9


def test_how_often_anything_works_is_learned_beside_where():
    """The log-odds that all policies share have variance 4, as a constant kernel."""
    constant = Classified(SPACE, TRIED, WORKED).kernel.k1
    assert constant.constant_value == 4.0 and constant.hyperparameter_constant_value.fixed
    corner = 0.05 * TRIED + [0.0, -9.5]  # of the space
    rare = np.arange(40) % 10 > 0
    assert Classified(SPACE, corner, rare).probability([[1.0, 10.0]])[0] > 0.6
    assert Classified(SPACE, corner, ~rare).probability([[1.0, 10.0]])[0] < 0.4


@pytest.mark.parametrize("kind", models())
def test_gradients_are_those_of_the_probability(kind):
    model = models()[kind]
    probability, gradient = model.with_gradient(NEW)
    assert probability == pytest.approx(model.probability(NEW))
    for x, slope in zip(NEW, gradient, strict=True):
        numeric = approx_fprime(x, lambda y: model.probability(y[None])[0], [1e-6, 1e-5])
        assert slope == pytest.approx(numeric, rel=1e-3, abs=2e-4)
    assert np.abs(gradient).max() > 1e-3


def test_an_entry_that_has_nothing_to_do_with_failures_is_seen_through():
    model = Classified(SPACE, TRIED, WORKED)
    along = np.column_stack([np.full(9, 0.2), np.linspace(-10, 10, 9)])
    assert model.probability(along).min() > 0.85
    across = np.column_stack([np.full(9, 0.95), np.linspace(-10, 10, 9)])
    assert model.probability(across).max() < 0.2


def test_before_anything_has_worked_the_far_end_is_more_probable():
    model = feasibility(SPACE, np.array([[0.0, -10.0], [0.0, -10.0]]), np.zeros(2, dtype=bool))
    r2 = 0.5**2 / (ALONE**2 * 2)
    assert model.probability(np.array([[0.5, -10.0]])) == pytest.approx([0.5 * (1 - np.exp(-r2 / 2))])


def test_failures_of_many_policies_are_kept_with_what_worked_next_to_them():
    X = SPACE.sample(1000, np.random.default_rng(2))
    model = Classified(SPACE, X, X[:, 0] < 0.7)
    right = (model.probability(NEW) > 0.5) == (NEW[:, 0] < 0.7)
    assert right.all() and model.probability(NEW[NEW[:, 0] < 0.6]).min() > 0.8


def test_an_answer_and_a_silence_fade_with_the_hours():
    space = SearchSpace(candidates=np.arange(5.0)[:, None])
    rows, answered = np.array([0, 1, 1]), np.array([False, False, True])
    model = Answering(space, rows, answered, [0.0, 0.0, 2.0], now=4.0)
    base = (1 + 1) / (3 + 1)
    once, later = np.exp(-4 / MEMORY), np.exp(-2 / MEMORY)
    first = base * (1 - once)
    second = base * (1 - once) + later * (1 - base * (1 - once))
    assert model.probability(np.arange(3)) == pytest.approx([first, second, base])
    after = Answering(space, rows, answered, [0.0, 0.0, 2.0], now=500.0)
    assert after.probability(np.arange(3)) == pytest.approx(np.full(3, base))


def test_a_search_keeps_to_what_works_and_never_repeats_a_failure():
    space = SearchSpace(candidates=np.linspace(0, 1, 11)[:, None])
    rows = np.array([0, 1, 2, 3, 4, 5, 8, 9, 10])
    model = feasibility(space, rows, rows < 7)
    caution = Caution(space, model, rows[rows < 7], rows[rows >= 7])
    chosen = space.maximise(caution.restricted(lambda at: at.astype(float)))[0]
    assert model.probability(np.array([chosen]))[0] >= caution.level == 0.8
    assert model.probability(np.array([chosen + 1]))[0] < 0.8
    # Where none is left that probably works, those that failed still come last.
    hopeless = Caution(space, model, rows[:0], rows, least=2.0)
    assert space.maximise(hopeless.restricted(lambda at: -np.abs(at - 9.0)))[0] not in rows


def test_a_price_leads_a_climb_along_the_edge_of_what_works():
    caution = Caution(SPACE, Classified(SPACE, TRIED, WORKED), TRIED[WORKED], TRIED[~WORKED])
    value, with_gradient = caution.priced(
        lambda X: X[:, 0] + 0.01 * X[:, 1],
        lambda X: (X[:, 0] + 0.01 * X[:, 1], np.tile([1.0, 0.01], (len(X), 1))),
    )
    best = SPACE.maximise(value, with_gradient, np.random.default_rng(0))[0]
    assert caution.feasibility.probability(best[None])[0] == pytest.approx(0.8, abs=0.03)
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 201), np.linspace(-10, 10, 201)), axis=-1).reshape(-1, 2)
    allowed = grid[caution.feasibility.probability(grid) >= 0.8]
    assert best[0] + 0.01 * best[1] >= (allowed[:, 0] + 0.01 * allowed[:, 1]).max() - 0.01
