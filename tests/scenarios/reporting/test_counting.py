"""Cases, deaths, cost and QALYs of a report are those that the simulator gives of the same policies."""

import numpy as np
import pytest
from pages import Page

import scenarios
import simulators
from scenarios.reporting.counting import COUNTS, counts
from scenarios.reporting.language import Language
from scenarios.reporting.observed import Observed
from scenarios.reporting.said import mean_info, of_worlds

OPTIONS = {"days": 150, "hospitalisation": 0.01, "death": 0.001, "cost": 50.0, "qaly_loss": 0.01}
TOML = ", ".join(f"{key} = {value}" for key, value in OPTIONS.items())
HEAD = 'name = "s"\nrounds = 12\ntrials = 1\nseed = 5\nagents = ["d-gpucb", "current"]\n[environment]\n'


def made(folder, tail=""):
    (folder / "s.toml").write_text(
        f'{HEAD}name = "flu-ode"\noptions = {{ {TOML} }}\n{tail}\n[prior]\nsamples = 0\n'
    )
    return scenarios.run(scenarios.load(folder / "s.toml"), out=folder / "s.sqlite")


@pytest.fixture(scope="module")
def flu(tmp_path_factory):
    return made(tmp_path_factory.mktemp("flu"))


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory):
    return made(tmp_path_factory.mktemp("ensemble"), "[ensemble]\nr0 = [1.4, 1.7]\nweights = [1, 3]")


def page_of(study, tmp_path):
    return Page(scenarios.report(study, tmp_path / "r.html").read_text(encoding="utf-8"))


def todays(**options):
    environment = simulators.make("flu-ode", **OPTIONS, **options)
    return environment.step(environment.current_policy).info, environment


def test_what_today_brings_is_what_its_season_brings(flu, tmp_path):
    """Shares of infections by hand: a death in a thousand, 50 for each case, a hundredth of a year lost."""
    say, (info, environment) = Language(), todays()
    _, rows = page_of(flu, tmp_path).table("In all", "Difference")
    cases = float((info["attack_rate"] * environment.population).sum())
    expected = {"Cases": 1.0, "Hospitalisations": 0.01, "Deaths": 0.001, "Cost": 50.0, "QALYs lost": 0.01}
    for name, share in expected.items():
        assert rows[name][1] == say.persons(share * cases)
    assert rows["Sick days"][1] == say.persons(
        float(environment.expected([environment.current_policy]).sum() * environment.population.sum())
    )
    assert rows["Doses"][1] == say.persons(float(environment.current_policy @ environment.population))


def test_what_is_averted_stands_at_the_top_and_by_group(flu, tmp_path):
    page = page_of(flu, tmp_path)
    for name in ("cases averted", "deaths averted", "cost saved", "QALYs gained", "sick days averted"):
        assert name in page.text
    head, rows = page.table("Group", "Deaths averted")
    _, all_of_it = page.table("In all", "Difference")
    told = all_of_it["Deaths"][3].replace("\N{MINUS SIGN}", "")
    assert rows["All"][head.index("Deaths averted")] == told


def test_of_an_ensemble_the_mean_of_its_worlds_is_counted(ensemble, tmp_path):
    """r0 = 1.7 counts three times as much as 1.4; each simulated here by itself."""
    page = page_of(ensemble, tmp_path)
    _, rows = page.table("In all", "Difference")
    deaths = [float(np.sum(todays(r0=r0)[0]["deaths"])) for r0 in (1.4, 1.7)]
    assert rows["Deaths"][1] == Language().persons(0.25 * deaths[0] + 0.75 * deaths[1])
    _, groups = page.table("Group", "Persons")
    assert groups["70+"][1] == Language().persons(27_907_000)
    assert "the mean over 2 worlds (r0=1.4, r0=1.7)" in page.text
    assert "What is counted is the mean over the worlds" in page.text


def test_curves_of_worlds_with_other_days_are_averaged_at_the_days_of_the_first(ensemble):
    line = {"days": np.array([0.0, 2.0]), "infected": np.array([[0.0], [4.0]])}
    finer = {"days": np.array([0.0, 1.0, 2.0]), "infected": np.array([[0.0], [4.0], [8.0]])}
    found = of_worlds(ensemble, {"r0=1.4": line, "r0=1.7": finer})
    assert found["infected"].tolist() == [[0.0], [7.0]]  # (4 + 3 * 8) / 4
    assert of_worlds(ensemble, {"r0=1.4": line}) == {}


def test_what_is_no_number_of_every_group_is_not_counted(flu):
    J = len(flu.environment.groups)
    info = {"deaths": np.ones(J - 1), "cost": np.full(J, np.nan), "qalys": np.ones(J)}
    assert set(counts(flu, Observed(mean_info([info]), 0.0, 1, ""), None)) & set(COUNTS) == {"qalys"}


def test_doses_a_case_are_told_against_today_where_more_are_given(flu, tmp_path):
    from scenarios.reporting.advising import _counted
    from scenarios.reporting.known import gathered

    known, words = gathered(flu), Language()
    J = len(flu.environment.groups)
    before, after = (Observed({"infections": np.full(J, n), "doses": None}, 0.0, 1, "") for n in (50.0, 10.0))
    names = [name for _, name, _ in _counted(known, before, after, None, words)]
    assert "cases averted" in names and "doses needed" in names
    none = Observed({"infections": np.full(J, 110.0)}, 0.0, 1, "")
    value, _, note = next(
        one for one in _counted(known, before, after, none, words) if one[1] == "doses a case averted"
    )
    given = float(np.array(known.chosen.point.policy) @ simulators.make("flu-ode").population)
    assert value == words.number(given / (100.0 * J)) and words.persons(100.0 * J) in note
