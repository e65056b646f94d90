"""What a batch may cost: by all sets of a small space, and by every named agent."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF

from optimizer import Composition, SearchSpace, make_agent
from optimizer.agents.agent import Query
from optimizer.agents.spending import Spending, most_telling, subsets
from optimizer.posterior.decomposed_gp import DecomposedGP
from optimizer.prior.prior import Prior

N, J = 30, 3
RNG = np.random.default_rng(0)
PLACES = RNG.uniform(0, 1, (N, 2))
COSTS = np.column_stack([RNG.uniform(0.5, 2, N), RNG.uniform(0.1, 1, (N, J))])
PRIOR = Prior([RBF(0.3)] * J, np.full(J, 0.01), [0.0] * J)


def made(name, budget=None, **changes):
    prior = None if name == "random" else PRIOR
    if name in ("gp-ucb", "ei"):
        prior = Prior([RBF(0.3)], np.array([0.03]), [0.0])
        changes["kernel"] = "own"
    space = SearchSpace(candidates=PLACES)
    costs = {"query_costs": lambda rows: COSTS[rows], "query_budget": budget}
    return make_agent(name, space, Composition(J), prior=prior, **costs, **changes)


def cost_of(asked):
    if isinstance(asked, Query):
        pairs = zip(asked.policies, asked.groups, strict=True)
        return sum(COSTS[row, 0] + COSTS[row, 1:][groups].sum() for row, groups in pairs)
    return COSTS[asked].sum()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=3, max_size=6), st.integers(1, 3), st.integers(2, 25), st.data())
def test_those_can_be_chosen_whose_set_can_be_completed_within_the_budget(costs, n, budget, data):
    space = SearchSpace(candidates=np.arange(len(costs), dtype=float)[:, None])
    spending = Spending(lambda rows: np.array(costs)[rows][:, None] * [1.0, 0.0], budget, False, space)
    taken = data.draw(st.lists(st.integers(0, len(costs) - 1), max_size=len(costs) - n, unique=True))
    left = [row for row in range(len(costs)) if row not in taken]
    sets = [one for one in combinations(left, n) if sum(costs[row] for row in one) <= budget]
    known = {row for one in sets for row in one}
    purse = spending.purse(n)
    if not known:
        with pytest.raises(ValueError, match=f"a budget of {budget} does not pay for {n} policies"):
            purse.affordable(taken)
    else:
        assert set(np.flatnonzero(purse.affordable(taken)).tolist()) == known


@pytest.mark.parametrize("name", ["d-gpucb", "d-ei", "d-ts", "gp-ucb", "ei", "mutual-information", "random"])
@pytest.mark.parametrize("whole", [False, True])
def test_no_agent_asks_for_more_than_the_budget_and_all_ask_for_as_many(name, whole):
    budget, n = 10.5, 4
    agent = made(name, budget, **({"observe": "all"} if whole and name.startswith("d-") else {}))
    spent = []
    for _ in range(6):
        asked = agent.ask(n)
        rows = asked.policies if isinstance(asked, Query) else asked
        assert len(set(rows.tolist())) == n
        spent.append(cost_of(asked))
        values = np.stack([PLACES[rows] @ [1, 2], PLACES[rows] @ [-1, 1], PLACES[rows] @ [0, 1]], axis=1)
        if agent.feedback == "aggregate":
            agent.tell(rows, values.sum(axis=1))
        elif isinstance(asked, Query):
            known = [np.isin(np.arange(J), groups) for groups in asked.groups]
            agent.tell(rows, np.where(known, values, np.nan))
        else:
            agent.tell(rows, values)
    assert max(spent) <= budget * (1 + 1e-9)
    assert isinstance(asked, Query) == (name.startswith("d-") and not whole)


def test_without_a_budget_an_agent_of_whole_policies_asks_as_without_costs():
    for name in ("gp-ucb", "random", "ei"):
        agent, free = made(name), made(name)
        free.spending = None
        assert agent.ask(5).tolist() == free.ask(5).tolist()


def test_a_budget_that_never_suffices_is_told():
    with pytest.raises(ValueError, match="a budget of 2 does not pay for 4 policies: the cheapest cost"):
        made("gp-ucb", 2.0).ask(4)
    space = SearchSpace(bounds=Bounds([0.0], [1.0]))
    with pytest.raises(ValueError, match="a budget of 3 a batch needs candidates"):
        make_agent(
            "d-gpucb", space, Composition(J), query_costs=lambda x: np.ones((len(x), 4)), query_budget=3.0
        )


def test_the_groups_chosen_lower_the_objectives_variance_most_for_their_cost():
    weights = np.array([1.0, -2.0, 0.5])
    model = DecomposedGP([RBF(0.3)] * J, [0.01, 0.5, 0.01], Composition(J, weights=weights))
    model.observe(PLACES[:1], [[0.3, np.nan, np.nan]])
    blocks = [(groups, 0.5 + 0.3 * len(groups)) for groups in subsets(J)]
    groups, cost = most_telling(model, PLACES[0], np.array([0.01, 0.5, 0.01]), blocks)

    def falls(groups):
        other = DecomposedGP([RBF(0.3)] * J, [0.01, 0.5, 0.01], Composition(J, weights=weights))
        other.observe(PLACES[:1], [[0.3, np.nan, np.nan]])
        seen = np.where(np.isin(np.arange(J), groups), 0.0, np.nan)
        before = other.predict(PLACES[:1])[1][0]
        return before - other.observe(PLACES[:1], [seen]).predict(PLACES[:1])[1][0]

    worth = [falls(one) / price for one, price in blocks]
    assert groups == blocks[int(np.argmax(worth))][0] == [1]
    assert cost == pytest.approx(0.8)


@pytest.mark.parametrize("seed", range(12))
def test_what_tells_most_for_its_cost_is_what_lowers_the_variance_most_whatever_the_spreads(seed):
    rng = np.random.default_rng(seed)
    kernels = [float(scale) * RBF(0.3) for scale in np.exp(rng.normal(0, 1.5, J))]
    noise, weights = np.exp(rng.normal(-1, 1.5, J)), rng.normal(0, 1, J)
    blocks = [(groups, float(rng.uniform(0.5, 2)) * len(groups)) for groups in subsets(J)]

    def variance(groups=None):
        model = DecomposedGP(kernels, noise, Composition(J, weights=weights))
        if groups is not None:
            model.observe(PLACES[:1], [np.where(np.isin(np.arange(J), groups), 0.0, np.nan)])
        return model.predict(PLACES[:1])[1][0]

    worth = [(variance() - variance(groups)) / price for groups, price in blocks]
    model = DecomposedGP(kernels, noise, Composition(J, weights=weights))
    assert most_telling(model, PLACES[0], noise, blocks)[0] == blocks[int(np.argmax(worth))][0]


def test_the_sets_of_groups_are_all_there_are_and_of_many_groups_a_few():
    assert subsets(3) == [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]
    assert len(subsets(10)) == 1023
    assert subsets(11) == [*([j] for j in range(11)), list(range(11))]
