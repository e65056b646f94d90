"""Text of others is plain where it leaves: on a terminal, in figures, in CSV, in any locale."""

import csv
import io
import json
import os
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.table import Table

from policyloop.plain_text import for_figure, for_spreadsheet, for_terminal
from scenarios import load, run
from scenarios.cli import invoke
from scenarios.commands.console import console
from scenarios.figures.drawing import new_figure, save

ROOT = Path(__file__).parents[3]
OSC, CSI, C1, RIGHT_TO_LEFT = "\x1b]0;mine\x07", "\x1b[31m", "\x9b31m", "\u202e"
MATHS = r"$\frac{$"

MODEL = """
from bridges import FunctionEnvironment

def stay(x):
    if x[0] > 0.6:
        raise RuntimeError("\\x1b]0;mine\\x07[red]out of beds\\x9b2J")
    return [x[0], float(x[1]), -x[0]]

ward = FunctionEnvironment(
    stay,
    {
        "\\x1b[31mshare $\\\\frac{$": (0, 1),
        "=1+1": {"whole": (1, 4)},
        "_t": {"one_of": ["=cmd", "$x^{$", "[red]"]},
    },
    ["\\x1b]0;mine\\x07stay", "[bold]wait[/bold]", ":smile:"],
    group_units="$\\\\alpha_{$ \\u202edays",
    objective_unit="\\x9b2Jcost $x^{$",
)
"""
SCENARIO = r"""
name = "wards"
title = "\u001b]0;mine\u0007 [red]wards[/red]\nsecond line"
rounds = 8
trials = 3
[[agents]]
name = "random"
label = "=HYPERLINK(1)"
[[agents]]
name = "random"
label = "_hidden $\\frac{$"
[[agents]]
name = "random"
label = "[red]\u009b31m \u202eevil[/nothing]"
[environment]
name = "models.py:ward"
[prior]
samples = 0
"""


@pytest.fixture(scope="module")
def wards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wards")
    (folder / "models.py").write_text(MODEL, encoding="utf-8")
    (folder / "wards.toml").write_text(SCENARIO, encoding="utf-8")
    run(load(folder / "wards.toml"), out=folder / "wards.sqlite")
    return folder


def is_plain(text):
    return not [one for one in text if unicodedata.category(one)[0] == "C" and one != "\n"]


@pytest.mark.parametrize("command", ["show", "compare", "check", "run"])
def test_nothing_of_others_moves_a_terminal(wards, tmp_path, capsys, command):
    target = {"check": "wards.toml", "run": "wards.toml"}.get(command, "wards.sqlite")
    options = ["--out", str(tmp_path / "again.sqlite"), "--rounds", "3"] if command == "run" else []
    invoke([command, str(wards / target), *options])
    told = capsys.readouterr()
    assert is_plain(told.out) and is_plain(told.err)
    if command in ("show", "compare", "run"):
        assert r"\x9b31m \u202eevil[/nothing]" in told.out
    if command == "compare":
        assert r"\x1b[31mshare" in told.out and "[red]" in told.out
        assert r"\x1b]0;mine\x07[red]out of beds\x9b2J" in told.err
    if command == "show":
        assert "[red]wards[/red] second line" in told.out


def test_an_error_and_its_traceback_are_plain(tmp_path, capsys):
    (tmp_path / "s.toml").write_text('name = "s"\n"\\u001b]0;mine\\u0007" = 1\n', encoding="utf-8")
    assert invoke(["run", str(tmp_path / "s.toml")]) == 2
    (tmp_path / "m.py").write_text('raise RuntimeError("\\x1b]0;mine\\x07")')
    assert invoke(["check", f"{tmp_path / 'm.py'}:x", "--debug"]) == 2
    told = capsys.readouterr()
    assert is_plain(told.err) and "Traceback" in told.err and r"\x1b]0;mine\x07" in told.err


def test_figures_are_drawn_of_any_text(wards, tmp_path):
    assert invoke(["plot", str(wards / "wards.sqlite"), "--out", str(tmp_path)]) == 0
    for path in tmp_path.glob("*.svg"):
        tags = {one.tag.rpartition("}")[2] for one in ElementTree.parse(path).iter()}
        assert "script" not in tags and "a" not in tags
    assert len(list(tmp_path.glob("*.png"))) == 3


@pytest.mark.filterwarnings("ignore:No artists with labels", "ignore:constrained_layout not applied")
@settings(max_examples=15, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet=r"$\{}^_%&<>-a", max_size=30))
def test_any_text_can_be_drawn_as_it_is(tmp_path_factory, text):
    figure = new_figure(2, 1)
    axes = figure.add_subplot()
    axes.set_title(for_figure(text))
    axes.set_xticks([0, 1], [for_figure(text), for_figure(text)])
    axes.plot([0, 1], label=for_figure(text))
    figure.legend()
    folder = tmp_path_factory.mktemp("any")
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text as text, not as the outlines of letters
        paths = save(figure, folder / "one")
    drawn = "".join(ElementTree.parse(paths[1]).getroot().itertext())
    assert for_figure(text).replace(r"\$", "$").strip() in drawn or not for_figure(text).strip()


def test_a_label_that_begins_with_an_underscore_is_in_the_legend():
    figure = new_figure(2, 1)
    figure.add_subplot().plot([0, 1], label=for_figure("_agent"))
    assert [one.get_text().strip() for one in figure.legend().get_texts()] == ["_agent"]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\uff1d1+A", "-", "-1_0", "=HYPERLINK(1)"],
)
def test_a_text_that_a_spreadsheet_would_run_gets_an_apostrophe(text):
    assert for_spreadsheet(text) == f"'{text}"


@pytest.mark.parametrize(
    "cell", ["-5", "+5.0", "-1e-9", "-inf", -5, -0.25, None, True, "a=b", "", "'x", "d-gpucb"]
)
def test_numbers_and_harmless_cells_stay_as_they_are(cell):
    assert for_spreadsheet(cell) is cell


def test_a_comparison_in_csv_runs_nothing_and_keeps_its_numbers(wards, capsys):
    assert invoke(["compare", str(wards / "wards.sqlite"), "--format", "csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[1][0] == "'=HYPERLINK(1)"
    assert not [cell for row in rows for cell in row if for_spreadsheet(cell) is not cell]
    assert invoke(["compare", str(wards / "wards.sqlite"), "--format", "json"]) == 0
    exact = json.loads(capsys.readouterr().out)
    column = rows[0].index("cumulative_objective_mean")
    assert [float(row[column]) for row in rows[1:]] == [
        one["cumulative_objective"]["mean"] for one in exact.values()
    ]


@given(st.text())
def test_text_for_a_terminal_is_printable_and_what_is_printable_stays(text):
    told = for_terminal(text)
    assert all(one in "\n\t" or one.isprintable() for one in told) and for_terminal(told) == told
    assert told == text or not text.isprintable()
    told.encode("utf-8")  # no half of a pair


def test_a_table_shows_text_as_it_is(capsys):
    table = Table(title=f"[red]{OSC}")
    table.add_column(f"[b]{CSI}")
    table.add_row(f"[link=http://x]{C1}{RIGHT_TO_LEFT}:smile:")
    console().print(table)
    told = capsys.readouterr().out
    assert (
        is_plain(told)
        and "[red]" in told
        and "[b]" in told
        and "[link=http://x]" in told
        and ":smile:" in told
    )


LOCALES = [
    pytest.param({"LC_ALL": "C"}, marks=pytest.mark.slow),
    pytest.param({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, marks=pytest.mark.slow),
    pytest.param({"PYTHONIOENCODING": "ascii"}, marks=pytest.mark.slow),
    pytest.param({"PYTHONIOENCODING": "cp1252"}, marks=pytest.mark.slow),
    {"PYTHONIOENCODING": "latin-1:strict"},
]


@pytest.mark.parametrize("locale", LOCALES, ids=lambda one: ",".join(f"{k}={v}" for k, v in one.items()))
def test_no_locale_makes_a_command_fail(tmp_path, locale):
    (tmp_path / "m.py").write_text(MODEL.replace("[bold]", "größe 東京 "), encoding="utf-8")
    scenario = SCENARIO.replace("[red]wards", "Größe 東京 \u2013 wards").replace("models.py", "m.py")
    (tmp_path / "s.toml").write_text(scenario.replace("_hidden", "東京"), encoding="utf-8")
    code = (
        "import sys; from scenarios.cli import invoke, never_refuse; never_refuse()\n"
        "for line in sys.argv[1:]: print(invoke(line.split()), file=sys.stderr)"
    )
    words = [
        "run s.toml --trust --quiet --rounds 3",
        "show s.sqlite",
        "compare s.sqlite",
        "compare s.sqlite --format csv",
    ]
    words += ["plot s.sqlite", "export s.sqlite", "check no.toml"]
    words[0] += " --out s.sqlite"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(tmp_path), **locale}
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, env=env, capture_output=True)
    codes = [int(line) for line in done.stderr.decode("latin-1").splitlines() if line.isdigit()]
    assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr
    assert codes[0] in (0, 1) and codes[1:] == [0, 0, 0, 0, 0, 2], done.stderr
    assert "東京" in (tmp_path / "s.csv").read_text(encoding="utf-8")
