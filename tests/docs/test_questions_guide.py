"""The questions of the guide are asked of small studies of `flu-abm` and of a model in Mesa, as it shows."""

import re
import shlex
from pathlib import Path

import pytest

from scenarios.cli import invoke
from scenarios.study.study import Study

PAGE = Path(__file__).resolve().parents[2] / "docs" / "questions.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# (\S+\.\w+)\n")


@pytest.fixture
def section(tmp_path, monkeypatch):
    """The commands of the section, in a folder with the files that it shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("scenarios.commands.trust._agreed", lambda *asked: True)
    text = PAGE.read_text(encoding="utf-8").partition("## On any simulator\n")[2].partition("\n## ")[0]
    lines = []
    for language, block in BLOCK.findall(text):
        if saved := NAMED.match(block):
            (tmp_path / saved[1]).write_text(block)
        elif language == "sh":
            lines += block.splitlines()
    return lines


@pytest.mark.parametrize("name", [pytest.param("town", marks=pytest.mark.slow), "ward"])
def test_the_commands_of_the_section_run(section, name, tmp_path, capsys):
    asked = [line for line in section if f" {name}." in line]
    assert len(asked) >= 5
    for line in asked:
        assert invoke(shlex.split(line)[1:]) == 0, line
    study = Study(tmp_path / f"{name}.sqlite")
    assert {len(one.value) for one in study.details("runs")} == {2 if name == "town" else 3}
    said = capsys.readouterr().out
    assert "Knee, the most of all together" in said
    if name == "ward":
        for one in study.rounds():
            nurses, order, share = study.environment.entries(one.policy)
            assert isinstance(nurses, int) and order in ("first come", "shortest", "oldest")
            assert 0.2 <= share <= 0.8
        assert "oldest" in said
    else:
        assert "hypervolume" in said and (tmp_path / "town-figures" / "curves_infected.svg").is_file()
