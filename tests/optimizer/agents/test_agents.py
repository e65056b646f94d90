"""Agents as their users meet them: ask, tell, recommend, and the cases that have bitten users elsewhere."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer import Composition, Prior, SearchSpace, make_agent
from optimizer.agents.names import BASELINES, GP_AGENTS

GP = list(GP_AGENTS)
BOX = Bounds([0.0, 0.0], [1.0, 1.0])


def prior(J, noise=1e-4, scale=0.3, amplitude=1.0):
    return Prior([ConstantKernel(amplitude) * RBF([scale] * 2)] * J, np.full(J, noise), [0.0] * J)


def outcomes(X, J=2):
    return np.stack([(X[:, 0] - 0.3) ** 2 + j * (X[:, 1] - 0.6) ** 2 for j in range(J)], axis=1)


def observe(agent, policies, Y, composition):
    agent.tell(policies, Y if agent.feedback == "decomposed" else composition.unsigned(Y, policies))


def run(agent, composition, rounds, J=2, sign=1.0):
    trace = []
    for _ in range(rounds):
        x = agent.ask()
        observe(agent, x, sign * outcomes(x, J), composition)
        trace.append(x[0])
    return np.array(trace)


@pytest.mark.parametrize("name", GP)
def test_every_gp_agent_finds_the_minimum_of_a_bowl(name):
    composition = Composition(2, sense="minimize")
    agent = make_agent(name, SearchSpace(BOX), composition, prior=prior(2))
    run(agent, composition, 15)
    best = agent.recommend()
    assert outcomes(best.policy[None]).sum() < 0.03  # one that was tried may be preferred to the best mean
    assert best.low - 0.01 <= outcomes(best.policy[None]).sum() <= best.high + 0.01
    assert best.mean == pytest.approx((best.low + best.high) / 2) and 0 < best.high - best.low < 1
    assert (best.group_means is not None) == (agent.feedback == "decomposed")


@pytest.mark.parametrize("name", GP)
def test_every_gp_agent_learns_its_own_kernels_without_a_prior(name):
    composition = Composition(2, sense="minimize")
    agent = make_agent(name, SearchSpace(BOX), composition)
    run(agent, composition, 12)
    np.testing.assert_allclose(agent.recommend().policy, [0.3, 0.6], atol=0.15)


@pytest.mark.parametrize("name", GP)
@pytest.mark.parametrize("seed", range(3))
def test_few_rounds_without_a_prior_do_not_extrapolate_with_confidence(name, seed):
    """Five observations do not tell a length scale: predictions must stay at the scale of what was seen."""
    composition = Composition(
        3, weights=lambda X: np.stack([np.ones(len(X)), 2 * np.ones(len(X)), 3 + X[:, 0]], axis=1)
    )

    def truth(X):
        return np.stack([np.sin(3 * X[:, 0]), -((X[:, 1] - 0.4) ** 2), X[:, 0] * X[:, 1]], axis=1)

    space = SearchSpace(BOX, LinearConstraint([1, 1], -np.inf, 1.5))
    agent = make_agent(name, space, composition, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(9):
        x = agent.ask()
        observe(agent, x, truth(x) + 0.01 * rng.standard_normal((1, 3)), composition)
    best = agent.recommend()
    actual = composition.unsigned(truth(best.policy[None]), best.policy[None])[0]
    assert abs(best.mean - actual) < 0.7  # the objective ranges over 0..2.7


@pytest.mark.parametrize("name", ["mpi", "d-mpi"])
def test_most_probable_improvement_leaves_a_first_policy_that_was_better_than_expected(name):
    grid = np.linspace(0, 1, 101)[:, None]
    value = np.stack(
        [1.0 - 2 * np.abs(grid[:, 0] - 0.2), 3 * np.exp(-(((grid[:, 0] - 0.8) / 0.1) ** 2))], axis=1
    )
    one = Prior([RBF(0.2)] * 2, np.full(2, 1e-4), [0.0, 0.0])
    composition = Composition(2)
    agent = make_agent(name, SearchSpace(candidates=grid), composition, prior=one)
    observe(agent, np.array([20]), value[[20]], composition)
    for _ in range(30):
        row = agent.ask()
        observe(agent, row, value[row], composition)
    assert abs(agent.recommend().policy - 80) <= 2


@pytest.mark.parametrize("name", [*GP_AGENTS, *BASELINES])  # others register theirs when imported
@pytest.mark.parametrize("with_prior", [True, False])
def test_ask_works_with_no_observation_and_with_one(name, with_prior):
    space, composition = SearchSpace(BOX, LinearConstraint([1, 1], -np.inf, 1.2)), Composition(2)
    agent = make_agent(name, space, composition, prior=prior(2) if with_prior else None, current=[0.2, 0.3])
    for _ in range(2):
        x = agent.ask()
        assert space.contains(x).all()
        observe(agent, x, outcomes(x), composition)
    assert space.contains(agent.ask(3)).all()
    assert space.contains(np.asarray([agent.recommend().policy])).all()


@pytest.mark.parametrize("name", GP)
def test_minimising_f_and_maximising_minus_f_leave_identical_traces(name):
    down, up = Composition(2, sense="minimize"), Composition(2, weights=-1.0)
    first = run(make_agent(name, SearchSpace(BOX), down, prior=prior(2), seed=5), down, 8)
    second = run(make_agent(name, SearchSpace(BOX), up, prior=prior(2), seed=5), up, 8)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", [name for name in GP if name != "d-ts"])  # whose draws are not mirrored
def test_minimising_outcomes_and_maximising_their_negatives_leave_identical_traces(name):
    down, up = Composition(2, sense="minimize"), Composition(2)
    first = run(make_agent(name, SearchSpace(BOX), down, prior=prior(2), seed=5), down, 8)
    second = run(make_agent(name, SearchSpace(BOX), up, prior=prior(2), seed=5), up, 8, sign=-1.0)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", ["d-gpucb", "ei"])
def test_agent_told_the_same_again_asks_the_same(name):
    composition = Composition(2)
    first = make_agent(name, SearchSpace(BOX), composition, seed=3)
    told = [(x := first.ask(), observe(first, x, outcomes(x), composition))[0] for _ in range(9)]
    again = make_agent(name, SearchSpace(BOX), composition, seed=3)
    for x in told:
        observe(again, x, outcomes(x), composition)
    np.testing.assert_array_equal(first.ask(), again.ask())


def test_forty_observations_beside_forty_others_leave_ask_finite():
    composition, near = Composition(4), np.array([0.31, 0.52])
    agent = make_agent("d-gpucb", SearchSpace(BOX), composition, prior=prior(4, noise=1e-8))
    for x in np.vstack([np.tile(near, (40, 1)), np.tile(near + 1e-9, (40, 1))]):
        agent.tell(x[None], outcomes(x[None], 4))
    assert np.isfinite(agent.ask()).all()
    _, variance = agent.belief.model.predict_groups(np.random.default_rng(0).random((500, 2)))
    assert (variance >= 0).all() and (variance <= 1).all()


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb", "ei"])
def test_grid_told_sixty_times_each_still_gives_an_ask(name):
    grid = np.linspace(0, 1, 7)[:, None]
    space, composition = SearchSpace(candidates=grid), Composition(2)
    one = Prior([RBF(0.3)] * 2, np.full(2, 1e-6), [0.0, 0.0])
    agent = make_agent(name, space, composition, prior=one)
    rng = np.random.default_rng(0)
    for _ in range(60):
        Y = np.hstack([grid, 1 - grid**2]) + 1e-3 * rng.standard_normal((7, 2))
        observe(agent, np.arange(7), Y, composition)
    assert 0 <= agent.ask()[0] < 7
    assert agent.recommend().policy == 3  # x + 1 - x^2 is largest at 1/2


@pytest.mark.parametrize("name", GP)
def test_constant_outcomes_fifteen_times_are_learned_without_complaint(name):
    composition = Composition(3)
    agent = make_agent(name, SearchSpace(BOX), composition)
    for _ in range(15):
        x = agent.ask()
        observe(agent, x, np.full((1, 3), 5.0), composition)
    assert agent.recommend().mean == pytest.approx(15.0, abs=1e-6)


@pytest.mark.parametrize("name", [*GP, "random"])
def test_failed_rounds_count_but_are_never_best(name):
    composition = Composition(2)
    agent = make_agent(name, SearchSpace(BOX), composition, prior=prior(2))
    for step in range(20):
        x = agent.ask()
        observe(agent, x, np.full((1, 2), np.nan) if step in (4, 9) else outcomes(x), composition)
    assert agent.rounds == 20
    best = agent.recommend()
    assert np.isfinite(best.best_observed_value) and best.best_observed is not None
    if name in GP:
        assert len(agent.observed) == 18


def test_recommend_is_the_posteriors_best_and_names_the_best_observed_beside_it():
    rng = np.random.default_rng(1)
    space, composition = SearchSpace(candidates=np.array([[0.0], [10.0]])), Composition(1)
    one = Prior([RBF(0.1)], np.array([0.5]), [0.0])
    agent = make_agent("d-gpucb", space, composition, prior=one)
    rows = np.arange(60) % 2
    values = np.where(rows == 1, 0.2, 0.0) + np.sqrt(0.5) * rng.standard_normal(60)
    values[0] = 5.0  # a lucky observation of the worse candidate
    values[rows == 0] -= values[rows == 0].mean()
    values[rows == 1] += 0.2 - values[rows == 1].mean()
    agent.tell(rows, values[:, None])
    best = agent.recommend()
    assert best.policy == 1
    assert best.best_observed == 0 and best.best_observed_value == values.max()


def test_best_candidate_is_a_feasible_one():
    space = SearchSpace(candidates=np.array([[9.0], [1.0], [5.0], [7.0]]), bounds=Bounds([0.0], [6.0]))
    one = Prior([RBF(0.01)], np.array([1e-6]), [lambda rows: np.array([9.0, 1.0, 5.0, 7.0])[rows]])
    assert make_agent("d-gpucb", space, Composition(1), prior=one).recommend().mean == pytest.approx(5.0)


def test_entry_fixed_by_equal_bounds_stays_fixed():
    space, composition = SearchSpace(Bounds([0.0, 0.5], [1.0, 0.5])), Composition(2, sense="minimize")
    trace = run(make_agent("d-gpucb", space, composition, prior=prior(2)), composition, 6)
    np.testing.assert_array_equal(trace[:, 1], 0.5)


def test_batch_spreads_out_instead_of_asking_the_same_policy():
    composition = Composition(2, sense="minimize")
    agent = make_agent("d-gpucb", SearchSpace(BOX), composition, prior=prior(2))
    run(agent, composition, 6)
    batch = agent.ask(4)
    distance = np.linalg.norm(batch[:, None] - batch[None], axis=2)[np.triu_indices(4, 1)]
    assert distance.min() > 1e-3


def test_own_noise_variances_weigh_observations():
    composition = Composition(1)
    one = Prior([RBF([0.3, 0.3])], np.array([1.0]), [0.0])
    agent = make_agent("d-gpucb", SearchSpace(BOX), composition, prior=one)
    x = np.array([[0.5, 0.5]])
    agent.tell(x, [[1.0]], [[1e-8]])
    agent.tell(x, [[3.0]], [[1e8]])
    assert agent.belief.model.predict(x)[0][0] == pytest.approx(1.0, abs=1e-4)


def test_uniform_spends_the_whole_budget_in_equal_shares():
    space = SearchSpace(Bounds([0.0] * 3, [1.0] * 3), LinearConstraint([0.5, 0.3, 0.2], -np.inf, 0.47))
    np.testing.assert_allclose(make_agent("uniform", space, Composition(3)).ask()[0], 0.47)
    tight = SearchSpace(Bounds([0.12] * 5, [0.3] * 5), LinearConstraint([24, 33, 15, 4, 6], 14.4, 14.4))
    np.testing.assert_allclose(make_agent("uniform", tight, Composition(5)).ask()[0], 14.4 / 82)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_agent("dgpucb", SearchSpace(BOX), Composition(2)), "did you mean 'd-gpucb'"),
        (lambda: make_agent("current", SearchSpace(BOX), Composition(2)), "today's practice"),
        (lambda: make_agent("current", SearchSpace(BOX), Composition(2), current=[2.0, 0.0]), "not feasible"),
        (lambda: make_agent("random", SearchSpace(BOX), Composition(2)).tell([[0.1]], [1.0]), r"\(n, 2\)"),
        (
            lambda: make_agent("ei", SearchSpace(candidates=np.eye(3)), Composition(2)).tell([3], [1.0]),
            "0..2",
        ),
        (lambda: make_agent("ei", SearchSpace(BOX), Composition(2)).ask(context=1.0), "context"),
    ],
)
def test_misuse_is_refused_in_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
