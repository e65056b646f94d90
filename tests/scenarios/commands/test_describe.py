"""`policyloop list NAME`: what a name stands for, and every option of it."""

import inspect

import pytest

import simulators
from optimizer import agent_names
from scenarios.commands.describe import agent_settings, environment_options
from simulators.flu.ode import FluODE


def test_every_option_of_an_environment_is_told_with_its_default():
    summary, options = environment_options("flu-ode")
    found = {option.name: option for option in options}
    assert list(found) == list(inspect.signature(FluODE).parameters)
    assert summary.startswith("Sick days per person in a year of flu")
    assert (found["days"].default, found["days"].kind) == ("365", "float")
    assert found["intervention"].kind == '{"vaccination", "treatment"}'
    assert found["noise_variance"].meaning.startswith("Variance of an observation's noise, squared sick days")
    assert found["r0"].meaning.startswith("Reproduction number with nobody vaccinated. By default")


@pytest.mark.parametrize(
    "name", ["flu-abm", "flu-ode", "synthetic", "mesa", "function", "ensemble", "command"]
)
def test_our_environments_document_all_their_options(name):
    _, options = environment_options(name)
    assert options and all(option.kind and option.meaning for option in options)


def test_every_name_of_the_list_is_told_of(policyloop):
    for name in ("flu", "weather", *agent_names()):
        code, out, _ = policyloop("list", name)
        assert code == 0 and name in out


def test_a_scenario_is_shown_as_a_file_that_can_be_run(policyloop, tmp_path):
    _, out, _ = policyloop("list", "flu")
    mine = tmp_path / "mine.toml"
    mine.write_text(out.partition("\n\n")[2])
    assert policyloop("check", mine)[0] == 0


def test_settings_of_agents_are_those_that_a_scenario_takes():
    known = {"acquisition", "delta", "scale_down", "beta", "propagation", "observe", "kernel"}
    assert {one.name for one in agent_settings()} == known
    assert {one.name: one.default for one in agent_settings()}["scale_down"] == "5.0"


def test_an_unknown_name_is_refused_with_the_nearest(policyloop):
    code, out, error = policyloop("list", "flu-ods")
    assert (code, out) == (2, "") and "did you mean 'flu-ode'?" in error
    assert error.count("\n") == 1


def test_a_class_of_ones_own_is_told_of(policyloop, tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        "from simulators import Synthetic\n\n\nclass Own(Synthetic):\n"
        '    """My own.\n\n    Parameters\n    ----------\n    depth : int, default 3\n'
        '        Metres.\n    """\n\n'
        "    def __init__(self, depth: int = 3):\n        super().__init__()\n"
    )
    code, out, _ = policyloop("list", f"{file}:Own")
    assert code == 0
    assert "My own." in out and "Metres." in out
    assert simulators.names()


def test_options_that_are_handed_on_are_told_with_their_meaning_and_unit():
    _, options = environment_options("weather-live")
    told = {one.name: one for one in options}
    for name in ("battery", "gateways", "packet_energy", "wake_every", "report_change", "window", "columns"):
        assert told[name].meaning, name
    assert "Joules" in told["battery"].meaning and told["battery"].kind == "float"


def test_a_meaning_that_several_options_share_is_told_once(policyloop, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = policyloop("list", "flu-abm")
    assert out.count("pupils in a class and in a school") == 1
    row = next(line for line in out.splitlines() if line.startswith("│ school_size"))
    assert "As class_size." in row
