"""What the command line prints, draws and imports."""

import subprocess
import sys
from pathlib import Path

from scenarios import load
from scenarios.declaration import catalogue

ROOT = Path(__file__).parents[3]


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom scenarios.cli import invoke\ninvoke(['--help'])\n"
        "heavy = ('numpy', 'scipy', 'pandas', 'matplotlib', 'sklearn', 'pydantic', 'rich')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    for command in ("list", "run", "resume", "merge", "show", "compare", "plot", "export", "reproduce"):
        assert f"  {command} " in done.stdout


def test_every_command_has_help_with_an_example(policyloop):
    for command in ("run", "resume", "merge", "compare", "plot", "export", "reproduce"):
        code, out, _ = policyloop(command, "--help")
        assert code == 0 and "For example:" in out and f"policyloop {command} " in out


def test_the_catalogue_is_valid_and_listed(policyloop):
    assert set(catalogue.names()) == {
        *("flu", "flu-abm", "flu-city", "flu-treatment", "synthetic"),
        *("weather", "weather-budget", "weather-live", "weather-paper"),
    }
    code, out, _ = policyloop("list")
    for name in catalogue.names():
        assert load(name).name == name and load(name).title and name in out
    assert code == 0
    flu = load("flu")
    assert (flu.rounds, flu.trials, flu.prior.samples, flu.exploration.scale_down) == (100, 30, 1000, 5)
    assert flu.labels[:4] == ["d-gpucb", "gp-ucb", "ei", "mpi"]
    assert (load("flu-treatment").rounds, load("flu-treatment").exploration.delta) == (300, 0.1)


def test_a_run_ends_with_the_comparison_the_policies_and_the_next_commands(
    scenario_file, policyloop, tmp_path
):
    out = tmp_path / "s.sqlite"
    code, text, error = policyloop("run", scenario_file(), "--out", out)
    assert code == 0
    for words in (
        "cumulative regret",
        "gain, %",
        "reference",
        "Recommended policies",
        "credible",
        "best observed",
    ):
        assert words in text
    assert f"policyloop plot {out}" in text
    assert "small: 24 rounds" in error and "24 of 24 rounds stored" in error
    code, text, error = policyloop("run", scenario_file(), "--out", tmp_path / "t.sqlite", "--quiet")
    assert code == 0 and error == "" and "cumulative regret" in text
    assert policyloop("compare", out)[1].splitlines()[0] == text.splitlines()[0]
    code, text, _ = policyloop("show", out)
    assert "24 of 24 stored" in text and "gp-ucb: 8 rounds, 2 of 2 trials complete" in text


def test_plot_draws_three_figures_twice_and_prints_their_paths(scenario_file, policyloop, tmp_path):
    out = tmp_path / "s.study.sqlite"
    assert policyloop("run", scenario_file(), "--out", out, "--quiet")[0] == 0
    code, text, _ = policyloop("plot", out)
    paths = [Path(line) for line in text.splitlines()]
    assert code == 0 and paths[0].parent == tmp_path / "s-figures"
    assert [path.name for path in paths] == [
        f"{name}.{kind}"
        for name in ("cumulative_regret", "average_regret", "recommended_policy")
        for kind in ("png", "svg")
    ]
    for path in paths:
        start = path.read_bytes()[:8]
        assert start == b"\x89PNG\r\n\x1a\n" if path.suffix == ".png" else start.startswith(b"<?xml")
    again = {path: path.read_bytes() for path in paths}
    assert policyloop("plot", out, "--force")[0] == 0
    assert again == {path: path.read_bytes() for path in paths}


def test_agents_on_the_command_line_keep_their_settings_in_the_file(scenario_file):
    path = scenario_file(agents='["ei", { name = "gp-ucb", label = "bold", beta = 50 }]')
    found = load(path, {"agents": ["bold", "mpi"]})
    assert [(one.label, one.name, one.beta) for one in found.agents] == [
        ("bold", "gp-ucb", 50),
        ("mpi", "mpi", None),
    ]
