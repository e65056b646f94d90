"""What every bridge promises, asked of each in the same words; of plug-in classes what holds for them."""

import json
import os
import random
import subprocess
import sys
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import mesa
import numpy as np
import pytest
from scipy.optimize import Bounds

from bridges import (
    CommandEnvironment,
    FunctionEnvironment,
    GymnasiumEnvironment,
    Loop,
    MesaEnvironment,
    UMBridgeEnvironment,
    make_agent,
    observe,
)
from simulators import Environment, Outcomes, PolicySpace, SimulationError, StepLost

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("umbridge")

ROOT = Path(__file__).parents[3]
GROUPS, POLICY = ["a", "b"], {"x": (0, 1)}


def noisy(x):
    """Two outcomes with noise from the global random numbers, of Python and of NumPy."""
    return [x + random.gauss(0, 0.1), 1 - x + np.random.normal(0, 0.1)]  # noqa: NPY002


class Noisy(Environment):
    groups, group_units, objective_unit, sense = ("a", "b"), ("", ""), "", "minimize"

    def __init__(self):
        self.policy_space = PolicySpace(("x",), ("",), bounds=Bounds([0], [1]))
        self.held = np.zeros(2)

    def step(self, policy):
        self.held[:] = noisy(float(policy[0]))
        policy[:] = 9.0
        return Outcomes(self.held)


class NoisyModel(mesa.Model):
    def __init__(self, x, seed=None):
        super().__init__(seed=seed)
        self.x = x

    def step(self):
        self.a, self.b = noisy(self.x)


class NoisyGame(gymnasium.Env):
    """Returns its own state, which it changes at every step."""

    observation_space = gymnasium.spaces.Box(-9, 9, (2,), dtype=np.float64)
    action_space = gymnasium.spaces.Box(0, 1, (1,), dtype=np.float64)

    def reset(self, *, seed=None, options=None):
        self.state = np.zeros(2)
        return self.state, {}

    def step(self, action):
        self.state[:] = noisy(float(action[0]))
        action[:] = 9.0
        return self.state, 0.0, False, False, {}


held = np.zeros(2)


def noisy_function(x):
    held[:] = noisy(float(x[0]))
    x[:] = 9.0
    return held


PROGRAM = """
import json, random, sys, time
asked = json.load(sys.stdin)
random.seed(asked["seed"])
x = asked["policy"]["x"]
time.sleep({pause})
print(json.dumps([x + random.gauss(0, 0.1), 1 - x + random.gauss(0, 0.1)]))
"""


class Server(BaseHTTPRequestHandler):
    pause = threading.Event()

    def do_GET(self):
        self._send({"protocolVersion": 1.0, "models": ["m"]})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/Evaluate":
            self.pause.wait()
            x, rng = asked["input"][0][0], np.random.default_rng(asked["config"]["seed"])
            self._send({"output": [[x + rng.normal(0, 0.1), 1 - x + rng.normal(0, 0.1)]]})
        elif self.path == "/ModelInfo":
            self._send({"support": {"Evaluate": True}})
        else:
            self._send({"inputSizes": [1], "outputSizes": [2]})

    def _send(self, what):
        body = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def url():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Server.pause.set()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def make(url, tmp_path):
    """Make the environment of a bridge around the noisy model."""

    def command(pause=0, **more):
        path = tmp_path / "model.py"
        path.write_text(PROGRAM.format(pause=pause))
        return CommandEnvironment([sys.executable, "-S", str(path)], POLICY, GROUPS, **more)

    bridges = {
        "function": lambda **more: FunctionEnvironment(noisy_function, POLICY, GROUPS, **more),
        "command": command,
        "mesa": lambda **more: MesaEnvironment(NoisyModel, POLICY, {"a": "a", "b": "b"}, 1, **more),
        "um-bridge": lambda **more: UMBridgeEnvironment(url, policy=POLICY, groups=GROUPS, **more),
        "gymnasium": lambda **more: GymnasiumEnvironment(
            NoisyGame, lambda episode: episode.observations[-1], policy=POLICY, groups=GROUPS, steps=2, **more
        ),
        "plug-in": Noisy,
    }
    return lambda bridge, **more: bridges[bridge](**more)


DECLARED = ["function", "command", "mesa", "um-bridge", "gymnasium"]
ALL = [*DECLARED, "plug-in"]


@pytest.mark.parametrize("bridge", ALL)
def test_the_same_seed_gives_the_same_step_and_another_seed_another(make, bridge):
    environment, x = make(bridge), np.array([0.3])
    first, second, other = (observe(environment, x, seed).values.tolist() for seed in (5, 5, 6))
    assert first == second and first != other


@pytest.mark.parametrize("bridge", ALL)
def test_a_run_is_seeded_alike_in_a_process_whose_random_numbers_are_elsewhere(make, bridge):
    runs = []
    for start in (1, 2):
        random.seed(start)
        np.random.seed(start)  # noqa: NPY002
        environment = make(bridge)
        runs.append(
            [r.outcomes.tolist() for r in Loop(environment, make_agent("random", environment), 3).run(3)]
        )
    assert runs[0] == runs[1]


@pytest.mark.parametrize("bridge", ALL)
def test_global_random_numbers_folder_variables_warnings_and_numpy_are_put_back(make, bridge, monkeypatch):
    def state():
        return (
            random.getstate(),
            [str(part) for part in np.random.get_state()],  # noqa: NPY002
            os.getcwd(),
            dict(os.environ),
            list(warnings.filters),
            np.geterr(),
        )

    def noisy_and_untidy(x):
        os.chdir("/")
        os.environ["UNTIDY"] = "yes"
        warnings.simplefilter("error")
        np.seterr(all="raise")
        return truth(x)

    truth = noisy
    monkeypatch.setattr(f"{__name__}.noisy", noisy_and_untidy)
    environment, before = make(bridge), state()
    values = observe(environment, np.array([0.25]), 1).values
    assert state() == before and np.isfinite(values).all()


@pytest.mark.parametrize("bridge", ALL)
def test_nothing_is_kept_of_what_was_returned_or_handed_in(make, bridge):
    environment, x = make(bridge), np.array([0.25])
    first = observe(environment, x, 1)
    values = first.values.copy()
    observe(environment, np.array([0.75]), 2)
    assert first.values.tolist() == values.tolist() and x.tolist() == [0.25]
    rounds = list(Loop(environment, make_agent("random", environment), 3).run(3))
    assert len({tuple(r.outcomes) for r in rounds}) == 3 and all(0 <= r.policy[0] <= 1 for r in rounds)


@pytest.mark.parametrize("bridge", DECLARED)
def test_replicates_are_the_mean_of_runs_and_state_the_noise_that_is_left(make, bridge):
    environment = make(bridge, replicates=5)
    environment.reset(4)
    outcomes = environment.step([0.3])
    runs = np.array(outcomes.info["replicates"])
    assert runs.shape == (5, 2) and len(set(outcomes.info["seeds"])) == 5 and outcomes.info["failed"] == []
    assert outcomes.values == pytest.approx(runs.mean(axis=0), abs=1e-15)
    assert outcomes.noise_variance == pytest.approx(runs.var(axis=0, ddof=1) / 5, abs=1e-15)
    single = make(bridge)
    single.reset(4)
    assert single.step([0.3]).values.tolist() == runs[0].tolist()


@pytest.mark.parametrize("bridge", DECLARED)
def test_declared_noise_is_that_of_one_run(make, bridge):
    environment = make(bridge, replicates=4, noise_variance=[0.01, 0.02])
    assert environment.step([0.3]).noise_variance == pytest.approx([0.0025, 0.005])
    matrix = make(bridge, replicates=2, noise_variance=[[0.02, 0.01], [0.01, 0.02]])
    assert matrix.step([0.3]).noise_variance == pytest.approx(np.array([[0.01, 0.005], [0.005, 0.01]]))


def test_replicates_that_fail_are_left_out_and_told():
    def half(x, seed):
        if seed % 2:
            raise ValueError("odd")
        return [seed % 7, float("nan") if seed % 4 else 1.0]

    environment = FunctionEnvironment(half, POLICY, GROUPS, replicates=12)
    environment.reset(1)
    outcomes = environment.step([0.5])
    even = [seed for seed in outcomes.info["seeds"] if seed % 2 == 0]
    assert [one["seed"] for one in outcomes.info["failed"]] == [s for s in outcomes.info["seeds"] if s % 2]
    assert outcomes.values[0] == pytest.approx(np.mean([seed % 7 for seed in even]))
    assert outcomes.values[1] == 1.0 and 2 <= sum(seed % 4 == 0 for seed in even) < len(even)
    assert outcomes.noise_variance[1] == 0.0
    with pytest.raises(
        SimulationError, match="all 3 replicates failed; the first: the model raised KeyError"
    ):
        FunctionEnvironment(lambda x: {}["a"], POLICY, GROUPS, replicates=3).step([0.5])


@pytest.mark.parametrize("bridge", DECLARED)
@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("replicates", 0, "replicates=0 must be a whole number >= 1"),
        ("replicates", 2.5, "replicates=2.5 must be a whole number"),
        ("group_units", 3, "group_units=3 must be one unit, or 2"),
        ("group_units", ["m", 3], "group_units=.* must be one unit"),
        ("objective_unit", 3, "objective_unit=3 must be a text"),
        ("weights", ["1", "2"], "weights=.* must be one number, or 2"),
        ("weights", [True, False], "weights=.* must be one number"),
        ("weights", [1j, 2], "weights=.* must be one number"),
        ("noise_variance", [[1, 0], [0]], "noise_variance"),
        ("noise_variance", "little", "noise_variance='little' must be"),
        ("noise_variance", [-1, 0], "noise_variance of group 'a' is -1"),
        ("outcome_range", [1, 0], "outcome_range of group 'a'"),
        ("compose", 3, "compose=3 must be a function"),
        ("compose", lambda outcomes: 1, "compose: .* must take outcomes and policies"),
        ("sense", "low", "sense='low' must be one of"),
    ],
)
def test_an_impossible_declaration_names_its_key(make, bridge, option, value, words):
    with pytest.raises(ValueError, match=words) as refusal:
        make(bridge, **{option: value})
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("bridge", "option", "value", "words"),
    [
        (
            "command",
            "variables",
            {"OMP_NUM_THREADS": 1},
            "variables: 'OMP_NUM_THREADS' = 1; accepted: a text",
        ),
        ("command", "variables", "A=1", "variables='A=1' must be a table"),
        ("command", "folder", 3, "folder=3 must be the path"),
        ("command", "seconds", True, "seconds=True must be a finite number > 0"),
        ("mesa", "fixed", {"seed": 3}, "fixed: 'seed' = 3; accepted: other parameters"),
        ("mesa", "fixed", {"rng": 3}, "fixed: 'rng' = 3; accepted: other parameters"),
        ("mesa", "fixed", [1], "fixed=.1. must be a table"),
        ("um-bridge", "config", {"seed": 3}, "config: 'seed' = 3; accepted: other keys"),
        ("um-bridge", "config", {"f": print}, "config=.* must be what JSON can say"),
        ("um-bridge", "seed_key", 3, "seed_key=3 must be a text"),
        ("um-bridge", "time_limit", 0, "time_limit=0 must be"),
        ("gymnasium", "env_options", "fast", "env_options='fast' must be a table"),
        ("gymnasium", "act", lambda policy: policy, "act: .* must take policy and observation"),
        ("function", "expected", lambda: 0, "expected: .* must take policy"),
    ],
)
def test_an_impossible_option_of_a_bridge_names_its_key(make, bridge, option, value, words):
    with pytest.raises(ValueError, match=words) as refusal:
        make(bridge, **{option: value})
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("steps", [2.7, True, 0, "2"])
def test_steps_of_an_episode_are_a_whole_number(steps):
    with pytest.raises(ValueError, match="steps=.* must be a whole number >= 1"):
        GymnasiumEnvironment(NoisyGame, len, policy=POLICY, groups=GROUPS, steps=steps)


def test_a_program_is_stopped_at_its_time_limit(make):
    with pytest.raises(StepLost, match="took longer than 0.2 s"):
        make("command", pause=60, seconds=0.2).step([0.5])


def test_a_server_is_waited_for_until_its_time_limit(make):
    environment = make("um-bridge", time_limit=0.2)
    Server.pause.clear()
    try:
        with pytest.raises(StepLost, match="did not answer within 0.2 s"):
            environment.step([0.5])
    finally:
        Server.pause.set()


class Ten(mesa.Model):
    """Collects on its first ten days."""

    def __init__(self, x, seed=None):
        super().__init__(seed=seed)
        self.datacollector = mesa.DataCollector({"Day": "steps"})

    def step(self):
        if self.steps <= 10:
            self.datacollector.collect(self)


def test_a_reporter_of_another_day_than_the_last_is_refused():
    def day(steps):
        return MesaEnvironment(Ten, POLICY, {"day": "Day"}, steps)

    assert day(10).step([0.5]).values.tolist() == [10]
    with pytest.raises(SimulationError, match="reporter 'Day' was not collected in the last step, 15"):
        day(15).step([0.5])


@pytest.mark.slow
def test_models_that_misbehave_cost_their_own_rounds_only():
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "bench_misbehaving.py", "--quick"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "plug-in" in done.stdout
