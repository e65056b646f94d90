"""Studies of the environment `shares`."""

import pytest
from clinic import Clinic
from shares import TEXT, Few, Shares

import simulators
from scenarios import load, run


@pytest.fixture(scope="module", autouse=True)
def shares():
    simulators.register("shares", Shares)
    simulators.register("few-shares", Few)
    simulators.register("clinic-of-questions", Clinic)


@pytest.fixture
def study(tmp_path):
    def made(**changes):
        values = {
            "rounds": 8,
            "trials": 1,
            "agents": '["d-ei"]',
            "head": "",
            "environment": "shares",
            "options": "",
            "apart": "false",
            "samples": 20,
            "tail": "",
        }
        (tmp_path / "s.toml").write_text(TEXT.format(**{**values, **changes}))
        return run(load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite", force=True)

    return made


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One small study that most questions are asked of."""
    folder = tmp_path_factory.mktemp("study")
    values = {"rounds": 10, "trials": 1, "agents": '["d-ei", "gp-ucb"]', "head": "", "environment": "shares"}
    values |= {"options": "", "apart": "false", "samples": 20, "tail": ""}
    (folder / "s.toml").write_text(TEXT.format(**values))
    return run(load(folder / "s.toml"), out=folder / "s.sqlite").path
