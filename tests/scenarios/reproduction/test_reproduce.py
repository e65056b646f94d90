"""The reproduction of the paper: verdicts, figures, what is kept, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

from scenarios import UserError
from scenarios.reproduction import bandits, illustration, regressions
from scenarios.reproduction.claims import Claim, verdict
from scenarios.reproduction.folder import Folder
from scenarios.reproduction.regression_run import RegressionSetting, regression_run
from scenarios.reproduction.regression_study import regression_study
from scenarios.reproduction.report import claims_table
from scenarios.reproduction.run import reproduce
from scenarios.reproduction.settings import FIGURES, Settings, paper, quick, resolve
from scenarios.running.progress import Progress

TINY = Settings(quick=True, draws=5, runs=5, observations=4, samples=20, flu_groups=(5,), trials=5, rounds=6)


@pytest.mark.parametrize(
    ("mean", "low", "high", "size", "expected"),
    [
        (12, 9, 15, 10, "holds"),  # the claimed size lies inside
        (30, 25, 35, 10, "holds"),  # below
        (9, 7, 10, 10, "holds"),  # at the end
        (5, 3, 8, 10, "holds weakly"),  # above: ours is smaller
        (5, 3, 8, None, "holds"),  # only a direction was claimed
        (5, -1, 11, 10, "holds weakly"),
        (5, 0, 11, None, "holds weakly"),
        (0, -1, 1, None, "does not hold"),
        (-2, -9, 5, 10, "does not hold"),
        (-2, -3, -1, None, "does not hold"),
        (12, None, None, 10, "not measured"),
        (None, None, None, None, "not measured"),
        (float("nan"), 1, 2, None, "not measured"),
    ],
)
def test_the_verdict_follows_from_sign_interval_and_claimed_size(mean, low, high, size, expected):
    assert verdict(mean, low, high, size) == expected
    claim = Claim("c", "m", "%", mean, low, high, size)
    assert claims_table([("2a", claim)])[-1].endswith(f"| **{expected}** |")


def test_the_papers_settings_are_the_papers():
    full = paper(seed=4)
    assert (full.runs, full.observations, full.samples, full.seed) == (100, 50, 1000, 4)
    synthetic, flu = bandits.plan("synthetic", full), bandits.plan("flu-treatment", full)
    assert (synthetic.trials, synthetic.rounds, synthetic.exploration.delta) == (30, 100, 0.05)
    assert (flu.trials, flu.rounds, flu.prior.samples) == (30, 300, 1000)
    assert synthetic.prior.source == "environment" and synthetic.environment.new_world_each_trial
    assert synthetic.labels == flu.labels == ["d-gpucb", "gp-ucb", "ei", "mpi"]
    assert synthetic.environment.options["groups"] == 10
    assert bandits.plan("synthetic", quick()).prior.source == "environment"
    assert bandits.plan("flu-treatment", quick()).prior.samples < 1000


def test_figures_are_resolved_in_the_papers_order():
    assert resolve(["4a", "1", "4A", "figure-2c"]) == (["1", "2c", "4a"], [])
    assert resolve([]) == (list(FIGURES), [])


def test_figures_whose_scenario_is_missing_are_left_out_and_named(monkeypatch, policyloop, tmp_path):
    monkeypatch.setattr("scenarios.declaration.catalogue.names", lambda: ["flu-treatment", "synthetic"])
    made, left_out = resolve([])
    assert made == [name for name in FIGURES if name not in ("3c", "4c")]
    assert [line.split(" is ")[0] for line in left_out] == ["figure 3c", "figure 4c"]
    assert all("weather" in line for line in left_out)
    code, _, error = policyloop("reproduce", "3c", "--out", tmp_path / "r")
    assert code == 2 and "weather" in error and len(error.splitlines()) == 1
    assert not (tmp_path / "r").exists()


def test_weather_panels_keep_the_papers_agents_and_come_with_a_word_about_them():
    plan = bandits.plan("weather", quick())
    assert plan.labels == ["d-gpucb", "gp-ucb", "ei", "mpi"] and plan.environment.new_world_each_trial
    assert plan.rounds < 300 and plan.trials < 30 and "station" in bandits.ABOUT["weather"]


def test_an_unknown_figure_is_one_line_with_the_nearest_name(policyloop, tmp_path):
    for wrong, near in (("5a", "4a"), ("2e", "2"), ("fig1", "1")):
        code, out, error = policyloop("reproduce", wrong, "--out", tmp_path / "r")
        assert code == 2 and out == "" and len(error.splitlines()) == 1
        assert f"'{wrong}'" in error and near in error and "2a, 2b" in error
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(("option", "value"), [("--jobs", 0), ("--seed", -1), ("--jobs", "two")])
def test_a_bad_value_is_named(option, value, policyloop, tmp_path):
    code, _, error = policyloop("reproduce", "1", option, value, "--out", tmp_path / "r")
    assert code == 2 and option in error and len(error.splitlines()) == 1
    assert not (tmp_path / "r").exists()


def test_the_command_writes_figures_numbers_and_the_report(policyloop, tmp_path):
    out = tmp_path / "r"
    code, text, error = policyloop("reproduce", "1", "--quick", "--out", out)
    assert code == 0 and "holds" in text and "provisional" in text and str(out / "reproduction.md") in text
    names = {path.name for path in out.iterdir()}
    assert {"figure-1.svg", "figure-1.png", "figure-1.csv", "claims.csv", "reproduction.md"} <= names
    assert (out / "figure-1.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "figure-1.svg").read_text().startswith("<?xml")
    report = (out / "reproduction.md").read_text()
    assert "policyloop reproduce 1 --quick" in report and "Seed 0" in report and "processors" in report
    assert "Not made yet: 2a" in report and str(tmp_path) not in report
    claims = pd.read_csv(out / "claims.csv")
    assert claims["figure"].tolist() == [1] and claims["verdict"].tolist() == ["holds"]
    code, _, error = policyloop("reproduce", "1", "--out", out)
    assert code == 2 and "other settings" in error and "--force" in error and "quick: True stored" in error


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All figures but the flu bandit's, with next to nothing computed."""
    out = tmp_path_factory.mktemp("all") / "r"
    figures = ["1", "2a", "2d", "3a", "4a"]
    return reproduce(figures, out, TINY, bound=True, command="policyloop reproduce")


def test_every_figure_has_its_claims_with_intervals(made):
    claims = made.claims()
    assert [name for name, _ in claims] == ["1", "2a", "2a", "2d", "3a", "3a", "3a", "4a"]
    for _, claim in claims:
        assert claim.low <= claim.mean <= claim.high
        assert claim.verdict != "not measured"
    text = (made.path / "reproduction.md").read_text()
    for name, claim in claims:
        assert f"| {name} | {claim.claim} |" in text
    assert "Not made yet: 2b, 2c, 3b, 3c, 4b, 4c." in text


def test_claims_are_what_the_stored_numbers_say(made):
    study = bandits.run_panel(
        "synthetic", TINY, made.study("synthetic.study.sqlite"), jobs=1, progress=Progress()
    )
    frame = study.to_dataframe()
    totals = frame.groupby(["agent", "trial"])["regret"].sum()
    at_half = frame[frame["round"] <= 3].groupby(["agent", "trial"])["regret"].mean()
    by_figure = [claim.mean for name, claim in made.claims() if name in ("3a", "4a")]
    ours = totals["d-gpucb"].mean()
    gains = [100 * (1 - ours / totals[other].mean()) for other in ("gp-ucb", "ei", "mpi")]
    fall = 100 * (1 - ours / 6 / at_half["d-gpucb"].mean())
    assert by_figure == pytest.approx([*gains, fall], rel=1e-9)
    curves = pd.read_csv(made.path / "figure-3a.csv").set_index(["agent", "round"])
    for label in study.scenario.labels:
        assert curves.loc[(label, 6), "cumulative_regret"] == pytest.approx(totals[label].mean())
    assert (curves.loc["d-gpucb", "bound"] > curves.loc["d-gpucb", "cumulative_regret"]).all()
    assert curves.loc["ei", "bound"].isna().all()


def test_the_regression_figure_shows_the_studys_averages(made):
    setting = regressions.setting_of("rbf", TINY)
    found = regression_study(setting, runs=TINY.runs)
    numbers = pd.read_csv(made.path / "figure-2a.csv").set_index(["groups", "observations"])
    for i, J in enumerate((3, 5, 7, 10)):
        ratio = found.decomposed[i].mean(axis=1) / found.entire[i].mean(axis=1)
        np.testing.assert_allclose(numbers.loc[J, "improvement"], 100 * (1 - ratio), rtol=1e-9)
    first, second = (claim for name, claim in made.claims() if name == "2a")
    averages = numbers["improvement"].groupby("groups").mean()
    assert first.mean == pytest.approx(averages[10])
    assert second.mean == pytest.approx(averages[10] - averages[3])


def test_what_is_finished_is_not_computed_again(made, monkeypatch):
    before = {path.name: path.read_bytes() for path in made.path.iterdir() if path.suffix in (".csv", ".svg")}

    def refuse(*_, **__):
        raise AssertionError("computed again")

    monkeypatch.setattr(regressions, "regression_run", refuse)
    monkeypatch.setattr("scenarios.running.dispatch.run_trial", refuse)
    monkeypatch.setattr(regressions, "shared_priors", refuse)
    again = reproduce(["2d", "3a"], made.path, TINY, bound=True)
    assert again.claims() == made.claims()
    after = {path.name: path.read_bytes() for path in made.path.iterdir() if path.suffix in (".csv", ".svg")}
    assert after == before


def test_a_stopped_regression_goes_on_where_it_was(tmp_path, monkeypatch):
    setting, path = RegressionSetting("rbf", (2, 3), observations=3), tmp_path / "r.csv"
    whole = regressions.run_panel(setting, 4, tmp_path / "whole.csv", jobs=1, progress=Progress())
    done = []

    def stopped(setting, run, priors):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(run)
        return regression_run(setting, run, priors)

    monkeypatch.setattr(regressions, "regression_run", stopped)
    with pytest.raises(KeyboardInterrupt):
        regressions.run_panel(setting, 4, path, jobs=1, progress=Progress())
    with path.open("a") as file:  # a run that was killed while it was written
        file.write("2,2,1,0.5,0.6\n2,2,2,0.1")
    done.clear()
    monkeypatch.setattr(
        regressions, "regression_run", lambda *given: done.append(given[1]) or regression_run(*given)
    )
    found = regressions.run_panel(setting, 4, path, jobs=1, progress=Progress())
    assert done == [2, 3]
    np.testing.assert_array_equal(found.decomposed, whole.decomposed)
    np.testing.assert_array_equal(found.entire, whole.entire)
    assert path.read_text() == (tmp_path / "whole.csv").read_text()


def test_ctrl_c_says_how_to_go_on(policyloop, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(regressions, "regression_run", stop)
    out = tmp_path / "r"
    code, _, error = policyloop("reproduce", "2a", "--quick", "--quiet", "--out", out)
    assert code == 130 and f"policyloop reproduce 2a --quick --out {out}" in error
    stored = json.loads((out / "reproduction.json").read_text())
    assert stored["finished"] == {} and stored["settings"]["quick"] is True


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match="other files"):
        reproduce(["1"], tmp_path, TINY, force=True)
    with pytest.raises(UserError, match="is a file"):
        reproduce(["1"], tmp_path / "thesis.tex", TINY)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_force_starts_again_and_keeps_what_is_not_ours(tmp_path):
    out = tmp_path / "r"
    with Folder(out, TINY), pytest.raises(UserError, match="another policyloop is writing"):
        Folder(out, TINY)
    (out / "notes.txt").write_text("mine")
    (out / "studies" / "regression-rbf.csv").write_text("old")
    other = Settings(seed=1, quick=True)
    with pytest.raises(UserError, match=r"seed: 0 stored, 1 now"):
        Folder(out, other)
    with Folder(out, other, force=True):
        pass
    assert sorted(path.name for path in out.iterdir()) == ["notes.txt", "reproduction.json", "studies"]
    assert list((out / "studies").iterdir()) == []


def test_figure_one_shows_a_smaller_variance_for_any_draw():
    for index in range(5):
        ours, theirs = illustration.draw(0, index).average_variances
        assert 0 < ours < theirs
    one, same = illustration.draw(0, 1), illustration.draw(0, 1)
    np.testing.assert_array_equal(one.decomposed[0], same.decomposed[0])
    np.testing.assert_allclose(one.decomposed[1], one.group_variances.sum(axis=1), rtol=1e-12)
