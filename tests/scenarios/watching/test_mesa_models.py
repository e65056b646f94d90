"""Mesa models of others are watched as a round runs them, wherever their agents are."""

import threading

import pytest

import simulators
from scenarios import load
from scenarios.errors import UserError
from scenarios.watching import mesa_models
from scenarios.watching.stepping import Stepping

WAITED_FOR = threading.Event()
EXAMPLES = "mesa.examples.basic"
MODELS = {
    "schelling": (
        f"{EXAMPLES}.schelling.model:Schelling",
        "{ homophily = [0, 1], density = [0.2, 0.9] }",
        '{ happy = "pct_happy", agents = "population" }',
        6,
    ),
    "virus": (
        f"{EXAMPLES}.virus_on_network.model:VirusOnNetwork",
        "{ initial_outbreak_size = { whole = [1, 10] }, gain_resistance_chance = [0, 1] }",
        '{ infected = "Infected" }',
        5,
    ),
    "birds": (
        f"{EXAMPLES}.boid_flockers.model:BoidFlockers",
        "{ population_size = { whole = [10, 50], step = 10 }, speed = [1, 5] }",
        '{ agents = "mesa_of_a_test:birds" }',
        4,
    ),
}
DRAWING = """
import mesa


class Walk(mesa.Model):
    'It draws from its own generators and from the global ones, and reports where it is.'

    def __init__(self, pull=0.0, side='left', seed=None):
        super().__init__(seed=seed)
        self.pull, self.side, self.place = pull, side, 0.0

    def step(self):
        import random

        sign = 1 if self.side == 'right' else -1
        self.place += self.pull * sign + self.random.random() + float(self.rng.random()) + random.random()


def noisy(model):
    'A reporter that draws random numbers, as none should.'
    return model.place + 0 * model.random.random() + 0 * model.rng.random()


class Broken(Walk):
    def step(self):
        raise KeyError('no such <valve>')
"""


def text_of(model, policy, outcomes, steps, more=""):
    options = f'model = "{model}"\npolicy = {policy}\noutcomes = {outcomes}\nsteps = {steps}'
    return (
        'name = "s"\nrounds = 1\ntrials = 1\nagents = ["random"]\n[environment]\nname = "mesa"\n'
        f"[environment.options]\n{options}\n{more}"
    )


@pytest.fixture
def stepping(tmp_path):
    (tmp_path / "mesa_of_a_test.py").write_text(DRAWING)

    def make(model, *parts, **more):
        if model.startswith("walk"):
            model = f"{tmp_path}/mesa_of_a_test.py:{model.partition(':')[2]}"
        said = "\n".join(f"{key} = {value}" for key, value in more.items())
        text = text_of(model, *parts, said).replace("mesa_of_a_test:", f"{tmp_path}/mesa_of_a_test.py:")
        (tmp_path / "s.toml").write_text(text)
        return Stepping(load(tmp_path / "s.toml"))

    with (tmp_path / "mesa_of_a_test.py").open("a") as file:
        file.write("\n\ndef birds(model):\n    return len(model.agents)\n")
    return make


def to_the_end(stepped, found):
    points = list(found["points"])
    while not found["over"]:
        found = stepped.step({"run": found["run"], "steps": 1}, WAITED_FOR)
        points += found["points"]
    return points, found


@pytest.mark.parametrize("name", MODELS)
def test_the_model_watched_is_the_model_that_a_round_runs(stepping, name):
    stepped = stepping(*MODELS[name])
    policy = {"schelling": [0.5, 0.8], "virus": [3, 0.5], "birds": [20, 2]}[name]
    found = stepped.begin({"policy": policy, "seed": 7}, WAITED_FOR)
    points, _ = to_the_end(stepped, found)
    environment = stepped.model.environment
    environment.reset(7)
    outcomes = environment.step(policy).values
    assert points[-1][0] == MODELS[name][3]
    assert points[-1][1 : 1 + len(outcomes)] == outcomes.tolist()


def test_reporters_that_draw_take_nothing_from_the_steps(stepping):
    parts = ("walk:Walk", '{ pull = [0, 1], side = { one_of = ["left", "right"] } }')
    stepped = stepping(*parts, '{ place = "mesa_of_a_test:noisy" }', 12)
    found = stepped.begin({"policy": [0.5, 1], "seed": 3}, WAITED_FOR)
    points, _ = to_the_end(stepped, found)
    environment = stepped.model.environment
    environment.reset(3)
    assert points[-1][1] == environment.step([0.5, 1]).values[0]
    assert len({point[1] for point in points}) == 13


def test_agents_stand_in_cells_on_networks_and_in_planes(stepping):
    cells = stepping(*MODELS["schelling"]).begin({"policy": [0.4, 0.8], "seed": 1}, WAITED_FOR)
    assert cells["grid"] and cells["extent"] == [-0.5, 19.5, -0.5, 19.5]
    assert all(one == [round(x) for x in one] for one in cells["places"]) and len(cells["places"]) > 200
    net = stepping(*MODELS["virus"]).begin({"policy": [3, 0.5], "seed": 1}, WAITED_FOR)
    assert len(net["places"]) == 10 and len(net["edges"]) > 5
    plane = stepping(*MODELS["birds"]).begin({"policy": [20, 2], "seed": 1}, WAITED_FOR)
    assert plane["extent"] == [0, 100, 0, 100] and len(plane["places"]) == 20


def test_agents_are_coloured_by_what_they_are(stepping):
    stepped = stepping(*MODELS["virus"])
    about = stepped.about({}, WAITED_FOR)
    assert about["fields"] == ["state"]  # what all have alike, and never changes, is no state
    found = stepped.begin({"policy": [3, 0.5], "seed": 1}, WAITED_FOR)
    names = found["names"][0]
    assert sum(names[i] == "INFECTED" for i in found["values"][0]) == 3
    assert "happy" in stepping(*MODELS["schelling"]).about({}, WAITED_FOR)["fields"]


def test_of_many_agents_some_are_shown(stepping, monkeypatch):
    monkeypatch.setattr(mesa_models, "MOST_AGENTS", 100)
    found = stepping(*MODELS["schelling"]).begin({"policy": [0.4, 0.8], "seed": 1}, WAITED_FOR)
    agents = int(found["said"].split()[0])
    assert len(found["places"]) == len(found["values"][0]) <= 100 < agents
    assert f"of which {len(found['places'])} are shown" in found["said"]


def test_a_model_without_a_space_has_numbers_alone(stepping):
    parts = (
        "walk:Walk",
        '{ pull = [0, 1], side = { one_of = ["left", "right"] } }',
        '{ place = "place" }',
        3,
    )
    found = stepping(*parts).begin({"policy": [0.5, 0], "seed": 0}, WAITED_FOR)
    assert found["places"] == [] and found["rows"] == [["place", "0"]]


def test_what_does_not_hang_together_with_the_rest_of_a_network_stands_around_it():
    import networkx

    class Model:
        def __init__(self):
            self.grid = type(
                "Net", (), {"G": networkx.disjoint_union(networkx.path_graph(5), networkx.empty_graph(3))}
            )

    layout = mesa_models.layout_of(Model())
    far = [(x * x + y * y) ** 0.5 for x, y in layout._at.values()]
    assert max(far[:5]) < 1.5 and far[5:] == pytest.approx([mesa_models.RING] * 3, abs=0.01)
    assert len(layout.edges) == 4


def test_a_model_that_fails_is_one_line(stepping):
    parts = ("walk:Broken", "{ pull = [0, 1] }", '{ place = "place" }', 3)
    stepped = stepping(*parts)
    found = stepped.begin({"policy": [0.5], "seed": 0}, WAITED_FOR)
    with pytest.raises(UserError, match=r"the model raised KeyError.*no such <valve>"):
        stepped.step({"run": found["run"], "steps": 1}, WAITED_FOR)


def test_a_policy_beyond_the_budget_is_refused_and_the_nearest_taken_when_asked_for(stepping):
    parts = ("walk:Walk", "{ pull = [0, 1] }", '{ place = "place" }', 3)
    stepped = stepping(*parts, budget=0.25)
    with pytest.raises(UserError):
        stepped.begin({"policy": [0.9], "seed": 0}, WAITED_FOR)
    found = stepped.begin({"policy": [0.9], "seed": 0, "nearest": True}, WAITED_FOR)
    assert found["policy"] == pytest.approx([0.25])


def test_an_ensemble_is_watched_in_its_first_world(stepping, tmp_path):
    parts = ("walk:Walk", "{ pull = [0, 1] }", '{ place = "place" }', 3)
    stepping(*parts)
    with (tmp_path / "s.toml").open("a") as file:
        file.write("[ensemble]\nsteps = [2, 3]\n")
    stepped = Stepping(load(tmp_path / "s.toml"))
    assert stepped.model.environment.steps == 2
    assert simulators.Environment in type(stepped.model.environment).__mro__
