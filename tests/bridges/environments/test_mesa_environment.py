"""The models are those that ship with Mesa."""

import gc
import weakref

import mesa
import numpy as np
import pytest
from mesa.examples.advanced.epstein_civil_violence.model import EpsteinCivilViolence
from mesa.examples.advanced.wolf_sheep.model import WolfSheep
from mesa.examples.basic.boltzmann_wealth_model.model import BoltzmannWealth
from mesa.examples.basic.virus_on_network.model import VirusOnNetwork
from mesa.experimental.devs import ABMSimulator

from bridges import MesaEnvironment
from simulators import SimulationError, check_environment

STATES = {"Susceptible": "Susceptible", "Infected": "Infected", "Resistant": "Resistant"}


def virus(**changes):
    given = {
        "policy": {"virus_check_frequency": (0, 1), "gain_resistance_chance": (0, 1)},
        "outcomes": STATES,
        "steps": 10,
        "fixed": {"num_nodes": 30, "initial_outbreak_size": 3},
    }
    return MesaEnvironment(VirusOnNetwork, **{**given, **changes})


def unrest(**changes):
    return MesaEnvironment(
        EpsteinCivilViolence,
        policy={"cop_density": (0, 0.2), "legitimacy": (0.5, 1)},
        outcomes={"active": "active", "quiet": "quiet", "arrested": "arrested"},
        steps=5,
        fixed={"width": 12, "height": 12},
        **changes,
    )


@pytest.mark.parametrize("make", [virus, unrest])
def test_a_model_of_mesa_keeps_the_contract_as_it_is(make):
    assert check_environment(make(weights=[1, 2, 0.5])) == []


def test_every_machine_is_in_one_of_three_states():
    env = virus()
    for seed in range(5):
        env.reset(seed)
        assert env.step([0.3, 0.6]).values.sum() == 30


def test_the_outcomes_are_those_of_the_model_run_by_hand():
    env = unrest()
    env.reset(4)
    outcomes = env.step([0.1, 0.8])
    model = EpsteinCivilViolence(
        width=12, height=12, cop_density=0.1, legitimacy=0.8, seed=outcomes.info["seed"]
    )
    for _ in range(5):
        model.step()
    assert outcomes.values.tolist() == [model.ACTIVE, model.QUIET, model.ARRESTED]


def test_a_virus_that_cannot_spread_stays_where_it_is():
    fixed = {"num_nodes": 30, "initial_outbreak_size": 3, "virus_spread_chance": 0.0, "recovery_chance": 0.0}
    assert virus(fixed=fixed).step([0.5, 0.5]).values.tolist() == [27, 3, 0]


def test_reporters_may_be_functions_and_parameters_counts():
    env = MesaEnvironment(
        BoltzmannWealth,
        policy={"n": {"whole": (10, 50)}},
        outcomes={"wealth": lambda model: sum(agent.wealth for agent in model.agents), "steps": "steps"},
        steps=7,
    )
    assert env.step([20]).values.tolist() == [20, 7]


def test_a_function_that_makes_a_model_will_do():
    def wolves(seed, **given):
        return WolfSheep(width=8, height=8, simulator=ABMSimulator(), seed=seed, **given)

    policy = {"initial_sheep": {"whole": (1, 40)}}
    env = MesaEnvironment(wolves, policy, {"wolves": "Wolves", "sheep": "Sheep"}, 3)
    env.reset(1)
    first = env.step([20])
    env.reset(1)
    assert env.step([20]).values.tolist() == first.values.tolist()
    assert (first.values >= 0).all()


class Fares(mesa.Model):
    """Keeps what it was made with."""

    def __init__(self, tariff, buses, seed=None, **shares):
        super().__init__(seed=seed)
        assert type(buses) is int and tariff in ("flat", "by zone")
        self.young, self.old = shares["share[young]"], shares["share[old]"] * (tariff == "flat")


def test_a_model_gets_ints_names_and_the_levers_of_groups():
    env = MesaEnvironment(
        Fares,
        {"buses": {"whole": (1, 5)}, "tariff": {"one_of": ["flat", "by zone"]}, "share[*]": (0, 1)},
        {"young": "young", "old": "old"},
        1,
    )
    assert env.step([2, "flat", 0.25, 0.5]).values.tolist() == [0.25, 0.5]
    assert env.step([2, 1, 0.25, 0.5]).values.tolist() == [0.25, 0.0]


class Stops(mesa.Model):
    def __init__(self, x, seed=None):
        super().__init__(seed=seed)
        self.word = "many"

    def step(self):
        self.running = self.steps < 3
        if self.steps > 3:
            raise RuntimeError("it had stopped")


class Unseeded(mesa.Model):
    def __init__(self, x):
        super().__init__()


def test_a_model_that_stops_is_reported_as_it_is_then():
    assert MesaEnvironment(Stops, {"x": (0, 1)}, {"steps": "steps"}, 50).step([0]).values.tolist() == [3]


def test_no_model_stays_in_memory():
    born = []

    class Born(Stops):
        def __init__(self, x, seed=None):
            super().__init__(x, seed)
            mesa.Agent(self)
            born.append(weakref.ref(self))

    MesaEnvironment(Born, {"x": (0, 1)}, {"steps": "steps"}, 2).step([0])
    gc.collect()
    assert born[0]() is None


@pytest.mark.parametrize(
    ("reporter", "message"),
    [
        ("Infektet", "no reporter and no attribute 'Infektet'; its reporters: Infected, Susceptible"),
        (lambda model: model.nothing, "raised AttributeError"),
        (lambda model: np.inf, "outcome of out is infinite"),
        ("running", "outcome of out is True, not a number"),
    ],
)
def test_a_report_that_is_none_fails_the_step_in_one_line(reporter, message):
    with pytest.raises(SimulationError, match=message) as failure:
        virus(outcomes={"out": reporter}).step([0.1, 0.1])
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        (Unseeded, {}, "Unseeded cannot be seeded: give its __init__ a parameter seed"),
        (Stops, {"policy": {"y": (0, 1)}}, "Stops has no parameter 'y'; it has x, seed"),
        (Stops, {"policy": {"x[*]": (0, 1)}}, r"no parameter 'x.steps.'; .* levers of groups .* \*\*kwargs"),
        (Stops, {"fixed": {"z": 1}}, "Stops has no parameter 'z'"),
        (Stops, {"fixed": {"x": 1}}, "fixed: 'x' is an entry of the policy"),
        (Stops, {"outcomes": {}}, "outcomes={} must be a table"),
        (Stops, {"outcomes": {"steps": 3}}, "outcomes.'steps'.=3 must be a function"),
        (Stops, {"steps": 0}, "steps=0 must be a whole number >= 1"),
        ("mesa.examples:Nothing", {}, "mesa.examples has no 'Nothing'"),
    ],
)
def test_an_impossible_declaration_is_refused_in_one_line(model, changes, message):
    given = {"policy": {"x": (0, 1)}, "outcomes": {"steps": "steps"}, "steps": 2, **changes}
    with pytest.raises(ValueError, match=message) as refusal:
        MesaEnvironment(model, **given)
    assert "\n" not in str(refusal.value)
