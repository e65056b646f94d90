"""Another environment's outcomes as prior means: the ODE of an epidemic for the epidemic among persons."""

import numpy as np
import pytest

import bridges
import simulators
from optimizer import Prior


@pytest.fixture(scope="module")
def town():
    return simulators.make("flu-abm", persons=1000, noise_variance=1e-3)


@pytest.fixture(scope="module")
def outcomes(town):
    return bridges.prior_outcomes(town, "flu-ode")


def test_the_ode_of_a_town_has_its_people_contacts_and_policies(town):
    ode = simulators.make("flu-ode", **town.counterpart("flu-ode"))
    assert ode.population.tolist() == town.population.sizes.tolist()
    assert ode.r0 == pytest.approx(town.r0)
    assert ode.initial_infected.sum() == 50  # of the persons, 0.34 % would be three
    assert ode.contacts == pytest.approx(town.population.network.contact_matrix())
    ours, theirs = ode.policy_space.constraint, town.policy_space.constraint
    assert np.allclose(ours.A, theirs.A) and np.allclose(ours.ub, theirs.ub)


def test_prior_means_are_the_odes_outcomes(town, outcomes):
    ode = simulators.make("flu-ode", **town.counterpart("flu-ode"))
    policies = bridges.search_space(town).sample(100, np.random.default_rng(3))
    expected = ode.expected(policies)
    assert np.sqrt(np.mean((outcomes(policies) - expected) ** 2, axis=0)).max() < 1e-3
    assert outcomes.composed(policies) == pytest.approx(outcomes(policies).sum(axis=1))
    each = np.stack([mean(policies) for mean in outcomes.groups], axis=1)
    assert np.array_equal(each, outcomes(policies))


def test_kernels_are_learned_on_what_the_ode_gets_wrong(town, outcomes):
    settings = {"samples": 12, "restarts": 0, "seed": 4}
    plain = bridges.learn_prior(town, **settings)
    discrepancy = bridges.learn_prior(town, **settings, mean_from=outcomes)
    policies = bridges.search_space(town).sample(12, np.random.default_rng(bridges.seeds.child(4, 0)))
    assert np.array(plain.means) - discrepancy.means == pytest.approx(outcomes(policies).mean(axis=0))
    whole = outcomes.above(Prior.from_dict(discrepancy.to_dict()))
    for j, mean in enumerate(whole.means):
        assert mean(policies) == pytest.approx(outcomes(policies)[:, j] + discrepancy.means[j])
    own = bridges.learn_prior(town, **settings, mean_from=outcomes, own=True)
    (mean,) = outcomes.above(own, own=True).means
    assert mean(policies) == pytest.approx(outcomes.composed(policies) + own.means[0])


@pytest.mark.parametrize("agent", ["d-gpucb", "gp-ucb"])
def test_an_agent_predicts_the_ode_before_it_has_observed_anything(town, outcomes, agent):
    discrepancy = bridges.learn_prior(town, samples=12, restarts=0, mean_from=outcomes)
    tried = bridges.make_agent(agent, town, prior=outcomes.above(discrepancy))
    policies = bridges.search_space(town).sample(5, np.random.default_rng(8))
    mean, _ = tried.predict(policies)
    assert mean == pytest.approx(outcomes.composed(policies) + sum(discrepancy.means))


def test_the_ode_of_a_town_with_packs_of_doses_is_interpolated_as_well_as_that_of_shares():
    town = simulators.make("flu-abm", persons=1000, noise_variance=1e-3, pack=10)
    outcomes = bridges.prior_outcomes(town, "flu-ode")
    ode = simulators.make("flu-ode", **town.counterpart("flu-ode"))
    rng, space = np.random.default_rng(3), town.policy_space
    policies = np.array([space.project(rng.uniform(0, space.bounds.ub)) for _ in range(60)])
    assert np.sqrt(np.mean((outcomes(policies) - ode.expected(policies)) ** 2, axis=0)).max() < 1e-3


@pytest.mark.parametrize(
    ("lever", "words"),
    [({"whole": [0, 5]}, "another set of levers"), ({"one_of": ["a", "c"]}, "other categories")],
)
def test_levers_of_another_kind_have_no_prior_means_here(lever, words):
    def f(x):
        return [0.0]

    given = [{"one_of": ["a", "b"]} if "one_of" in lever else [0, 5], lever]
    theirs, ours = (bridges.FunctionEnvironment(f, {"x": one}, ["g"], expected=f) for one in given)
    with pytest.raises(ValueError, match=words):
        bridges.PriorOutcomes(theirs, ours)


def test_outcomes_of_candidates_are_looked_up():
    world = simulators.make("synthetic", seed=1)
    outcomes = bridges.PriorOutcomes(world, world)
    rows = np.array([3, 0, 3])
    assert np.array_equal(outcomes(rows), world.expected(rows))


@pytest.mark.parametrize(
    ("options", "name", "given", "words"),
    [
        ({}, "synthetic", {}, "groups"),
        ({}, "flu-ode", {"budget": 0.3}, "another budget"),
        ({}, "flu-ode", {"bounds": [0, 0.9]}, "another pair of bounds"),
        ({"school_closure": 30}, "flu-ode", {}, "school closure"),
        ({}, "flu-abm", {"persons": 1000}, "noise-free outcomes"),
    ],
)
def test_environments_that_do_not_fit_are_refused_in_one_line(options, name, given, words):
    town = simulators.make("flu-abm", persons=1000, noise_variance=1e-3, **options)
    with pytest.raises(ValueError, match=words) as refused:
        bridges.prior_outcomes(town, name, given)
    assert "\n" not in str(refused.value)
