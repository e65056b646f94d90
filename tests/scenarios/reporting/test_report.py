"""The report of a study: what it says of studies of all kinds; strangers' text does nothing in it."""

import json

import pytest
from pages import Page, check_sound

import scenarios
import simulators
from scenarios.reporting.language import Language
from scenarios.results.statistics import compare
from scenarios.study.study import Study


def page_of(study, tmp_path, **options):
    return Page(scenarios.report(study, tmp_path / "report.html", **options).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def flu(tmp_path_factory):
    """A small study of the flu with today's practice among its agents."""
    folder = tmp_path_factory.mktemp("flu")
    (folder / "s.toml").write_text(
        'name = "s"\ntitle = "A flu season"\nrounds = 14\ntrials = 2\nseed = 5\n'
        'agents = ["gp-ucb", "d-gpucb", "current"]\n[environment]\nname = "flu-ode"\n'
        "options = { days = 200 }\n[prior]\nsamples = 0\n"
    )
    return scenarios.run(scenarios.load(folder / "s.toml"), out=folder / "s.sqlite")


def test_a_report_is_a_sound_page_with_its_figures(flu, tmp_path):
    page = page_of(flu, tmp_path)
    check_sound(page)
    assert len(page.named("svg")) >= 3
    assert "A flu season" in page.text


def test_the_table_of_agents_has_the_numbers_of_compare(flu, tmp_path, policyloop):
    code, shown, _ = policyloop("compare", flu.path, "--format", "json")
    assert code == 0
    say = Language()
    _, rows = page_of(flu, tmp_path).table("Agent", "Policy")
    assert set(rows) == {"gp-ucb", "d-gpucb", "current"}
    for label, row in json.loads(shown).items():
        said = row["recommendation"]
        assert rows[label][1] == f"{said['trial']} / 2"
        assert rows[label][2] == say.policy(said["policy"])
        assert rows[label][4] == say.estimate(said["objective"])
        assert rows[label][5] == say.number(said["objective"]["noise_free"])


def test_the_agents_compared_have_the_numbers_of_compare(flu, tmp_path):
    head, rows = page_of(flu, tmp_path).table("Agent", "Trials")
    for label, row in compare(flu).items():
        cells = dict(zip(head, rows[label], strict=True))
        assert cells["Cumulative regret"] == Language().estimate(row["cumulative_regret"])
        assert cells["Seconds a round of the agent"] == Language().number(row["seconds_a_round"]["mean"])


def test_other_budgets_are_answered_as_what_if_does(flu, tmp_path):
    page = page_of(flu, tmp_path)
    _, rows = page.table("Budget", "Best policy")
    limit = flu.environment.space["constraint"][2][0]
    for share in (0.9, 1.1):
        (answer,) = scenarios.what_if(flu, budget=share * limit)
        cells = rows[Language().number(share * limit)]
        assert cells[1] == Language().policy(answer.best.policy)
        assert cells[2] == Language().estimate(answer.best.objective)


def test_persons_and_doses_are_shares_of_the_population(flu, tmp_path):
    """By the noise-free outcomes and the coverage of 2012-13, computed here from the environment itself."""
    environment = simulators.make("flu-ode", days=200)
    today, persons = environment.current_policy, environment.population
    page = page_of(flu, tmp_path)
    _, rows = page.table("Group", "Persons")
    assert rows["70+"][1] == Language().persons(persons[-1])
    seen = environment.step(today).info["attack_rate"]
    head, _ = page.table("Group", "Persons")
    cases, doses = (head.index(f"{what}, coverage of 2012-13") for what in ("Cases", "Doses"))
    for j, group in enumerate(environment.groups):
        assert rows[group][cases] == Language().persons(seen[j] * persons[j])
        assert rows[group][doses] == Language().persons(today[j] * persons[j])
    assert rows["All"][doses] == Language().persons(today @ persons)
    # The budget is the doses of today's coverage.
    budget = Language().persons(today @ persons)
    share = Language().number(today @ persons / persons.sum(), 3)
    assert f"Budget: {budget} doses, which is {share} for every person." in page.text


def test_the_decomposed_agent_leads_wherever_it_stands(flu, tmp_path):
    assert "recommendation of d-gpucb" in page_of(flu, tmp_path).text


def test_a_report_is_never_written_over_another_unless_told(flu, tmp_path, policyloop):
    out = tmp_path / "report.html"
    assert policyloop("report", flu.path, "--out", out)[:2] == (0, f"{out}\n")
    before = out.read_bytes()
    code, _, said = policyloop("report", flu.path, "--out", out)
    assert (code, said.count("\n")) == (2, 1)
    assert "--force" in said
    assert out.read_bytes() == before
    assert policyloop("report", flu.path, "--out", out, "--force")[0] == 0
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_report_never_takes_the_place_of_its_study(flu, policyloop):
    code, _, said = policyloop("report", flu.path, "--out", flu.path, "--force")
    assert (code, said.count("\n")) == (2, 1) and ".html" in said
    assert Study(flu.path).rounds() == flu.rounds()


@pytest.mark.parametrize("out", ["no/such/report.html", "report.html"])
def test_bad_input_is_one_line_and_nothing_is_written(out, tmp_path, policyloop, flu):
    study = flu.path if "/" in out else tmp_path / "none.sqlite"
    code, shown, said = policyloop("report", study, "--out", tmp_path / out)
    assert (code, shown, said.count("\n")) == (2, "", 1)
    assert list(tmp_path.iterdir()) == []


def test_the_default_is_beside_the_study(flu):
    made = scenarios.report(Study(flu.path))
    assert made == flu.path.with_name("s.html")
    made.unlink()
