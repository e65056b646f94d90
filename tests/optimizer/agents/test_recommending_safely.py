"""Which policy is recommended where some fail, and the two rules that a doubtful prediction has to pass."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from optimizer import Composition, DecomposedGP, GeneralComposition, Prior, SearchSpace, make_agent
from optimizer.acquisition.caution import Caution
from optimizer.acquisition.feasibility import Feasibility
from optimizer.agents import recommending
from optimizer.agents.recommending import (
    contradicted,
    left_out_errors,
    no_riskier,
    objective_interval,
    probably_better,
    within,
)

GRID = np.linspace(0, 1, 41)[:, None]
TOLD = np.array([2, 9, 20, 27, 36])
SPACE = SearchSpace(candidates=GRID)


class Table(Feasibility):
    """Probabilities by row."""

    def __init__(self, otherwise, **rows):
        self.values = np.full(41, otherwise)
        for row, probability in rows.items():
            self.values[int(row[1:])] = probability

    def probability(self, policies):
        return self.values[policies]

    def with_gradient(self, X):
        raise NotImplementedError


def recommended(monkeypatch, table, Y, length_scale=0.15):
    """What is recommended after these observations, where policies work with these probabilities."""
    prior = Prior([9.0 * RBF(length_scale)], np.array([1e-4]), [0.0])
    agent = make_agent("d-gpucb", SPACE, Composition(1), prior=prior)
    agent.tell(TOLD, np.array(Y)[:, None])
    none = np.empty(0, dtype=int)
    monkeypatch.setattr(agent.belief, "caution", lambda time, least: Caution(SPACE, table, TOLD, none, 0.8))
    return agent.recommend().policy


def test_where_nothing_tried_works_with_nine_tenths_the_most_probable_is_recommended(monkeypatch):
    Y = [0.0, 3.0, 1.0, 2.0, -1.0]
    table = Table(0.3, r2=0.5, r9=0.6, r20=0.85, r27=0.7, r36=0.84)
    assert recommended(monkeypatch, table, Y) == 20
    alike = Table(0.3, r2=0.5, r9=0.6, r20=0.85, r27=0.85, r36=0.84)
    assert recommended(monkeypatch, alike, Y) == 27  # of two, the better one


def test_of_those_tried_the_best_that_works_with_nine_tenths_is_preferred(monkeypatch):
    Y = [0.0, 3.0, 1.0, 2.0, -1.0]
    table = Table(0.1, r2=0.95, r9=0.89, r20=0.92, r27=0.5, r36=0.91)
    assert recommended(monkeypatch, table, Y) == 20


def test_an_untried_policy_that_works_with_less_is_not_recommended(monkeypatch):
    """Row 12 has the best mean of all that a search may choose which ended a little below nine tenths."""
    Y = 3 - (GRID[TOLD, 0] - 0.3) ** 2
    smooth = 0.6
    free = Table(0.95)
    assert recommended(monkeypatch, free, Y, smooth) == 12
    assert recommended(monkeypatch, Table(0.95, r12=0.89), Y, smooth) == 9


def moments_of(model, at):
    return SimpleNamespace(
        predict=lambda policies: tuple(np.array([part]) for part in model[int(policies[0])])
    )


@pytest.mark.parametrize("mean", [0.60, 0.61, 0.70])
def test_no_riskier_is_told_by_the_lower_ends_of_both_intervals(mean):
    moments = {0: (1.0, 0.04), 1: (mean, 0.0001)}
    ends = [norm(m, np.sqrt(v)).interval(0.95)[0] for m, v in moments.values()]
    assert no_riskier(moments_of(moments, 0), 0, 1) == (ends[0] >= ends[1])
    assert no_riskier(moments_of(moments, 0), 1, 0) == (ends[1] >= ends[0])


@pytest.mark.parametrize("weights", [[1.0, 2.0], [1.0, -0.5]])
def test_a_posterior_too_large_to_copy_takes_errors_to_be_opposite(monkeypatch, weights):
    """Var(a - b) is then the square of the sum of both deviations, in every group."""
    prior = Prior([RBF(0.15), 2.0 * RBF(0.3)], np.array([0.01, 0.04]), [0.0, 0.5])
    agent = make_agent("d-gpucb", SPACE, Composition(2, weights=weights), prior=prior)
    agent.tell(TOLD, np.random.default_rng(3).normal(0, 1, (5, 2)))
    monkeypatch.setattr(recommending, "HEAVY", 0)
    model = agent.belief.model
    means, variances = model.predict_groups(np.array([10, 31]))
    deviations = np.sqrt(variances)
    spread = np.sum(np.square(weights) * (deviations[0] + deviations[1]) ** 2)
    gain = (means[0] - means[1]) @ weights
    assert probably_better(model, 10, 31) == pytest.approx(norm.cdf(gain / np.sqrt(spread)))


def test_a_general_objective_errs_at_both_policies_together_as_a_linear_one_does():
    """The sum as a general g: neighbours err alike, and which is better is far surer than either's value."""
    prior = Prior([RBF(0.15), 2.0 * RBF(0.3)], np.array([0.01, 0.04]), [0.0, 0.5])
    Y = np.random.default_rng(3).normal(0, 1, (5, 2))
    found = []
    for g in (Composition(2), GeneralComposition(2, lambda F, X: F.sum(axis=-1))):
        agent = make_agent("d-gpucb", SPACE, g, prior=prior)
        agent.tell(TOLD, Y)
        pairs = [(row, row + step) for row in range(0, 36, 4) for step in (1, 4)]
        found.append([probably_better(agent.belief.model, *pair) for pair in pairs])
    assert found[1] == pytest.approx(found[0], abs=0.04)
    assert np.ptp(found[0]) > 0.9


def test_each_policy_counts_by_its_own_weights():
    def weights(rows):
        x = GRID[rows, 0]
        return np.stack([1 + x, 2 - 3 * x], axis=1)

    prior = Prior([RBF(0.15), 2.0 * RBF(0.3)], np.array([0.01, 0.04]), [0.0, 0.5])
    agent = make_agent("d-gpucb", SPACE, Composition(2, weights=weights), prior=prior)
    Y = np.random.default_rng(3).normal(0, 1, (5, 2))
    agent.tell(TOLD, Y)
    pair = np.array([10, 14])
    W, gain, variance = weights(pair), 0.0, 0.0
    for j, kernel in enumerate(prior.kernels):
        gp = GaussianProcessRegressor(kernel, alpha=prior.noise_variances[j], optimizer=None)
        mean, covariance = gp.fit(GRID[TOLD], Y[:, j] - prior.means[j]).predict(GRID[pair], return_cov=True)
        gain += W[0, j] * (mean[0] + prior.means[j]) - W[1, j] * (mean[1] + prior.means[j])
        apart = W[:, j] * [1, -1]
        variance += apart @ covariance @ apart
    found = probably_better(agent.belief.model, *pair)
    assert found == pytest.approx(norm.cdf(gain / np.sqrt(variance)), abs=1e-6)


def test_of_policies_known_exactly_the_better_is_better_for_sure():
    known = DecomposedGP([0.0 * RBF(1.0)], [0.0], Composition(1), [lambda X: X[:, 0]])
    low, high = np.array([0.2]), np.array([0.7])
    assert probably_better(known, high, low) == 1.0 and probably_better(known, low, high) == 0.0


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([[1.9, -1.9], [1.9]], False),
        ([[2.1, -2.1], [2.1]], True),
        ([[0.0, 0.0, 0.0], [-4.5]], True),  # one that is far off weighs by its square
        ([], False),
    ],
)
def test_data_contradict_a_posterior_by_the_root_mean_square_over_all_groups(monkeypatch, errors, expected):
    belief = SimpleNamespace(history=SimpleNamespace(Y=np.zeros((3, 1))), prior=None, checked=None)
    monkeypatch.setattr(recommending, "left_out_errors", lambda belief: [np.array(one) for one in errors])
    assert contradicted(belief) is expected
    monkeypatch.setattr(recommending, "left_out_errors", lambda belief: [np.array([9.0])])
    assert contradicted(belief) is expected  # remembered, until more is told
    belief.history.Y = np.zeros((4, 1))
    assert contradicted(belief)


def test_the_latest_observations_are_those_looked_at(monkeypatch):
    prior = Prior([RBF(0.15)], np.array([0.01]), [0.0])
    Y = np.random.default_rng(5).normal(0, 1, (12, 1))
    rows = np.arange(0, 36, 3)
    whole, last = (make_agent("d-gpucb", SPACE, Composition(1), prior=prior) for _ in range(2))
    whole.tell(rows, Y)
    last.tell(rows[-7:], Y[-7:])
    monkeypatch.setattr(recommending, "LATEST", 7)
    assert left_out_errors(whole.belief)[0] == pytest.approx(left_out_errors(last.belief)[0])


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([[0.0, 1.0], [2.0, 5.0], [-1.0, 4.0]], (2 * 0 - 3 * 5 + 0 + 7, 2 * 1 - 3 * 2 + 0 + 7)),
        ([[0.0, np.inf], [2.0, 5.0], [-np.inf, np.inf]], (2 * 0 - 3 * 5 + 7, np.inf)),
        ([[0.0, 1.0], [2.0, np.inf], [-1.0, 4.0]], (-np.inf, 2 * 1 - 3 * 2 + 7)),
    ],
)
def test_what_an_objective_can_be_is_the_sum_of_what_its_weighted_groups_can(ranges, expected):
    g = Composition(3, weights=[2.0, -3.0, 0.0], offset=7.0, sense="minimize")
    assert within(g, np.array(ranges), np.array([[0.5]])) == pytest.approx(expected)
    general = GeneralComposition(3, lambda F, X: F.max(axis=-1))
    assert within(general, np.array(ranges), np.array([[0.5]])) == (-np.inf, np.inf)


def test_the_objective_s_interval_is_the_normal_s_within_what_the_groups_can_be():
    """Of 2 f_1 - f_2: mean 2 * 0.4 - 0.9, variance 4 * 0.09 + 0.16; f_j in 0..1 leave -1..2."""
    g = Composition(2, weights=[2.0, -1.0], sense="minimize")
    means, variances, at = np.array([[0.4, 0.9]]), np.array([[0.09, 0.16]]), np.zeros((1, 1))
    half = norm.ppf(0.975) * np.sqrt(4 * 0.09 + 0.16)
    assert objective_interval(g, means, variances, at) == pytest.approx((-0.1, -0.1 - half, -0.1 + half))
    ranges = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert objective_interval(g, means, variances, at, ranges) == pytest.approx((-0.1, -1.0, -0.1 + half))
    # Who models the composed value alone is told by another composition what the groups let it be.
    own, composed = g.own(), (np.array([[-0.1]]), np.array([[0.52]]))
    assert objective_interval(own, *composed, at, ranges, g) == pytest.approx((-0.1, -1.0, -0.1 + half))


def test_a_linear_objective_is_what_its_groups_make_of_it_as_they_are_told():
    at, variances = np.zeros((1, 1)), np.array([[0.04, 0.09]])
    g, ranges = Composition(2, weights=[2.0, 1.0], sense="minimize"), np.array([[0.0, np.inf], [0.0, np.inf]])
    half = norm.ppf(0.975) * np.sqrt(4 * 0.04 + 0.09)  # the group that is told as 0, and not as -0.5
    found = objective_interval(g, np.array([[1.0, -0.5]]), variances, at, ranges)
    assert found == pytest.approx((2.0, 2.0 - half, 2.0 + half))
