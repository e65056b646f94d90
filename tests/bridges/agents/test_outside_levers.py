"""SciPy methods and Optuna samplers on whole numbers and categories: never off the steps or the limits."""

import numpy as np
import optuna
import pytest
from scipy.optimize import Bounds, LinearConstraint

from bridges import Loop, make_agent
from bridges.agents.optuna_agent import OptunaAgent
from bridges.agents.unit_box import UnitBox
from bridges.feedback import search_space
from optimizer import Composition, SearchSpace
from simulators import Environment, OneOf, Outcomes, PolicySpace, Real, Whole

NUMBERS = (Real(0, 1), Whole(1, 20), Whole(10, 30, 5))
ALL = (*NUMBERS, OneOf(("flat", "peak", "dynamic", "night")))
BEST = np.array([0.6, 12, 20, 2])


class Clinic(Environment):
    """The squared distance of each number from BEST, and 1 for another category."""

    groups, group_units, objective_unit, sense = ("numbers", "choices"), ("", ""), "", "minimize"

    def __init__(self, levers, most=np.inf):
        d = len(levers)
        sized = [not isinstance(lever, OneOf) for lever in levers]
        self.policy_space = PolicySpace(
            [f"x{i}" for i in range(d)],
            [""] * d,
            levers=levers,
            constraint=LinearConstraint(sized, -np.inf, most),
        )

    def step(self, policy):
        x = self.policy_space.check(policy)
        span = np.array([1, 19, 20])
        return Outcomes(np.array([(((x - BEST[: len(x)])[:3] / span) ** 2).sum(), float((x[3:] != 2).any())]))


AGENTS = [
    ("optuna-tpe", ALL),
    ("optuna-cmaes", NUMBERS),
    ("scipy-de", NUMBERS),
    ("scipy-nelder-mead", NUMBERS),
]


def rounds(agent, environment, n, history=()):
    return list(Loop(environment, agent, seed=0).run(n, history=history))


@pytest.mark.parametrize(("name", "levers"), AGENTS)
def test_every_policy_keeps_steps_and_budget_and_what_was_moved_is_recorded(name, levers):
    environment = Clinic(levers, most=30)  # the best policy sums to 32.6
    agent = make_agent(name, environment, seed=1)
    told = rounds(agent, environment, 40)
    assert {one.status for one in told} == {"ok"}
    assert environment.policy_space.contains([one.policy for one in told]).all()
    assert len(agent.projected) == 40 and any(agent.projected)
    assert environment.policy_space.contains([agent.recommend().policy])[0]


def test_a_sampler_that_knows_integers_and_categories_is_moved_by_constraints_alone():
    free = make_agent("optuna-tpe", Clinic(ALL), seed=1)
    rounds(free, Clinic(ALL), 25)
    assert free.projected == [False] * 25


@pytest.mark.parametrize("name", ["scipy-de", "scipy-nelder-mead"])
def test_a_method_that_knows_boxes_alone_says_that_it_was_moved_to_whole_numbers(name):
    environment = Clinic(NUMBERS)
    agent = make_agent(name, environment, seed=1)
    rounds(agent, environment, 30)
    assert sum(agent.projected[6:]) > 15


def test_a_sampler_of_optuna_is_given_the_kinds_that_the_levers_are():
    seen = []

    class Seeing(optuna.samplers.RandomSampler):
        def sample_independent(self, study, trial, name, distribution):
            seen.append(distribution)
            return super().sample_independent(study, trial, name, distribution)

    agent = OptunaAgent(search_space(Clinic(ALL)), Composition(2), sampler=Seeing)
    agent.ask()
    kinds = optuna.distributions
    assert seen[-4:] == [
        kinds.FloatDistribution(0, 1),
        kinds.IntDistribution(0, 19),
        kinds.IntDistribution(0, 4),
        kinds.CategoricalDistribution(range(4)),
    ]


@pytest.mark.slow
def test_tpe_finds_the_category_and_the_numbers():
    environment = Clinic(ALL)
    agent = make_agent("optuna-tpe", environment, seed=1)
    told = rounds(agent, environment, 80)
    best = agent.recommend().policy
    assert best[3] == 2 and abs(best[1] - 12) <= 3 and best[2] in (15, 20, 25)
    assert np.mean([one.policy[3] == 2 for one in told[40:]]) > 0.6  # by chance 0.25


@pytest.mark.parametrize(("name", "levers"), AGENTS)
def test_an_agent_told_again_goes_on_as_the_first_did(name, levers):
    environment = Clinic(levers, most=30)
    whole = rounds(make_agent(name, environment, seed=3), environment, 24)
    rest = rounds(make_agent(name, environment, seed=3), environment, 24, history=whole[:13])
    assert all(np.array_equal(a.policy, b.policy) for a, b in zip(whole[13:], rest, strict=True))


@pytest.mark.parametrize("name", ["optuna-cmaes", "scipy-de", "scipy-nelder-mead"])
def test_categories_are_refused_in_one_line_by_what_searches_numbers(name):
    with pytest.raises(
        ValueError, match="entry 4 of a policy is one of 4 categories; accepted: real"
    ) as told:
        make_agent(name, Clinic(ALL), seed=1)
    assert "\n" not in str(told.value)


def test_points_of_the_unit_box_are_policies_on_the_steps_and_back():
    space = SearchSpace(
        Bounds([0, 1, 0.1, 5], [1, 4, 0.9, 5]),
        steps=np.array([0, 1, 0.2, 1]),
        categories=np.zeros(4, dtype=bool),
    )
    box = UnitBox(space)
    assert box.d == 4 and box.counts.tolist() == [0, 3, 4, 0]
    policy, moved = box.policy([0.25, 0.4, 0.6, 0.0])
    assert moved and policy == pytest.approx([0.25, 2, 0.5, 5])
    assert box.policy(box.points(policy[None])[0])[1] is False


def test_an_equality_of_whole_numbers_is_kept():
    space = SearchSpace(
        Bounds([0, 0], [10, 10]),
        LinearConstraint([1, 1], 7, 7),
        steps=np.ones(2),
        categories=np.zeros(2, dtype=bool),
    )
    policies = {tuple(UnitBox(space).policy(u)[0]) for u in np.random.default_rng(0).random((40, 2))}
    assert all(sum(one) == 7 and np.array_equal(one, np.rint(one)) for one in policies) and len(policies) > 4
