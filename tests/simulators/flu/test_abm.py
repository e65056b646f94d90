"""The agent-based flu season as an environment."""

import pickle

import numpy as np
import pytest
from joblib import Parallel, delayed

from simulators import FluODE, SimulationError, check_environment, make
from simulators.flu.abm import FluABM
from simulators.flu.season.model import FluModel

POLICY = np.array([0.3, 0.3, 0.2, 0.1, 0.1])


@pytest.fixture(scope="module")
def town():
    return make("flu-abm", persons=2_000, replicates=3)


@pytest.mark.parametrize(
    "options",
    [
        {"replicates": 2},
        {"replicates": 2, "carry_over": 0.5, "school_closure": 30},
        {"intervention": "treatment", "noise_variance": 0.01},
        {"groups": 9, "noise_variance": 0.01},
    ],
)
def test_the_environment_honours_the_contract(options):
    assert check_environment(FluABM(persons=1_500, days=100, **options)) == []


@pytest.mark.parametrize("options", [{}, {"intervention": "treatment"}, {"groups": 9}, {"budget": None}])
def test_groups_unit_and_policies_are_those_of_the_ode(options):
    abm, ode = FluABM(persons=1_500, **options), FluODE(**options)
    assert (abm.groups, abm.group_units, abm.sense) == (ode.groups, ode.group_units, ode.sense)
    assert abm.objective_unit == ode.objective_unit
    mine, other = abm.policy_space, ode.policy_space
    assert (mine.labels, mine.units) == (other.labels, other.units)
    assert np.array_equal(mine.bounds.lb, other.bounds.lb) and np.array_equal(mine.bounds.ub, other.bounds.ub)
    if other.constraint is None:
        assert mine.constraint is None
    else:
        assert np.array_equal(mine.constraint.A, other.constraint.A)
        assert np.array_equal(mine.constraint.ub, other.constraint.ub)
    assert abm.r0 == pytest.approx(ode.r0)
    assert np.array_equal(abm.current_policy, ode.current_policy)


def test_noise_free_outcomes_are_unknown(town):
    with pytest.raises(NotImplementedError):
        town.expected([POLICY])


def test_a_step_is_the_mean_of_its_replicates_with_their_variance(town):
    town.reset(5)
    outcomes = town.step(POLICY)
    each, peaks = [], []
    for seed in outcomes.info["seeds"]:
        model = town.model(POLICY, seed)
        model.run_model()
        each.append([group.sick_days / 2_000 for group in model.groups])
        peaks.append(model.datacollector.get_model_vars_dataframe().set_index("day")["infectious"].idxmax())
    assert outcomes.values == pytest.approx(np.mean(each, axis=0))
    assert outcomes.noise_variance == pytest.approx(np.var(each, axis=0, ddof=1) / 3)
    info = outcomes.info
    assert info["infected"].sum(axis=0) / 2_000 == pytest.approx(outcomes.values)
    assert info["attack_rate"] == pytest.approx(info["replicates"].mean(axis=0))
    assert info["peak_day"] == pytest.approx(np.mean(peaks))
    assert info["infected"].shape == (366, 5) and info["failed"] == []


def test_a_single_replicate_has_the_noise_of_a_pilot_pooled_over_policies():
    env = FluABM(persons=2_000, days=120)
    env.reset(0)
    variance = env.step(POLICY).noise_variance
    assert (variance > 0).all()
    env.reset(1)
    assert np.array_equal(env.step(POLICY * 0.5).noise_variance, variance)
    values = []
    for seed in range(40):
        env.reset(seed)
        values.append(env.step(POLICY * 0.5).values)
    ratio = np.var(values, axis=0, ddof=1).sum() / variance.sum()
    assert 0.2 < ratio < 5
    given = FluABM(persons=2_000, days=120, replicates=4, noise_variance=0.4).step(POLICY)
    assert given.noise_variance == pytest.approx(np.full(5, 0.1))


def test_a_round_has_the_same_seeds_for_every_policy_and_new_ones_each_round(town):
    def seeds(noise, policy):
        town.reset(noise)
        return town.step(policy).info["seeds"]

    assert seeds(1, POLICY) == seeds(1, POLICY * 0.5)
    assert len({*seeds(1, POLICY), *seeds(2, POLICY)}) == 6


def test_at_least_fifty_persons_start_infected(town):
    model = town.model(POLICY, seed=0)
    assert sum(group.infections for group in model.groups) == 50


def outcomes_of(seed, policy):
    env = make("flu-abm", persons=2_000, replicates=4, days=120)
    env.reset(seed)
    return env.step(policy).values.tolist()


def test_outcomes_are_the_same_on_one_and_on_two_processes():
    policies = [np.zeros(5), POLICY, np.array([0.8, 0.4, 0, 0, 0])]
    one = [outcomes_of(11, x) for x in policies]
    assert one == [outcomes_of(11, x) for x in policies]
    assert one == Parallel(n_jobs=2)(delayed(outcomes_of)(11, x) for x in policies)


def test_ten_replicates_of_one_seed_are_ten_seasons():
    env = FluABM(persons=2_000, replicates=10)
    env.reset(0)
    attack = env.step(POLICY).info["replicates"] @ env.population.sizes
    assert len(set(attack.tolist())) >= 9


def test_reset_7_and_thirty_days_twice_have_the_same_states():
    def states():
        env = FluABM(persons=2_000)
        env.reset(7)
        model = env.model(POLICY, int(env.rng.integers(2**63)))
        for _ in range(30):
            model.step()
        return [(g.susceptible, g.exposed, g.infectious, g.recovered) for g in model.groups]

    assert states() == states()


def test_nine_replicates_are_kept_when_the_tenth_fails(monkeypatch):
    env = FluABM(persons=1_500, replicates=10, days=60)
    env.reset(3)
    whole = env.step(POLICY)
    broken = whole.info["seeds"][6]
    run = FluModel.run_model

    def failing(model):
        if model._seed == broken or broken is None:
            raise ZeroDivisionError("no more beds")
        run(model)

    made = FluABM.model

    def marked(self, policy, seed, immune=None):
        model = made(self, policy, seed, immune)
        model._seed = seed
        return model

    monkeypatch.setattr(FluABM, "model", marked)
    monkeypatch.setattr(FluModel, "run_model", failing)
    env.reset(3)
    rest = env.step(POLICY)
    kept = np.delete(whole.info["replicates"], 6, axis=0)
    assert np.array_equal(rest.info["replicates"], kept)
    cause = "ZeroDivisionError: no more beds"
    assert rest.info["failed"] == [{"seed": broken, "policy": POLICY.tolist(), "cause": cause}]
    assert np.isfinite(rest.values).all()
    broken = None
    env.reset(3)
    with pytest.raises(SimulationError, match="all 10 replicates failed; .*no more beds") as failure:
        env.step(POLICY)
    assert failure.value.seed == whole.info["seeds"][0]
    assert failure.value.policy.tolist() == POLICY.tolist()


def test_without_infections_outcomes_are_zero():
    outcomes = FluABM(persons=1_500, initial_infected=0, replicates=2).step(POLICY)
    assert outcomes.values.tolist() == [0.0] * 5
    assert outcomes.noise_variance.tolist() == [0.0] * 5
    assert outcomes.info["attack_rate_total"] == 0.0


def test_immunity_carried_over_makes_the_next_season_smaller_and_is_a_memory():
    env = FluABM(persons=3_000, carry_over=0.9, replicates=2, r0=2)
    assert env.has_memory and not FluABM(persons=3_000).has_memory
    env.reset(1)
    first = env.step(np.zeros(5)).info["attack_rate_total"]
    state = pickle.loads(pickle.dumps(env.get_state()))
    assert state["immune"].shape == (2, 3_000)
    second = env.step(np.zeros(5)).info["attack_rate_total"]
    assert second < 0.5 * first
    env.step(np.zeros(5))
    env.set_state(state)
    assert env.step(np.zeros(5)).info["attack_rate_total"] == second
    env.reset(1)
    assert env.step(np.zeros(5)).info["attack_rate_total"] == first


def test_closing_schools_is_a_policy_with_a_price():
    env = FluABM(persons=3_000, replicates=3, school_closure=60, closure_cost=0.02)
    assert env.policy_space.labels[-1] == "school closure"
    assert env.policy_space.units[-1] == "days"
    assert env.policy_space.bounds.ub[-1] == 60
    env.reset(0)
    opened, closed = np.zeros(6), np.append(np.zeros(5), 60)
    before = env.step(opened)
    env.reset(0)
    after = env.step(closed)
    assert after.values[0] < before.values[0]
    assert env.compose(after.values, closed) == pytest.approx(after.values.sum() + 1.2)
    assert env.compose(before.values, opened) == pytest.approx(before.values.sum())
    assert env.weights([opened, closed]).tolist() == [[1] * 5] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"persons": 0}, "persons=0 must be a whole number >= 1"),
        ({"persons": 3}, "persons=3 leaves nobody in the group"),
        ({"replicates": 0}, "replicates=0 must be"),
        ({"carry_over": 1.5}, "carry_over=1.5 must be a share, 0..1"),
        ({"efficacy": 1.5}, "efficacy of group '0-19' is 1.5"),
        ({"infectious_period": -4}, "infectious_period=-4 must be"),
        ({"latent_period": -1}, "latent_period=-1 must be"),
        ({"school_closure": -1}, "school_closure=-1 must be"),
        ({"closure_cost": -1}, "closure_cost=-1 must be"),
        ({"noise_variance": -1}, "noise_variance of group '0-19' is -1"),
        ({"vaccine": "leakey"}, "did you mean 'leaky'"),
        ({"intervention": "vacination"}, "did you mean 'vaccination'"),
        ({"intervention": "treatment", "bounds": (0, 0.3), "budget": None}, "bounds of a treatment"),
        ({"r0": -1}, "r0=-1 must be"),
        ({"initial_infected": 1e6}, "initial_infected of group '0-19'"),
        ({"contacts": "mistry"}, "contacts='mistry' must be one of"),
        ({"contacts": 1e4 * np.ones((5, 5))}, "contacts"),
    ],
)
def test_a_wrong_parameter_is_refused_in_one_line_that_names_it(options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        FluABM(**({"persons": 1_500} | options))
    assert "\n" not in str(refusal.value)


def test_a_policy_outside_the_space_is_refused(town):
    with pytest.raises(ValueError, match="'50-64' is 1.2, outside its bounds 0..1"):
        town.step([0, 0, 1.2, 0, 0])
