"""Small environments and scenario files for the tests of the command line and the runner."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import chromium
from joblib.externals.loky import get_reusable_executor
from scipy.optimize import Bounds

import simulators
from scenarios import Study, load
from scenarios import run as run_scenario
from scenarios.cli import invoke
from scenarios.trial.step_process import end_idle


class Valley(simulators.Environment):
    """Two groups, f_j(x) = (x - centre_j)^2 + 1, plain sum, minimised; optimum 2.18 at x = 0.5."""

    groups = ("left", "right")
    group_units = ("points", "points")
    objective_unit = "points"
    sense = "minimize"
    centres = np.array([0.2, 0.8])

    def __init__(
        self, seed: int = 0, fail_at: tuple[int, ...] = (), missing_at: tuple[int, ...] = ()
    ) -> None:
        self.policy_space = simulators.PolicySpace(("x",), ("share",), bounds=Bounds([0.0], [1.0]))
        self.shift = 0.0 if seed == 0 else np.random.default_rng(seed).uniform(-0.1, 0.1)
        self.fail_at, self.missing_at, self.steps = fail_at, missing_at, 0

    def expected(self, policies):
        points = self.policy_space.resolve(policies)
        return (points - self.centres - self.shift) ** 2 + 1

    def step(self, policy):
        self.policy_space.check(policy)
        self.steps += 1
        if self.steps in self.fail_at:
            raise simulators.SimulationError("the pump broke", policy=policy)
        values = self.expected(np.asarray(policy)[None])[0] + self.rng.normal(0, 0.01, 2)
        if self.steps in self.missing_at:
            values[:] = np.nan
        return simulators.Outcomes(values, np.full(2, 1e-4))


class Secret(Valley):
    """The same, to be maximised, without known noise-free outcomes."""

    sense = "maximize"

    def expected(self, policies):
        raise NotImplementedError

    def step(self, policy):
        values = -Valley.expected(self, np.asarray(policy)[None])[0] + self.rng.normal(0, 0.01, 2)
        return simulators.Outcomes(values)


@pytest.fixture(scope="session", autouse=True)
def environments() -> None:
    simulators.register("valley", Valley)
    simulators.register("secret", Secret)


@pytest.fixture(autouse=True)
def trusting(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Say yes wherever it is asked whether code may be run, and remember it for the test alone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    monkeypatch.setattr("scenarios.commands.trust._agreed", lambda *asked: True)


@pytest.fixture(autouse=True)
def no_idle_children() -> Iterator[None]:
    """End the processes that took a test's steps: they stand in its folder, and know its environments."""
    yield
    end_idle()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One browser for all tests of pages."""
    driver = chromium()
    yield driver
    driver.quit()


TEXT = """
name = "small"
rounds = {rounds}
trials = {trials}
seed = 3
agents = {agents}
[environment]
name = "{environment}"
options = {{ {options} }}
new_world_each_trial = {new_world}
[prior]
samples = {samples}
restarts = 0
"""


@pytest.fixture
def scenario_file(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str = "", **changes: object) -> Path:
        values: dict[str, object] = {
            "rounds": 4,
            "trials": 2,
            "agents": '["d-gpucb", "gp-ucb", "uniform"]',
            "environment": "valley",
            "options": "",
            "new_world": "false",
            "samples": 10,
        }
        path = tmp_path / "small.toml"
        path.write_text(text or TEXT.format(**{**values, **changes}))
        return path

    return write


@pytest.fixture(scope="session")
def _studies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Path]]:
    return tmp_path_factory.mktemp("studies"), {}


@pytest.fixture
def kept_run(_studies: tuple[Path, dict[str, Path]]) -> Callable[[Path, Path], Study]:
    """Run a scenario to its end into a study, or copy the study of a test before that has run the same."""
    folder, known = _studies

    def study(scenario: Path, out: Path) -> Study:
        text = scenario.read_text()
        if text not in known:
            known[text] = folder / f"{len(known)}.sqlite"
            run_scenario(load(scenario), out=known[text])
        shutil.copy(known[text], out)
        return Study(out)

    return study


@pytest.fixture
def policyloop(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command line in this process: exit code, standard output, standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = invoke([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


ROOT = Path(__file__).parents[2]
FAULTY = Path(__file__).parent / "faulty"


@pytest.fixture
def faulty(scenario_file, monkeypatch) -> Callable[..., Path]:
    """Write a scenario on the environment `faulty`, which child processes know as well."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.syspath_prepend(str(FAULTY))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(FAULTY), str(ROOT))))
    # Worker processes of an earlier test would be used again, and do not know the environment.
    get_reusable_executor().shutdown(wait=True)
    simulators.register("faulty", "faulty_world:Faulty")

    def write(limits: str = "", head: str = "", **changes: object) -> Path:
        values = {"environment": "faulty", "samples": 0, "trials": 1, "agents": '["random"]', **changes}
        path = scenario_file(**values)
        path.write_text(head + path.read_text().replace("[prior]", f"{limits}\n[prior]"))
        return path

    return write
