"""UM-Bridge in both directions, with the real library at the other end of the wire."""

import json
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import simulators
from bridges import FunctionEnvironment, Loop, make_agent
from bridges.environments.um_bridge_environment import UMBridgeEnvironment
from bridges.exports.um_bridge_server import serving
from simulators import Environment, OneOf, Outcomes, PolicySpace, Whole

umbridge = pytest.importorskip("umbridge")
POLICY = np.full(5, 0.2)


@pytest.fixture(scope="module")
def flu():
    environment = simulators.make("flu-ode")
    with serving(environment, port=0) as url:
        yield url


def until(condition, what, seconds=120):
    """Wait for a condition; the seconds only end a test that would never end."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} in {seconds} s"
        time.sleep(0.01)


def posted(url, body):
    return urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})


def as_environment(url, **changed):
    space = simulators.make("flu-ode").policy_space
    options = {"model": "flu-ode", "policy": space, "groups": simulators.make("flu-ode").groups} | changed
    return UMBridgeEnvironment(url, **options)


def test_a_client_gets_the_outcomes_and_the_objective_that_the_environment_has(flu):
    environment = simulators.make("flu-ode")
    environment.reset(7)
    outcomes = environment.step(POLICY).values
    model = umbridge.HTTPModel(flu, "flu-ode")
    assert model.get_input_sizes() == [5] and model.get_output_sizes() == [5]
    assert model([POLICY.tolist()], {"seed": 7}) == [outcomes.tolist()]
    objective = umbridge.HTTPModel(flu, "flu-ode-objective")([POLICY.tolist()], {"seed": 7})
    assert objective == [[float(environment.compose(outcomes, POLICY))]]


@pytest.mark.parametrize(
    ("policy", "config", "words"),
    [
        ([5.0] * 5, {}, "policy entry '0-19' is 5, outside its bounds"),
        ([0.2] * 5, {"seed": "one"}, "seed = 'one'; accepted: a whole number"),
        ([0.2] * 5, {"sed": 3}, "config: unknown key 'sed'; accepted: 'seed'"),
        ([0.2] * 4, {}, "Expected 5 but got 4"),
        ([0.2, "much"], {}, "input=[[0.2, 'much']]; accepted"),
        ([0.2] * 5, [7], "config=[7]; accepted: an object"),
    ],
)
def test_a_client_is_told_its_mistake_in_words(flu, policy, config, words):
    with pytest.raises(Exception, match=re.escape(words)):
        umbridge.HTTPModel(flu, "flu-ode")([policy], config)


class Clinic(Environment):
    """Answers with its policy: a group an entry."""

    groups, group_units, objective_unit, sense = ("nurses", "beds", "tariff"), ("",) * 3, "", "minimize"

    def __init__(self):
        levers = (Whole(1, 4), Whole(10, 30, step=5), OneOf(("flat", "peak")))
        self.policy_space = PolicySpace(self.groups, self.group_units, levers=levers)
        self.steps = 0

    def step(self, policy):
        values = self.policy_space.check(policy)
        self.steps += 1
        return Outcomes(values)


def test_whole_numbers_and_categories_travel_by_their_numbers_and_nothing_is_rounded():
    clinic = Clinic()
    with serving(clinic, port=0) as url:
        model = umbridge.HTTPModel(url, "Clinic")
        assert model.get_input_sizes() == [3]
        assert model([[2, 25, 1]]) == [[2, 25, 1]]
        for policy, words in (
            ([2.5, 25, 1], "'nurses' is 2.5; accepted: whole numbers 1..4"),
            ([2, 26, 1], "'beds' is 26; accepted: whole numbers 10..30 in steps of 5"),
            ([2, 25, 0.5], "'tariff' is 0.5; accepted: one of flat, peak"),
            ([2, 25, 2], "'tariff' is 2, outside its bounds 0..1"),
        ):
            with pytest.raises(Exception, match=re.escape(words)):
                model([policy])
    assert clinic.steps == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{}", "must be a JSON object with the name of a model"),
        (b"[1]", "must be a JSON object"),
        (b"policy", "must be a JSON object"),
        (b'{"name": "flu-ode"}', "input=None; accepted: a list of vectors"),
        (b'{"name": "flu-ode", "input": 5}', "input=5; accepted: a list of vectors"),
        (
            b'{"name": "flu-ode", "input": [5]}',
            "input=[5]; accepted: a list of vectors, such as [[0.5, 0.2]]",
        ),
        (b'{"name": "flu", "input": [[1]]}', "Model flu not found"),
    ],
)
def test_a_request_by_hand_is_told_its_mistake_in_words(flu, body, words):
    with pytest.raises(urllib.error.HTTPError) as told:
        urllib.request.urlopen(posted(f"{flu}/Evaluate", body))
    assert told.value.code == 400
    assert words in json.load(told.value)["error"]["message"]


def test_a_model_that_asks_to_exit_is_an_error_of_its_step_and_serving_goes_on():
    environment = FunctionEnvironment(lambda x: sys.exit(3) if x[0] > 0.5 else [x[0]], {"x": (0, 1)}, ["a"])
    with serving(environment, port=0) as url:
        model = umbridge.HTTPModel(url, "FunctionEnvironment")
        with pytest.raises(Exception, match="SimulationError: the simulator asked to exit with code 3"):
            model([[0.75]])
        assert model([[0.25]]) == [[0.25]]


def test_serving_listens_on_this_machine_alone(flu):
    assert flu.startswith("http://127.0.0.1:")
    port = int(flu.rpartition(":")[2])
    own = socket.gethostbyname(socket.gethostname())
    if not own.startswith("127."):
        with pytest.raises(OSError):
            socket.create_connection((own, port), timeout=2).close()


def test_a_port_that_is_taken_is_told_in_one_line(flu):
    port = int(flu.rpartition(":")[2])
    with (
        pytest.raises(ValueError, match=f"port={port}: cannot listen there"),
        serving(simulators.make("flu-ode"), port=port),
    ):
        pass


def test_a_model_is_an_environment_that_an_agent_learns_on(flu):
    environment = as_environment(flu)
    assert simulators.check_environment(environment) == []
    agent = make_agent("d-gpucb", environment, seed=0)
    assert {one.status for one in Loop(environment, agent, seed=0).run(3)} == {"ok"}
    assert pickle.loads(pickle.dumps(environment)).groups == environment.groups


class Sums(umbridge.Model):
    """Two input vectors, two output vectors, no seed: as UM-Bridge's own examples are."""

    def __init__(self, fault=None):
        super().__init__("sums")
        self.fault = fault

    def get_input_sizes(self, config):
        return [2, 1]

    def get_output_sizes(self, config):
        return [1, 1]

    def supports_evaluate(self):
        return True

    def __call__(self, parameters, config):
        if self.fault == "slow":
            threading.Event().wait()
        if self.fault == "raises":
            raise RuntimeError("out of fuel")
        if self.fault == "short":
            return [[1.0]]
        if self.fault == "nan":
            return [[float("nan")], [1.0]]
        return [[sum(parameters[0])], [parameters[1][0] * config["factor"]]]


@contextmanager
def served(fault=None):
    """A model served by umbridge's own function, as others do."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = (
        "import sys, umbridge; sys.path.insert(0, sys.argv[1]); from test_um_bridge import Sums;"
        "umbridge.serve_models([Sums(sys.argv[3] or None)], int(sys.argv[2]))"
    )
    folder = __file__.rpartition("/")[0]
    with subprocess.Popen(
        [sys.executable, "-u", "-c", code, folder, str(port), fault or ""],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert "Running on" in server.stdout.readline()
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


@pytest.fixture(scope="module")
def theirs():
    with served() as url:
        yield url


def sums(url, **changed):
    options = {"policy": {x: (0, 10) for x in "abc"}, "groups": ["first", "second"], "config": {"factor": 3}}
    return UMBridgeEnvironment(url, **(options | changed))


def asked(url, endpoint, **body):
    """The status of an answer, and what it says."""
    try:
        with urllib.request.urlopen(posted(f"{url}/{endpoint}", json.dumps(body).encode())) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


@pytest.mark.parametrize("endpoint", ["ModelInfo", "Gradient", "ApplyJacobian", "ApplyHessian", "Evaluate"])
def test_the_protocol_is_that_of_umbridges_own_server(flu, theirs, endpoint):
    ours = asked(flu, endpoint, name="flu-ode", input=[])
    assert ours == asked(theirs, endpoint, name="sums", input=[])
    assert ours[0] == (200 if endpoint == "ModelInfo" else 400)


def test_vectors_of_inputs_and_outputs_are_joined(theirs):
    assert sums(theirs).step([1, 2, 4]).values.tolist() == [3, 12]


def test_whole_numbers_and_tied_levers_are_inputs_and_categories_are_none(theirs):
    policy = {"n": {"whole": (0, 9)}, "x[first, second]": (0, 1)}
    environment = sums(theirs, policy=policy)
    assert environment.step([2, 0.5]).values.tolist() == sums(theirs).step([2, 0.5, 0.5]).values.tolist()
    with pytest.raises(ValueError, match="policy: 'b' is a category, and UM-Bridge speaks numbers"):
        sums(theirs, policy={"a": (0, 1), "b": {"one_of": ["low", "high"]}, "c": (0, 1)})


def test_what_does_not_fit_the_model_is_refused(theirs):
    with pytest.raises(ValueError, match="policy has 1 entries; model 'sums' takes 3"):
        sums(theirs, policy={"a": (0, 1)})
    with pytest.raises(ValueError, match="groups has 1 names; model 'sums' returns 2"):
        sums(theirs, groups=["one"])
    with pytest.raises(ValueError, match="model='minus'; .* has 'sums'"):
        sums(theirs, model="minus")
    with pytest.raises(ValueError, match="time_limit=0 must be a finite number > 0"):
        sums(theirs, time_limit=0)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("slow", "did not answer within 0.5 s"),
        ("raises", "answered with what is not JSON: see its own log"),
        ("short", "Number of output vectors"),
        ("nan", "answered with what is not JSON"),
    ],
)
def test_a_faulty_model_gives_a_simulation_error_with_policy_and_seed(fault, words):
    with served(fault) as url:
        environment = sums(url)
        if fault == "slow":
            environment.time_limit = 0.5
        with pytest.raises(simulators.SimulationError, match=words) as told:
            environment.step([1, 2, 4])
    assert "a=1, b=2, c=4 and seed" in str(told.value) and "\n" not in str(told.value)


def test_a_server_that_is_not_there_is_told_in_one_line():
    with pytest.raises(ValueError, match="cannot be reached: is it running"):
        sums("http://127.0.0.1:9")
    with pytest.raises(ValueError, match="is no address"):
        sums("localhost")


MODEL = """
import time
from pathlib import Path
from bridges import FunctionEnvironment

def length(x):
    Path("under way").touch()
    while not Path("go on").exists():
        time.sleep(0.01)
    return [x[0]]

ward = FunctionEnvironment(length, {"x": (0, 1)}, ["stay"])
"""
SCENARIO = """
name = "wards"
rounds = 6
trials = 1
agents = ["random"]
[environment]
name = "models.py:ward"
"""


@contextmanager
def commanded(*arguments, cwd=None, afterwards=lambda url: None):
    """The command `serve`, its url, and what it leaves behind after Ctrl-C; `afterwards` follows on that."""
    command = [sys.executable, "-m", "policyloop", "serve", *arguments, "--port", "0", "--trust"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=env
    ) as server:
        try:
            url = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline()).group()
            yield url
            server.send_signal(signal.SIGINT)
            afterwards(url)
            _, errors = server.communicate(timeout=120)
        finally:
            server.kill()
    assert server.returncode == 130 and errors == ""


def test_the_command_serves_until_it_is_stopped():
    with commanded("flu-ode") as url:
        assert umbridge.supported_models(url) == ["flu-ode", "flu-ode-objective"]


@pytest.mark.parametrize(("target", "name"), [("models.py:ward", "ward"), ("./wards.toml", "wards")])
def test_models_are_called_after_what_is_served_and_a_step_under_way_is_finished(tmp_path, target, name):
    (tmp_path / "models.py").write_text(MODEL)
    (tmp_path / "wards.toml").write_text(SCENARIO)
    answers = []

    def refused(url):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", int(url.rpartition(":")[2]))) != 0

    def go_on(url):
        until(lambda: refused(url), "the server has not heard Ctrl-C")
        (tmp_path / "go on").touch()

    with commanded(target, cwd=tmp_path, afterwards=go_on) as url:
        assert umbridge.supported_models(url) == [name, f"{name}-objective"]
        model = umbridge.HTTPModel(url, name)
        client = threading.Thread(target=lambda: answers.append(model([[0.5]])))
        client.start()
        until((tmp_path / "under way").exists, "the step has not begun")
    client.join()
    assert answers == [[[0.5]]]
