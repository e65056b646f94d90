"""Reports of studies of every kind: small, unfinished, damaged, of strangers' text, with nothing observed."""

from pathlib import Path

import pytest
from clinic import Clinic
from pages import Page, check_sound
from shares import Few, Shares

import scenarios
import simulators
from scenarios.reporting.known import gathered
from scenarios.study.study import Study

EVIL = "</script><img src=x onerror=alert(1)>"


class Evil(Shares):
    """The same with names that would do something in a page that does not escape them."""

    groups = (EVIL, "<5 years", 'a"b', "bell\x07\u202eevil")
    group_units = ("<b>days</b>",) * 4
    objective_unit = "{days} & <i>more</i>"
    current_policy_label = "<script>alert(2)</script>{x}"

    def __init__(self, **options):
        super().__init__(**options)
        space = self.policy_space
        self.policy_space = simulators.PolicySpace(
            (EVIL, "$x_1$"), ("<u>", "%s{0}"), bounds=space.bounds, constraint=space.constraint
        )
        self.current_policy = [0.5, 0.5]

    def step(self, policy):
        if self.rng.random() < 0.2:
            raise simulators.SimulationError(f"{EVIL} {{0}} \x1b[31m")
        return super().step(policy)


class Broken(Shares):
    """No step of it ends well."""

    def step(self, policy):
        raise simulators.SimulationError("the pump <broke>")


@pytest.fixture(scope="module", autouse=True)
def known():
    for name, made in (("r-shares", Shares), ("r-few", Few), ("r-evil", Evil), ("r-broken", Broken)):
        simulators.register(name, made)
    simulators.register("r-clinic", Clinic)


@pytest.fixture
def page(tmp_path):
    """Run a scenario, and read its report."""

    def made(environment="r-shares", rounds=8, trials=1, agents='["d-ei"]', head="", tail="", **options):
        text = (
            f'name = "s"\nrounds = {rounds}\ntrials = {trials}\nagents = {agents}\n{head}\n[environment]\n'
            f'name = "{environment}"\n{tail}\n[prior]\nsamples = 0\n'
        )
        (tmp_path / "s.toml").write_text(text)
        study = scenarios.run(scenarios.load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite")
        found = Page(scenarios.report(study, tmp_path / "r.html", **options).read_text(encoding="utf-8"))
        check_sound(found)
        found.study = study.path
        return found

    return made


def test_text_of_strangers_does_nothing(page):
    found = page(
        "r-evil", rounds=10, agents='["d-ei", "random"]', head=f"title = '''{EVIL}'''\ndescription = '{{0}}'"
    )
    assert EVIL in found.text and "<5 years" in found.text and "\\x1b[31m" in found.text
    assert found.source.count("alert(1)") == found.source.count("onerror=alert(1)&gt;")
    assert "\\x07" in found.text and "\\u202e" in found.text


def test_a_recommendation_that_is_not_surely_better_than_todays_is_said_not_to_be(page):
    found = page("r-evil", rounds=10, agents='["random"]')
    said = "do not show with 95 % certainty that the recommended policy is better" in found.text
    (answer,) = scenarios.what_if(found.study)
    known = gathered(Study(found.study))
    assert said == (known.better < 0.95)
    assert answer.current.objective == known.today.predicted.objective


def test_one_trial_has_no_spread_to_speak_of(page):
    assert "one complete trial (1)" in page().text


def test_candidates_are_counted_and_recommended_by_row(page):
    found = page("r-few", rounds=10)
    assert f"Which of {len(Few().policy_space.candidates)} candidates" in found.text
    assert "(candidate " in found.text
    assert "candidates have a predicted objective that is worse by 1 %" in found.text


def test_whole_numbers_and_categories_keep_their_kind(page):
    found = page("r-clinic", rounds=14)
    _, rows = found.table("Lever", "Recommended")
    nurses = rows["nurses, persons"]
    assert all(cell == str(int(cell)) for cell in nurses[1:4])
    assert rows["tariff"][1] in ("flat", "peak", "dynamic")
    assert set(rows["tariff"][2].split(", ")) <= {"flat", "peak", "dynamic"}


def test_limits_are_told_with_their_probability_and_bring_a_frontier(page):
    found = page(rounds=12, tail='[[limits]]\ngroup = "70+"\nat_most = 0.5')
    assert "70+ <= 0.5" in found.text
    assert "probability that all limits are kept" in found.text
    assert "Trade-offs" in found.text


def test_worlds_of_an_ensemble_stand_side_by_side(page):
    found = page("flu-ode", rounds=12, tail="options = { days = 100 }\n[ensemble]\nr0 = [1.4, 1.7]")
    _, rows = found.table("World", "the recommended policy")
    assert set(rows) == {"r0=1.4", "r0=1.7"}


def test_a_study_in_which_all_failed_says_so_and_why(page):
    found = page("r-broken", rounds=3)
    assert "There is no recommendation: all 3 rounds failed" in found.text
    assert "the pump <broke>" in found.text


def test_worlds_of_their_own_are_said_to_be(page):
    found = page(trials=2, rounds=8, tail="new_world_each_trial = true")
    assert "Every trial has a world of its own" in found.text


def test_an_unfinished_study_says_what_its_rounds_say_so_far(tmp_path, page):
    page(rounds=9)
    import sqlite3

    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        connection.execute("DELETE FROM recommendations")
        connection.execute("DELETE FROM rounds WHERE round = 9")
        connection.execute("DELETE FROM details WHERE round = 9")
    connection.close()
    found = Page(scenarios.report(tmp_path / "s.sqlite", tmp_path / "u.html").read_text())
    check_sound(found)
    assert "The study is not finished: 8 of 9 rounds are stored" in found.text
    assert "No trial is complete yet. By the rounds so far the best policy is" in found.text


def test_a_damaged_study_is_told_as_far_as_it_is_whole(tmp_path, page, policyloop):
    page(rounds=9)
    path = tmp_path / "s.sqlite"
    content = bytearray(path.read_bytes())
    where = content.rindex(b'"ok"') if b'"ok"' in content else content.rindex(b"ok")
    content[where : where + 2] = b"xx"
    path.write_bytes(content)
    assert Study(path, damaged=True).damage
    code, _, said = policyloop("report", path, "--out", tmp_path / "d.html", "--quiet")
    assert code == 0 and "the study is damaged" in said
    found = Page((tmp_path / "d.html").read_text())
    check_sound(found)
    assert "The study is damaged" in found.text


@pytest.mark.slow
def test_a_living_world_has_a_report_without_a_posterior(tmp_path):
    scenario = scenarios.load("weather-live").model_copy(update={"rounds": 4, "trials": 1})
    study = scenarios.run(scenario, out=tmp_path / "y.sqlite")
    found = Page(scenarios.report(study, tmp_path / "y.html").read_text())
    check_sound(found)
    assert "This world lives" in found.text


def test_drawn_worlds_are_said_to_differ(tmp_path):
    scenario = scenarios.load("synthetic").model_copy(update={"rounds": 6, "trials": 2})
    study = scenarios.run(scenario, out=tmp_path / "y.sqlite")
    found = Page(scenarios.report(study, tmp_path / "y.html").read_text())
    check_sound(found)
    assert "Every trial has a world of its own" in found.text


def test_persons_have_a_course_and_no_noise_free_outcome(tmp_path):
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 11\ntrials = 1\nagents = ["d-gpucb"]\nheld_out = 5\n[environment]\n'
        'name = "flu-abm"\noptions = { persons = 500, days = 60 }\n[prior]\nsamples = 0\n'
    )
    study = scenarios.run(scenarios.load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite")
    found = Page(scenarios.report(study, tmp_path / "y.html").read_text())
    check_sound(found)
    assert "the mean of 5 simulations on seeds that no agent has seen" in found.text


def test_a_function_of_ones_own_is_not_run_to_read_its_study(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import pathlib\n\n\n"
        "def cost(x):\n"
        f"    pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
        "    share, beds = x\n"
        "    return {'cost': (share - 0.3) ** 2 + beds / 100, 'wait': 1.0 / beds}\n"
    )
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 12\ntrials = 1\nagents = ["d-ei"]\n[environment]\nname = "function"\n'
        f"[environment.options]\nf = '{tmp_path / 'mine.py'}:cost'\n"
        'policy = { share = [0, 1], beds = { whole = [1, 9] } }\ngroups = ["cost", "wait"]\n'
        'sense = "minimize"\n[prior]\nsamples = 0\n'
    )
    study = scenarios.run(scenarios.load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite")
    (tmp_path / "ran").unlink()
    found = Page(scenarios.report(study, tmp_path / "y.html").read_text())
    check_sound(found)
    assert not (tmp_path / "ran").exists()
    assert "mine.py" in found.text


@pytest.mark.slow
def test_stations_are_candidates(tmp_path):
    scenario = scenarios.load("weather").model_copy(update={"rounds": 4, "trials": 1})
    study = scenarios.run(scenario, out=tmp_path / "w.sqlite")
    found = Page(scenarios.report(study, tmp_path / "w.html").read_text())
    check_sound(found)
    assert "(candidate " in found.text


@pytest.mark.parametrize("name", ["schema_1", "schema_2", "whole_numbers_rounded"])
def test_studies_of_earlier_versions_have_a_report(name, tmp_path):
    old = Path(__file__).parents[1] / "old" / f"{name}.study.sqlite"
    found = Page(scenarios.report(old, tmp_path / "r.html").read_text())
    check_sound(found)
    assert "The recommended policy is" in found.text or "No trial is complete" in found.text


def test_a_policy_is_not_said_to_be_an_agents_that_had_no_model(page):
    """Five rounds are d-ei's design alone: what is recommended is what all rounds together say."""
    made = page(rounds=3, trials=2)
    assert "No agent had learned a model when its trials ended" in made.text
    assert "It is the answer of policyloop what-if" in made.text
    assert "It is the recommendation of" not in made.text


def test_a_prediction_that_the_truth_contradicts_is_said_to_be_wrong(tmp_path, page, monkeypatch):
    from dataclasses import replace

    from scenarios.reporting import doubts
    from scenarios.reporting.language import Language

    page(rounds=8)
    known = gathered(Study(tmp_path / "s.sqlite"))
    high = known.chosen.predicted.objective.high
    for exact, count in ((high + 1.0, 1), (high - 1e-6, 0), (None, 0)):
        told = doubts._contradicted(
            replace(known, today=None, chosen=replace(known.chosen, exact=exact)), Language()
        )
        assert len(told) == count
