"""The scenario among persons: compared without regret, by observed objectives and on held-out seeds."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex

import bridges
import simulators
from scenarios import load, names, run
from scenarios.figures import seasons
from scenarios.figures.regret import regret_figure
from scenarios.results.statistics import compare

TOWN = """
name = "town"
rounds = 2
trials = 2
seed = 5
held_out = 3
agents = ["d-gpucb", "gp-ucb", "current"]
[environment]
name = "flu-abm"
options = { persons = 500, noise_variance = 0.002 }
[prior]
samples = 8
restarts = 0
mean_from = { name = "flu-ode" }
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    (folder / "town.toml").write_text(TOWN)
    return run(load(folder / "town.toml"), out=folder / "town.sqlite")


def test_a_recommendation_is_simulated_again_on_the_same_held_out_seeds_for_all_agents(study):
    town = simulators.make("flu-abm", persons=500, noise_variance=0.002)
    for advice in study.recommendations():
        again = advice.held_out
        for i, outcomes in enumerate(again.outcomes):
            town.reset(bridges.as_int(bridges.seed_sequence(5, advice.trial, "held-out", i)))
            assert town.step(advice.policy).values.tolist() == outcomes
        assert again.objective == pytest.approx(np.sum(again.outcomes, axis=1))
        assert len(again.objective) == 3


def test_agents_are_compared_by_paired_differences(study):
    frame, table = study.to_dataframe(), compare(study)
    totals = frame.groupby(["agent", "trial"])["objective"].sum().unstack()
    difference = (totals.loc["current"] - totals.loc["gp-ucb"]).to_numpy()
    expected = {"mean": difference.mean(), "low": None, "high": None}  # of two trials
    assert table["current"]["difference_from_gp_ucb"] == pytest.approx(expected)
    again = {(one.agent, one.trial): np.mean(one.held_out.objective) for one in study.recommendations()}
    apart = [again["current", trial] - again["gp-ucb", trial] for trial in (1, 2)]
    assert table["current"]["simulated_again_difference"]["mean"] == pytest.approx(np.mean(apart))
    assert table["d-gpucb"]["cumulative_regret"] == {"mean": None, "low": None, "high": None}


@pytest.mark.slow
def test_the_command_line_says_that_regret_is_unknown(study, policyloop, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, text, _ = policyloop("compare", study.path)
    assert code == 0 and "objective in sick days" in text and "Regret is unknown" in text
    assert "simulated again" in text and "regret in" not in text
    found = json.loads(policyloop("compare", study.path, "--format", "json")[1])
    assert found == compare(study)
    code, text, _ = policyloop("plot", study.path, "--out", tmp_path / "figures")
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    wanted = (
        "cumulative_objective",
        "average_objective",
        "recommended_policy",
        "epidemic_curve",
        "attack_rate",
    )
    assert code == 0 and drawn >= {f"{name}.{kind}" for name in (*wanted, "town") for kind in ("png", "svg")}


def test_a_mean_of_two_trials_says_why_it_has_no_band(study):
    title = regret_figure(study, "objective", average=True).axes[0].get_title(loc="left")
    assert title == "town: average objective, mean over 2 trials, too few for a band"


def test_the_drawn_town_has_no_colour_for_both_an_age_and_a_setting_and_nobody_far_out():
    people = simulators.build_population(300, tolerance=1.0)
    figure = seasons.town(SimpleNamespace(population=people))
    lines, drawn = zip(*(axes.collections for axes in figure.axes), strict=True)
    assert len(lines) == 4 and all(len(one.get_offsets()) == 300 for one in drawn)
    # Every contact stands in the panel of its place, and nowhere else.
    contacts = [layers for _, _, layers in people.to_networkx().edges(data="layers")]
    for line, layer in zip(lines, seasons.LAYER_COLOURS, strict=True):
        assert len(line.get_segments()) == sum(layer in layers for layers in contacts)
    dots = drawn[0]
    shades = {to_hex(colour) for colour in dots.get_facecolors()}
    assert len(shades) == 5 and not shades & {to_hex(line.get_edgecolors()[0]) for line in lines}
    places = np.asarray(dots.get_offsets())
    low, high = np.quantile(places, [0.1, 0.9], axis=0)
    assert (np.ptp(places, axis=0) < 1.6 * (high - low)).all()


def test_a_stored_study_goes_on_with_the_ode_as_prior(study, tmp_path):
    path = tmp_path / "town.toml"
    path.write_text(TOWN.replace('["d-gpucb", "gp-ucb", "current"]', '["d-gpucb"]'))
    short = run(load(path, {"rounds": 1}), out=tmp_path / "s.sqlite")
    assert len(short.to_dataframe()) == 2
    long = run(load(path), out=tmp_path / "s.sqlite", resume=True).to_dataframe()
    first = study.to_dataframe()
    same = first[first["agent"] == "d-gpucb"].reset_index(drop=True)
    assert long.drop(columns="seconds").equals(same.drop(columns="seconds"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"flu-ode"', '"flu-oed"'), ["prior.mean_from.name", "flu-oed", "flu-ode"]),
        (('"flu-ode"', '"synthetic"'), ["prior.mean_from", "groups"]),
        (
            ('{ name = "flu-ode" }', '{ name = "flu-ode", options = { budget = 0.1 } }'),
            ["mean_from", "budget"],
        ),
        (('{ name = "flu-ode" }', '{ nam = "flu-ode" }'), ["prior.mean_from.nam", "unknown key", "name"]),
        (('{ name = "flu-ode" }', '"flu-ode"'), ["prior.mean_from", "a table"]),
        (("samples = 8", "samples = 0"), ["prior.mean_from", "samples"]),
        (("held_out = 3", "held_out = -1"), ["held_out = -1", "0 or more"]),
    ],
)
def test_a_wrong_prior_is_one_line(change, words, scenario_file, policyloop, tmp_path):
    code, _, error = policyloop("run", scenario_file(TOWN.replace(*change)), "--out", tmp_path / "s.sqlite")
    assert code == 2 and error.count("\n") == 1 and all(word in error for word in words), error
    assert not (tmp_path / "s.sqlite").exists()


def test_the_catalogue_has_a_town_and_a_city():
    assert {"flu-abm", "flu-city"} <= set(names())
    assert load("flu-city").environment.options["persons"] == 1_600_000
    assert load("flu-abm").prior.mean_from.name == load("flu-city").prior.mean_from.name == "flu-ode"
