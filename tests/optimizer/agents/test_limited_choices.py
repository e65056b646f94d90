"""What agents choose under limits on outcomes, by brute force over candidates; the same groups and limit."""

import numpy as np
import pytest
from limited import BOX, GRID, KERNEL, LIMITS, PRIOR, WEIGHTS, G, told, truth
from scipy.special import log_ndtr
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer import Composition, ConstantBeta, GeneralComposition, Prior, SearchSpace, make_agent
from optimizer.acquisition.chance import LimitChance
from optimizer.acquisition.thompson import composed
from optimizer.composition.outcome_limits import OutcomeLimits
from optimizer.composition.ready import WorstGroup

# Nothing keeps the limits


@pytest.mark.parametrize("name", ["d-ei", "d-gpucb", "gp-ucb"])
def test_where_no_candidate_surely_keeps_the_limit_the_most_probable_is_recommended(name):
    rows = np.arange(0, 150, 9)
    means, deviations = posterior(rows)
    high = (means[:, 1] - 0.5 * deviations[:, 1]).min()  # the most probable keeps it with Phi(-0.5)
    limits = OutcomeLimits([[0.0, 1.0]], [-np.inf], [high])
    agent = make_agent(name, SearchSpace(candidates=GRID), G, prior=PRIOR, limits=limits, seed=1)
    agent.tell(rows, told(agent, truth(GRID[rows]), limits))
    most = ((high - means[:, 1]) / deviations[:, 1]).argmax()
    assert agent.recommend().policy == most
    if name == "d-ei":
        assert agent.ask()[0] == most


@pytest.mark.parametrize("high", [-0.05, -5.0])
@pytest.mark.parametrize("name", ["d-ei", "d-gpucb", "gp-ucb"])
def test_where_the_limit_is_out_of_reach_the_least_broken_is_recommended(name, high):
    """Also where all probabilities are zero to the last digit, as at -5."""
    limits = OutcomeLimits([[0.0, 1.0]], [-np.inf], [high])
    agent = make_agent(name, SearchSpace(candidates=GRID), G, prior=PRIOR, limits=limits, seed=1)
    rows = np.arange(0, 150, 9)
    agent.tell(rows, told(agent, truth(GRID[rows]), limits))
    means, deviations = posterior(rows)
    log = log_ndtr((high - means[:, 1]) / deviations[:, 1])
    assert np.exp(log).max() < 0.01 and (high > -1 or (np.exp(log) == 0).all())
    looked_at = np.append(rows, log.argmax())
    assert agent.recommend().policy == looked_at[means[looked_at, 1].argmin()]
    if name == "d-ei":
        assert agent.ask()[0] == log.argmax()


@pytest.mark.parametrize("name", ["d-gpucb", "d-ei"])
def test_where_nothing_keeps_the_limit_a_search_of_a_box_ends_as_well(name):
    limits = OutcomeLimits([[0.0, 1.0]], [-np.inf], [-5.0])
    agent = make_agent(name, SearchSpace(BOX), G, prior=PRIOR, limits=limits, seed=1)
    agent.tell(GRID[:20], truth(GRID[:20]))
    assert agent.space.contains(agent.ask())[0]
    found = agent.recommend().policy
    assert agent.belief.at(None).predict_groups(found[None])[0][0, 1] <= truth(GRID[:20])[:, 1].min() + 1e-3


# By brute force


def posterior(rows):
    """Means and deviations (150, 2) of the groups by scikit-learn."""
    means, deviations = np.empty((2, len(GRID), 2))
    for j in range(2):
        gp = GaussianProcessRegressor(KERNEL, alpha=1e-6, optimizer=None)
        gp.fit(GRID[rows], truth(GRID[rows])[:, j])
        means[:, j], deviations[:, j] = gp.predict(GRID, return_std=True)
    return means, deviations


ROWS = np.array([44, 16, 122, 38, 62])


def log_improvement(means, deviations, incumbent):
    m, s = means @ WEIGHTS, np.sqrt(deviations**2 @ WEIGHTS**2)
    z = (m - incumbent) / s
    with np.errstate(divide="ignore", under="ignore"):
        return np.log(s * (z * norm.cdf(z) + norm.pdf(z)))


def test_expected_improvement_is_weighed_by_the_probability_that_the_limit_is_kept():
    agent = make_agent("d-ei", SearchSpace(candidates=GRID), G, prior=PRIOR, limits=LIMITS)
    agent.tell(ROWS, truth(GRID[ROWS]))
    means, deviations = posterior(ROWS)
    P = norm.cdf(0.5, means[:, 1], deviations[:, 1])
    assert (P[ROWS] >= 0.5).any() and not (P[ROWS] >= 0.5).all()
    incumbent = (means @ WEIGHTS)[ROWS][P[ROWS] >= 0.5].max()  # of those that keep it
    with np.errstate(divide="ignore", under="ignore"):
        score = log_improvement(means, deviations, incumbent) + np.log(P)
    assert score.argmax() != log_improvement(means, deviations, incumbent).argmax()
    assert agent.search().incumbent == pytest.approx(incumbent, rel=1e-6)
    assert agent.ask()[0] == score.argmax()


def test_ucb_weighs_what_its_bound_promises_by_the_probability_that_the_limit_is_kept():
    agent = make_agent(
        "d-gpucb",
        SearchSpace(candidates=GRID),
        G,
        prior=PRIOR,
        limits=LIMITS,
        exploration=ConstantBeta(1.0, 1.0),
    )
    agent.tell(ROWS, truth(GRID[ROWS]))
    means, deviations = posterior(ROWS)
    P = norm.cdf(0.5, means[:, 1], deviations[:, 1])
    incumbent = (means @ WEIGHTS)[ROWS][P[ROWS] >= 0.5].max()
    bound = means @ WEIGHTS + np.sqrt(deviations**2 @ WEIGHTS**2)
    worth = np.maximum(bound - incumbent, 0.0) * P
    assert agent.ask()[0] == worth.argmax() != bound.argmax()
    may = means[:, 1] - deviations[:, 1] <= 0.5
    assert worth.argmax() != np.where(may, bound, -np.inf).argmax()  # where an optimist of limits would look


def test_the_probability_of_improvement_is_weighed_as_well():
    agent = make_agent("d-mpi", SearchSpace(candidates=GRID), G, prior=PRIOR, limits=LIMITS)
    agent.tell(ROWS, truth(GRID[ROWS]))
    means, deviations = posterior(ROWS)
    P = norm.cdf(0.5, means[:, 1], deviations[:, 1])
    incumbent = (means @ WEIGHTS)[ROWS][P[ROWS] >= 0.5].max()
    margin = 0.01 * np.sqrt(4.0 * (WEIGHTS**2).sum())
    z = (means @ WEIGHTS - incumbent - margin) / np.sqrt(deviations**2 @ WEIGHTS**2)
    assert agent.ask()[0] == (log_ndtr(z) + np.log(np.maximum(P, 1e-300))).argmax()


def test_a_draw_that_keeps_the_limits_beats_all_that_break_one_and_else_the_least_broken_wins():
    class Model:
        composition = G

    class Search:
        model, limits = Model(), LimitChance(None, LIMITS)

    X = GRID[:4]
    drawn = np.array([[5.0, 0.6], [1.0, 0.4], [2.0, 0.5], [9.0, 2.0]])
    np.testing.assert_allclose(composed(Search(), drawn, X), [-np.inf, 0.8, 1.75, -np.inf])
    X = X[:3]
    broken = np.array([[5.0, 0.7], [1.0, 0.6], [2.0, 1.5]])
    assert composed(Search(), broken, X).argmax() == 1
    assert (composed(Search(), broken, X) < 0).all()


def test_draws_break_limits_in_units_of_their_spread():
    class Model:
        composition = G

    class Search:
        model = Model()
        limits = LimitChance(None, OutcomeLimits([[1.0, 0.0], [0.0, 1.0]], [-np.inf] * 2, [0.0, 0.0]))

    # Beyond the first limit by 1 of a spread of 100, beyond the second by 0.5 of a spread of 0.25.
    drawn, X = np.array([[1.0, 0.5], [201.0, 0.0]]), GRID[:2]
    found = composed(Search(), drawn, X)
    np.testing.assert_allclose(found, [-(1 / 100 + 0.5 / 0.25), -201 / 100])


@pytest.mark.parametrize("name", ["d-ei", "d-gpucb", "d-ts"])
def test_nothing_is_recommended_with_less_than_the_probability_asked_for_where_a_tried_policy_has_it(name):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        agent = make_agent(
            name,
            SearchSpace(candidates=GRID),
            G,
            prior=PRIOR,
            limits=LIMITS,
            seed=seed,
            limit_probability=0.9,
        )
        rows = rng.choice(150, 5, replace=False)
        agent.tell(rows, truth(GRID[rows]))
        chance = LimitChance(agent.belief.at(None), LIMITS)
        if chance.probability(rows).max() >= 0.9:
            assert chance.probability(np.array([agent.recommend().policy]))[0] >= 0.9 - 1e-3


def test_the_probability_asked_for_is_used():
    """Of untried candidates those near the limit are allowed at 0.6 and not at 0.94."""
    rows = np.arange(4)
    values = {}
    for asked in (0.6, 0.94):
        agent = make_agent(
            "d-ei",
            SearchSpace(candidates=GRID),
            G,
            prior=Prior([KERNEL] * 2, np.full(2, 0.01), [0.0, 0.0]),
            limits=LIMITS,
            limit_probability=asked,
        )
        agent.tell(rows, truth(GRID[rows]))
        found = agent.recommend().policy
        values[asked] = LimitChance(agent.belief.at(None), LIMITS).probability(np.array([found]))[0]
    assert 0.6 - 1e-3 <= values[0.6] < 0.94 - 1e-3 <= values[0.94]


@pytest.mark.parametrize("asked", [0.8, 0.95, 0.99])
def test_what_is_recommended_in_a_box_is_the_best_mean_of_all_that_keep_the_limit_surely_enough(asked):
    """Also above 0.9, and where what is known of the limit is little: against a grid of 10,201 policies."""
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1).reshape(-1, 2)
    agent = make_agent(
        "d-ei", SearchSpace(BOX), G, prior=PRIOR, limits=LIMITS, seed=1, limit_probability=asked
    )
    X = np.array([[0.1, 0.1], [0.9, 0.2], [0.2, 0.8], [1.0, 1.0], [0.5, 0.1], [0.3, 0.3]])
    agent.tell(X, truth(X))
    model = agent.belief.at(None)
    chance = LimitChance(model, LIMITS)
    keeps = chance.probability(grid) >= asked
    best = model.predict(grid).mean[keeps].max()
    found = agent.recommend().policy
    assert chance.probability(found[None])[0] >= asked - 1e-3
    assert model.predict(found[None]).mean[0] >= best - 0.01
    assert best > model.predict(X).mean[chance.probability(X) >= asked].max() + 0.05  # than any tried


def test_best_observed_keeps_the_limits():
    agent = make_agent("d-ei", SearchSpace(candidates=GRID), G, prior=PRIOR, limits=LIMITS)
    agent.tell(ROWS, truth(GRID[ROWS]))
    F = truth(GRID[ROWS])
    best = np.where(F[:, 1] <= 0.5, F @ WEIGHTS, -np.inf)
    advice = agent.recommend()
    assert advice.best_observed == ROWS[best.argmax()] and (F @ WEIGHTS).argmax() != best.argmax()
    assert advice.best_observed_value == pytest.approx(best.max())


# Gradients


@pytest.mark.parametrize("learns", [False, True], ids=["given kernels", "a mixture"])
def test_the_chance_s_gradient_is_that_of_differences(learns):
    limits = OutcomeLimits([[0.0, 1.0], [1.0, 0.5]], [-np.inf, 0.2], [0.5, 1.6])
    prior = None if learns else PRIOR
    agent = make_agent("d-ei", SearchSpace(BOX), G, prior=prior, limits=limits, seed=1)
    noisy = truth(GRID[:10]) + 0.03 * np.random.default_rng(2).standard_normal((10, 2))
    agent.tell(GRID[:10], noisy)
    chance = LimitChance(agent.belief.at(None), limits)
    X = GRID[20:26]
    log, gradient = chance.log_with_gradient(X)
    np.testing.assert_allclose(log, chance.log(X), rtol=1e-9)
    for i, x in enumerate(X):
        ends = x + 1e-5 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        up, down, right, left = chance.log(ends)
        np.testing.assert_allclose(
            gradient[i], [(up - down) / 2e-5, (right - left) / 2e-5], rtol=1e-3, atol=1e-3
        )
    probability, slope = chance.with_gradient(X)
    np.testing.assert_allclose(probability, np.exp(log))
    np.testing.assert_allclose(slope, np.exp(log)[:, None] * gradient)


@pytest.mark.parametrize("learns", [False, True], ids=["given kernels", "a mixture"])
def test_a_limit_on_one_group_asks_for_the_variance_of_no_other(learns, monkeypatch):
    """By the formula over all groups: P = Phi((high - m_2) / s_2)."""
    limits = OutcomeLimits([[0.0, 1.0]], [-np.inf], [0.5])
    agent = make_agent("d-ei", SearchSpace(BOX), G, prior=None if learns else PRIOR, limits=limits, seed=1)
    agent.tell(GRID[:10], truth(GRID[:10]) + 0.03 * np.random.default_rng(2).standard_normal((10, 2)))
    model, X = agent.belief.at(None), GRID[20:26]
    means, variances = model.predict_groups(X)
    expected = norm.logcdf((0.5 - means[:, 1]) / np.sqrt(variances[:, 1]))
    chance = LimitChance(model, limits)
    monkeypatch.setattr(model.groups[0], "predict", None)
    monkeypatch.setattr(model.groups[0], "predict_with_gradients", None)
    np.testing.assert_allclose(chance.log(X), expected, rtol=1e-9)
    log, gradient = chance.log_with_gradient(X)
    np.testing.assert_allclose(log, expected, rtol=1e-9)
    for x, slope in zip(X, gradient, strict=True):
        ends = chance.log(x + 1e-5 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]))
        differences = (ends[::2] - ends[1::2]) / 2e-5
        np.testing.assert_allclose(slope, differences, rtol=1e-3, atol=1e-3)


# Aggregate agents


def test_an_aggregate_agent_s_composed_prior_of_limits_is_a_gp_made_by_hand():
    """Objective: 3 group 1 - 2 group 2 with 9 k_1 + 4 k_2; limit: group 1 + 4 group 2 with k_1 + 16 k_2."""
    k1, k2 = ConstantKernel(2.0) * RBF([0.5, 0.5]), RBF([0.8, 0.3])
    noise = np.array([0.01, 0.04])
    prior = Prior([k1, k2], noise, [0.3, -0.2])
    limits = OutcomeLimits([[1.0, 4.0]], [-np.inf], [2.0])
    agent = make_agent(
        "ei", SearchSpace(BOX), Composition(2, weights=[3.0, -2.0]), prior=prior, limits=limits
    )
    X, Y = GRID[:6], truth(GRID[:6])
    agent.tell(X, np.column_stack([Y @ [3.0, -2.0], Y @ [1.0, 4.0]]))
    means, variances = agent.belief.at(None).predict_groups(GRID[20:30])
    for j, (a, b) in enumerate([(3.0, -2.0), (1.0, 4.0)]):
        kernel = ConstantKernel(a * a) * k1 + ConstantKernel(b * b) * k2
        own = GaussianProcessRegressor(kernel, alpha=a * a * noise[0] + b * b * noise[1], optimizer=None)
        middle = a * 0.3 + b * -0.2
        own.fit(X, Y @ [a, b] - middle)
        mean, deviation = own.predict(GRID[20:30], return_std=True)
        np.testing.assert_allclose(means[:, j], mean + middle, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(variances[:, j], deviation**2, rtol=1e-6, atol=1e-9)


def test_an_aggregate_agent_is_told_the_limits_values_beside_the_objective():
    agent = make_agent("gp-ucb", SearchSpace(BOX), G, prior=PRIOR, limits=LIMITS)
    assert agent.beside is LIMITS
    with pytest.raises(ValueError):
        agent.tell(GRID[:1], np.array([1.0]))
    decomposed = make_agent("d-gpucb", SearchSpace(BOX), G, prior=PRIOR, limits=LIMITS)
    assert decomposed.beside is None


@pytest.mark.parametrize(
    ("limits", "composition"),
    [
        (OutcomeLimits([[0.0, 0.0]], [-np.inf], [1.0], [lambda F: F[..., 0]]), G),
        (LIMITS, Composition(2, weights=lambda X: np.ones((len(X), 2)))),
        (LIMITS, GeneralComposition.of(WorstGroup("minimize"), 2)),
    ],
    ids=["a function", "weights that vary", "a general g"],
)
def test_an_aggregate_agent_that_cannot_compose_its_prior_says_so_in_one_line(limits, composition):
    with pytest.raises(ValueError, match="gp-ucb") as error:
        make_agent("gp-ucb", SearchSpace(BOX), composition, prior=PRIOR, limits=limits)
    assert "\n" not in str(error.value)
