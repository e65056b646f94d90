"""Agents under a general g: every propagation, with and without gradient, on finite and bounded spaces."""

import numpy as np
import pytest
from every_agent import EVERY_AGENT
from scipy.optimize import Bounds, LinearConstraint
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer import (
    PROPAGATIONS,
    UCB,
    Composition,
    ConstantBeta,
    DecomposedGP,
    ExpectedImprovement,
    GeneralComposition,
    Prior,
    ProbabilityOfImprovement,
    SearchSpace,
    make_agent,
)
from optimizer.agents.names import GP_AGENTS
from optimizer.composition.propagation import Bound, Delta, Sampled
from optimizer.differences import jacobian

DECOMPOSED = [name for name, (feedback, _) in GP_AGENTS.items() if feedback == "decomposed"]
BOX = Bounds([0.0, 0.0], [1.0, 1.0])
GRID = np.random.default_rng(0).random((120, 2))
PRIOR = Prior([RBF([0.4, 0.4])] * 2, np.full(2, 1e-5), [0.0, 0.0])
OWN = Prior([ConstantKernel(0.5) * RBF([0.3, 0.3])], np.array([1e-5]), [-0.5])


def product(F, X):
    """Largest where both are 1; by itself it is no sum of its groups."""
    return -((F[..., 0] - 1) ** 2) - F[..., 1] ** 2


def slopes(F, X):
    return np.stack([-2 * (F[..., 0] - 1), -2 * F[..., 1]], axis=-1)


def general(gradient=slopes, **options):
    return GeneralComposition(2, product, gradient=gradient, bounds=[4.0, 2.0], **options)


def outcomes(X):
    """The best policy is (0.7, 0.4)."""
    return np.stack([X[:, 0] + 0.3, X[:, 1] - 0.4], axis=1)


def space(finite):
    return SearchSpace(candidates=GRID) if finite else SearchSpace(BOX)


def run(agent, composition, rounds, finite, sign=1.0):
    trace = []
    for _ in range(rounds):
        x = agent.ask()
        Y = sign * outcomes(GRID[x] if finite else x)
        agent.tell(x, Y if agent.feedback == "decomposed" else composition.unsigned(Y, x))
        trace.append(x[0])
    return np.array(trace)


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("propagation", PROPAGATIONS)
@pytest.mark.parametrize("name", DECOMPOSED)
def test_every_decomposed_agent_finds_the_best_policy(name, propagation, finite):
    composition = general()
    agent = make_agent(name, space(finite), composition, prior=PRIOR, propagation=propagation)
    run(agent, composition, 12, finite)
    best = agent.recommend()
    policy = GRID[best.policy] if finite else best.policy
    value = product(outcomes(policy[None]), None)[0]
    highest = product(outcomes(GRID), None).max() if finite else 0.0
    assert value > highest - (0.07 if propagation == "bound" else 0.02)
    assert best.low - 0.01 <= value <= best.high + 0.01
    assert best.group_means.shape == (2,)


@pytest.mark.parametrize("name", ["gp-ucb", "ei", "mpi"])
def test_aggregate_agents_take_a_prior_of_the_composed_values(name):
    composition = general()
    agent = make_agent(name, space(True), composition, prior=OWN, kernel="own")
    run(agent, composition, 25, True)
    assert product(outcomes(GRID[[agent.recommend().policy]]), None)[0] > -0.1
    with pytest.raises(ValueError, match="composed values"):
        make_agent(name, space(True), composition, prior=PRIOR)


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("name", EVERY_AGENT)
def test_agents_learn_their_own_kernels_under_a_general_g(name, finite):
    composition = general(gradient=None)
    agent = make_agent(name, space(finite), composition)
    run(agent, composition, 16, finite)
    policy = agent.recommend().policy
    assert product(outcomes(GRID[[policy]] if finite else policy[None]), None)[0] > -0.15


@pytest.mark.parametrize("name", ["d-gpucb", "d-ei", "d-mpi"])
def test_linear_g_written_as_a_general_one_leaves_the_linear_trace(name):
    exact = Composition(2, weights=[1.0, -2.0])
    same = GeneralComposition(
        2,
        lambda F, X: F[..., 0] - 2 * F[..., 1],
        gradient=lambda F, X: np.broadcast_to([1.0, -2.0], F.shape),
    )
    options = {"prior": PRIOR, "exploration": ConstantBeta(4.0), "propagation": "delta"}
    first = run(make_agent(name, space(True), exact, **options), exact, 10, True)
    second = run(make_agent(name, space(True), same, **options), same, 10, True)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("propagation", PROPAGATIONS)
@pytest.mark.parametrize("name", DECOMPOSED)
def test_minimising_g_and_maximising_its_negative_leave_identical_traces(name, propagation):
    up = general()
    down = GeneralComposition(
        2,
        lambda F, X: -product(F, X),
        gradient=lambda F, X: -slopes(F, X),
        bounds=[4.0, 2.0],
        sense="minimize",
    )
    for finite in (True, False):
        first, second = (
            make_agent(name, space(finite), c, prior=PRIOR, propagation=propagation, seed=5)
            for c in (up, down)
        )
        np.testing.assert_array_equal(run(first, up, 5, finite), run(second, down, 5, finite))
        assert first.recommend().mean == -second.recommend().mean


@pytest.mark.parametrize("name", DECOMPOSED)
def test_g_may_depend_on_the_policy(name):
    """Footnote 1: here g alone tells the policies apart, the groups are constant."""
    composition = GeneralComposition(2, lambda F, X: F.sum(axis=-1) - ((X - 0.25) ** 2).sum(axis=-1))
    agent = make_agent(
        name, SearchSpace(BOX, LinearConstraint([1, 1], -np.inf, 1.5)), composition, prior=PRIOR
    )
    agent.tell(GRID, np.ones((len(GRID), 2)))
    np.testing.assert_allclose(agent.recommend().policy, 0.25, atol=0.02)
    np.testing.assert_allclose(agent.ask()[0], 0.25, atol=0.1)


@pytest.mark.parametrize("propagation", PROPAGATIONS)
def test_one_group_is_enough(propagation):
    composition = GeneralComposition(1, lambda F, X: np.exp(F[..., 0]), bounds=[np.e])
    one = Prior([RBF([0.4, 0.4])], np.array([1e-5]), [0.0])
    agent = make_agent("d-ei", space(True), composition, prior=one, propagation=propagation)
    for _ in range(10):
        row = agent.ask()
        agent.tell(row, GRID[row, 0])
    assert GRID[agent.recommend().policy, 0] > GRID[:, 0].max() - 0.05


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("name", DECOMPOSED)
def test_missing_group_teaches_the_others_and_a_failed_round_nothing(name, finite):
    composition = general()
    agent = make_agent(name, space(finite), composition, prior=PRIOR)
    for t in range(8):
        x = agent.ask()
        Y = outcomes(GRID[x] if finite else x)
        Y[0, t % 2] = np.nan
        agent.tell(x, np.full((1, 2), np.nan) if t == 3 else Y)
    assert agent.rounds == 8 and len(agent.observed) == 7
    assert np.isfinite(agent.recommend().mean)
    assert np.isnan(agent.recommend().best_observed_value)  # no round told every group


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("name", DECOMPOSED)
def test_equal_seeds_give_equal_traces(name, finite):
    composition = general()
    first, second = (
        run(make_agent(name, space(finite), composition, prior=PRIOR, seed=3), composition, 6, finite)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_values_of_g_that_are_nan_are_passed_over():
    composition = GeneralComposition(2, lambda F, X: np.where(X[..., 0] < 0.5, F[..., 0], np.nan))
    for name in DECOMPOSED:
        agent = make_agent(name, SearchSpace(BOX), composition, prior=PRIOR)
        assert agent.ask()[0, 0] < 0.5


def test_beta_has_the_groups_inside_its_logarithm_where_each_is_modelled_under_a_general_g():
    for name, inside in (("d-gpucb", 2), ("gp-ucb", 1)):
        agent = make_agent(name, space(True), general(), kernel="own")
        plain = make_agent(name, space(True), Composition(2))
        difference = agent.exploration.beta(3) - plain.exploration.beta(3)
        assert difference == pytest.approx(2 * np.log(inside) / 5, abs=1e-12)


@pytest.mark.parametrize("gradient", [slopes, None])
@pytest.mark.parametrize(
    ("propagation", "acquisition"),
    [
        *((p, a) for p in (Bound(), Delta()) for a in (UCB(4.0), ExpectedImprovement(-0.5))),
        *((p, ProbabilityOfImprovement(-0.5, 0.1)) for p in (Delta(), Sampled(2, seed=1))),
        *((Sampled(2, seed=1), a) for a in (UCB(4.0), ExpectedImprovement(-0.5))),
    ],
)
def test_gradients_of_scores_equal_finite_differences(propagation, acquisition, gradient):
    rng = np.random.default_rng(2)
    X, new = rng.random((6, 2)), rng.random((5, 2))

    def tilted(F, X):
        return product(F, X) + X[..., 1] * F[..., 0]

    def tilted_slopes(F, X):
        return slopes(F, X) + np.stack([X[..., 1], np.zeros_like(X[..., 1])], axis=-1)

    composition = GeneralComposition(
        2, tilted, gradient=gradient and tilted_slopes, bounds=[5.0, 2.0], sense="minimize"
    ).propagated(propagation)
    model = DecomposedGP([RBF(0.3), RBF([0.5, 0.2])], [0.01, 0.02], composition).observe(X, outcomes(X))
    posterior, pullback = model.posterior_and_pullback(new)
    slope = pullback(acquisition.slopes(posterior))
    np.testing.assert_allclose(
        acquisition.score(posterior), acquisition.score(model.posterior(new)), atol=1e-12
    )
    numeric = jacobian(lambda x: acquisition.score(model.posterior(x)), new)
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_agent("d-gpucb", space(True), general(), propagation="first"), "propagation must be"),
        (
            lambda: make_agent("d-ei", space(True), GeneralComposition(2, product), propagation="bound"),
            "bounds B_j",
        ),
    ],
)
def test_misuse_is_refused_in_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
