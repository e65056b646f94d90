"""Agents on whole numbers and categories ask for policies that can be tried as they are."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer.acquisition.exploration import ContinuousBeta, FiniteBeta, default_exploration
from optimizer.acquisition.search import Search
from optimizer.agents.names import GP_AGENTS, make_agent
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import Composition
from optimizer.posterior.candidate_mixture import CandidateMixture
from optimizer.posterior.candidates import CandidatePosterior
from optimizer.posterior.decomposed_gp import DecomposedGP
from optimizer.posterior.listed import ListedPosterior
from optimizer.prior.prior import Prior
from optimizer.space.search_space import SearchSpace


def staff(limit=10.0):
    limits = LinearConstraint(np.ones(3), -np.inf, limit)
    return SearchSpace(Bounds(np.zeros(3), np.full(3, 6.0)), limits, steps=np.ones(3))


def mixed():
    return SearchSpace(
        Bounds(np.zeros(3), np.array([2.0, 9.0, 1.0])),
        LinearConstraint([0.0, 0.1, 1.0], -np.inf, 1.0),
        steps=[1, 1, 0],
        categories=[True, False, False],
    )


def outcomes(x):
    return np.stack([np.sin(x[:, 0]) + 0.1 * x[:, 1], -((x[:, -1] - 0.3) ** 2)], axis=1)


def told(name, space, rounds, **settings):
    g = Composition(2)
    agent = make_agent(name, space, g, **settings)
    asked = []
    for _ in range(rounds):
        policy = agent.ask()
        Y = outcomes(policy)
        agent.tell(policy, Y if agent.feedback == "decomposed" else g.unsigned(Y, policy))
        asked.append(policy[0])
    return agent, np.array(asked)


@pytest.mark.parametrize("make", [staff, mixed])
@pytest.mark.parametrize("name", [*GP_AGENTS, "random"])
def test_every_policy_that_is_asked_for_or_recommended_is_feasible(name, make):
    space = make()
    agent, asked = told(name, space, 14)
    assert space.contains(asked).all()
    assert space.contains(np.asarray(agent.recommend().policy)[None]).all()


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb", "d-ts"])
@pytest.mark.parametrize("pending", [0, 3])
def test_a_batch_of_separate_policies_has_no_policy_twice(name, pending):
    space = SearchSpace(Bounds(np.zeros(3), np.full(3, 3.0)), steps=np.ones(3))
    agent, _ = told(name, space, 12)
    waiting = agent.ask(pending) if pending else np.empty((0, 3))
    batch = agent.ask(10, pending=waiting)
    assert len(np.unique(np.concatenate([waiting, batch]), axis=0)) == 10 + pending


def test_a_batch_that_asks_for_more_than_there_are_repeats_some():
    space = SearchSpace(Bounds([0.0], [3.0]), steps=[1.0])
    agent = make_agent("d-gpucb", space, Composition(1), prior=Prior([RBF(1.0)], np.array([0.1]), [0.0]))
    agent.tell([[1.0]], [[0.5]])
    assert set(agent.ask(6).ravel()) == {0.0, 1.0, 2.0, 3.0}


def test_candidates_of_one_batch_differ_as_well():
    space = SearchSpace(candidates=np.linspace(0, 1, 12)[:, None])
    prior = Prior([RBF(0.3)], np.array([1e-8]), [0.0])
    agent = make_agent("d-gpucb", space, Composition(1), prior=prior)
    rows = np.arange(0, 12, 2)
    agent.tell(rows, np.sin(3 * space.candidates[rows]))
    assert len(set(agent.ask(6).tolist())) == 6


@pytest.mark.parametrize("general", [False, True])
def test_the_posterior_of_a_list_is_the_one_that_predicts_anywhere(general):
    space, rng = staff(), np.random.default_rng(0)
    g = (
        GeneralComposition(2, lambda y, x: y[..., 0] * y[..., 1] + x[..., 0])
        if general
        else Composition(
            2, weights=lambda x: np.stack([1 + x[:, 0], 2 - x[:, 1]], axis=1), offset=lambda x: x[:, 2]
        )
    )
    parts = (
        [ConstantKernel(2.0) * RBF(2.0), RBF([1.0, 2.0, 3.0])],
        np.array([0.1, 0.2]),
        g,
        [0.3, lambda x: x[:, 0]],
    )
    listed = ListedPosterior(*parts, space=space, features=space.features(space.listed))
    anywhere = DecomposedGP(*parts)
    X, Y = space.sample(9, rng), rng.normal(size=(9, 2))
    Y[3, 1] = np.nan
    for model in (listed, anywhere):
        model.observe(X, Y)
    for policies in (space.listed, space.sample(20, rng)):
        for one, other in zip(
            listed.predict_groups(policies), anywhere.predict_groups(policies), strict=True
        ):
            np.testing.assert_allclose(one, other, atol=1e-10)
        for one, other in zip(listed.predict(policies), anywhere.predict(policies), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-10)


def test_small_spaces_use_kept_rows():
    agent, _ = told("d-gpucb", staff(), 8)
    assert isinstance(agent.belief.model, ListedPosterior)
    assert isinstance(agent.belief.model.rows, CandidateMixture)  # its kernels are learned on the way
    given = make_agent("d-gpucb", staff(), Composition(1), prior=Prior([RBF(1.0)], np.zeros(1), [0.0]))
    assert isinstance(given.belief.model, ListedPosterior)
    assert isinstance(given.belief.model.rows, CandidatePosterior)


def test_beta_counts_policies_where_all_are_separate_and_choices_where_some_entries_are_real():
    finite = default_exploration(staff())
    assert isinstance(finite, FiniteBeta) and finite.beta(3) == FiniteBeta(226, 0.1, 5.0).beta(3)
    partly = default_exploration(mixed())  # 3 categories, 10 whole numbers and one real entry
    assert isinstance(partly, ContinuousBeta)
    assert partly.beta(3) == ContinuousBeta(1, 0.1, 5.0, groups=30).beta(3)


def test_the_uniform_policy_keeps_to_steps_and_limits():
    for limit, share in ((10.0, 3.0), (17.9, 5.0), (18.0, 6.0)):
        policy = make_agent("uniform", staff(limit), Composition(1)).ask()[0]
        np.testing.assert_array_equal(policy, [share] * 3)
    with pytest.raises(ValueError, match="some are categories"):
        make_agent("uniform", mixed(), Composition(1))


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_a_category_that_matters_is_found(name):
    # Outcomes do not follow the order of the categories, and the best is neither first nor last.
    space = SearchSpace(Bounds([0.0, 0.0], [4.0, 1.0]), steps=[1, 0], categories=[True, False])
    heights = np.array([0.0, -1.0, 1.0, -1.0, 0.5])
    agent = make_agent(name, space, Composition(1))
    for _ in range(25):
        x = agent.ask()
        y = heights[x[:, 0].astype(int)] - (x[:, 1] - 0.4) ** 2
        agent.tell(x, y[:, None] if agent.feedback == "decomposed" else y)
    best = agent.recommend().policy
    assert best[0] == 2 and best[1] == pytest.approx(0.4, abs=0.1)


@pytest.mark.parametrize("name", ["d-gpucb", "d-ei", "d-ts"])
@pytest.mark.parametrize("levels", [8, 12])  # a list of candidates, and too many for one
def test_a_batch_after_failures_has_no_policy_twice_and_keeps_to_what_works(name, levels):
    space = SearchSpace(Bounds(np.zeros(3), np.full(3, levels - 1.0)), steps=np.ones(3))
    agent = make_agent(name, space, Composition(2), seed=2)
    for _ in range(14):
        x = agent.ask()
        agent.tell(x, np.where(x[:, :1] > 0.7 * levels, np.nan, outcomes(x / levels)))
    assert agent.belief.history.failures
    batch = agent.ask(8)
    assert len(np.unique(batch, axis=0)) == 8
    assert (batch[:, 0] > 0.7 * levels).sum() <= 2


def test_what_a_failure_may_cost_does_not_depend_on_what_the_batch_has_taken():
    space, seen = staff(), []

    class Price:
        def priced(self, value, value_and_gradient):
            seen.append(value(space.listed))
            return value, value_and_gradient

    best = space.listed[np.argmax(space.listed[:, 0])]
    search = Search(
        space, None, lambda: np.empty((0, 3)), 1.0, lambda: np.random.default_rng(0), lambda x: 1.0,
        taken=[best], caution=Price(),
    )  # fmt: skip
    chosen = search.maximise(lambda x: x[:, 0], None)
    np.testing.assert_array_equal(seen[0], space.listed[:, 0])
    assert chosen[0] == best[0] and (chosen != best).any()
