"""Doses come in packs: the outcomes are those of the same shares, and the budget is one of whole packs."""

import numpy as np
import pytest

import simulators
from simulators import FluABM, FluODE, Whole, check_environment

PACK = 1_000_000


@pytest.fixture(scope="module")
def ode():
    return FluODE(pack=PACK, budget=0.4)


@pytest.fixture(scope="module")
def town():
    return FluABM(persons=1000, pack=10, budget=0.4, noise_variance=1e-3, days=60)


def spread(space, n, seed=0):
    """N policies over the space, a third of them at the limit of what it allows."""
    points = np.random.default_rng(seed).uniform(space.bounds.lb, 1.5 * space.bounds.ub, (n, space.d))
    return np.array([space.project(point) for point in points])


def test_levers_are_as_many_packs_as_a_group_has_persons_for(ode):
    sizes = ode.population
    assert ode.policy_space.levers == tuple(Whole(0, int(size // PACK)) for size in sizes)
    assert ode.policy_space.units == ("packs of 1,000,000 doses",) * 5
    half = FluODE(pack=PACK, bounds=(0.1, 0.5), budget=None).policy_space.levers
    assert half == tuple(Whole(-int(-0.1 * size // PACK), int(0.5 * size // PACK)) for size in sizes)


def test_outcomes_are_those_of_the_same_shares(ode):
    packs = spread(ode.policy_space, 6)
    shares = packs * PACK / ode.population
    reals = FluODE(budget=0.4)
    assert reals.policy_space.contains(shares).all()
    assert np.array_equal(ode.expected(packs), reals.expected(shares))
    for env in (ode, reals):
        env.reset(3)
    assert np.array_equal(ode.step(packs[0]).values, reals.step(shares[0]).values)


def test_a_season_among_persons_is_that_of_the_same_shares(town):
    reals = FluABM(persons=1000, budget=None, noise_variance=1e-3, days=60)
    sizes = town.population.sizes
    for packs in spread(town.policy_space, 3):
        for env in (town, reals):
            env.reset(2)
        assert np.array_equal(town.step(packs).values, reals.step(packs * 10 / sizes).values)
        assert town.model(packs, 0).doses.tolist() == (packs * 10).tolist()


@pytest.mark.parametrize("weights", [None, [3.0, 1.0, 2.0, 0.5, 0.0]])
def test_the_budget_is_never_exceeded_and_used_up_to_less_than_a_pack(weights):
    env = FluODE(pack=PACK, budget=0.4, budget_weights=weights)
    cost = env.population / env.population.sum() if weights is None else np.array(weights)
    spent = (spread(env.policy_space, 40) * PACK / env.population) @ cost
    assert spent.max() <= 0.4 * (1 + 1e-12)
    assert spent.max() > 0.4 - (PACK / env.population * cost).max()


def test_doses_of_a_town_are_counted_person_by_person(town):
    packs = spread(town.policy_space, 40)
    assert packs.sum(axis=1).max() == 40  # 0.4 of 1,000 persons, ten doses a pack
    over = town.policy_space.bounds.lb.copy()
    over[:2] = 20, 21
    with pytest.raises(ValueError, match="outside the constraint"):
        town.policy_space.check(over)


def test_the_ode_of_a_town_has_its_packs(town):
    ode = simulators.make("flu-ode", **town.counterpart("flu-ode"))
    assert ode.policy_space.levers == town.policy_space.levers
    assert np.array_equal(ode.policy_space.constraint.A, town.policy_space.constraint.A)
    assert ode.policy_space.constraint.ub == town.policy_space.constraint.ub == 40


def test_todays_coverage_is_rounded_down_to_whole_packs():
    ode, reals = FluODE(pack=PACK), FluODE()
    assert np.array_equal(ode.current_policy, reals.current_policy * ode.population // PACK)
    assert ode.policy_space.contains([ode.current_policy])[0]


def test_todays_coverage_is_no_policy_where_whole_packs_do_not_keep_its_bounds():
    lower = FluODE().current_policy
    assert FluODE(pack=PACK, bounds=(lower, 1), budget=None).current_policy is None
    town = FluABM(persons=1000, pack=10, bounds=(lower, 1), budget=None, noise_variance=1e-3)
    assert town.current_policy is None


def test_closing_schools_stays_a_real_number():
    env = FluABM(persons=1000, pack=10, school_closure=30, noise_variance=1e-3, days=30)
    env.reset(0)
    env.step([5, 5, 0, 0, 0, 12.5])
    with pytest.raises(ValueError, match="'0-19' is 5.5; accepted: whole numbers"):
        env.step([5.5, 5, 0, 0, 0, 12.5])


def test_an_environment_of_packs_keeps_the_contract(ode):
    assert check_environment(ode) == []


@pytest.mark.parametrize("kind", [FluODE, FluABM])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"pack": 1000, "intervention": "treatment"},
            "pack=1000 has no meaning for intervention='treatment'",
        ),
        ({"pack": 0}, "pack=0 must be a whole number >= 1"),
        ({"pack": 2.5}, "pack=2.5 must be a whole number >= 1"),
        ({"pack": 10**9, "bounds": (0.1, 0.2)}, "pack=1000000000: no whole number of packs .* group '0-19'"),
    ],
)
def test_a_wrong_pack_is_refused_in_one_line(kind, options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        kind(**options)
    assert "\n" not in str(refusal.value)
