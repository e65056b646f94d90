"""What a real browser shows of a study: while it grows, and whatever strangers wrote into it."""

import re

import pytest
from browsing import opened
from growing import begun
from studies import valley_study

from scenarios import load, run
from scenarios.study.study import Study
from scenarios.watching.following import Follower
from scenarios.watching.story import Story

HOSTILE = '<img src=x onerror="document.title=1">'

LEVERS = """
name = "s"
title = '{hostile}'
rounds = 12
trials = 1
seed = 1
agents = ["random"]
[environment]
name = "function"
[environment.options]
f = "{target}"
policy = {{ share = [0, 1], beds = {{ whole = [1, 4] }}, tariff = {{ one_of = ["flat", "<b>peak</b>"] }} }}
groups = ['{hostile}', "b"]
[prior]
samples = 0
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return valley_study(tmp_path_factory.mktemp("finished"), 6)


@pytest.fixture(scope="module")
def levers(tmp_path_factory):
    """A study with a real lever, a whole one and a category, two failures and names that are HTML."""
    folder = tmp_path_factory.mktemp("levers")
    (folder / "ward.py").write_text(
        "def step(x):\n"
        "    share, beds, tariff = x\n"
        "    if beds == 3:\n"
        f"        raise RuntimeError({HOSTILE!r})\n"
        "    return [share + beds, 2 * share + (tariff == 'peak')]\n"
    )
    (folder / "s.toml").write_text(LEVERS.format(hostile=HOSTILE, target=f"{folder}/ward.py:step"))
    return run(load(folder / "s.toml"), out=folder / "s.sqlite")


def page_of(browser, path):
    return opened(browser, "study.html", {"rounds": Story(Follower(path)).new_rounds})


def dots(page, host, i=0):
    """How many rounds the i-th chart of a part of the page shows."""
    paths = page.driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])[arguments[1]].querySelectorAll('path.dots')]"
        ".map(one => one.getAttribute('d'))",
        f"{host} figure",
        i,
    )
    return sum(one.count("M") for one in paths)


def test_a_finished_study_is_shown_and_nothing_is_complained_of(browser, finished):
    with page_of(browser, finished.path) as page:
        page.until_says("#state", "24 of 24 rounds · finished")
        assert page.text("h1") == "s"
        assert [one.text for one in page.all("#levers figcaption")] == ["x share"]
        assert [one.text for one in page.all("#groups figcaption")] == ["left points", "right points"]
        assert dots(page, "#levers") == 24 and dots(page, "#groups", 1) == 24
        own = [one for one in finished.rounds() if one.agent == "random"]
        best = min(one.expected for one in own if one.round > len(design_of(finished, one.trial)))
        assert f"{best:.3f}" in page.text('.card[data-agent="random"]')
        assert not page.complaints()


def test_a_trial_and_an_agent_can_be_looked_at_alone(browser, finished):
    with page_of(browser, finished.path) as page:
        page.until_says("#state", "finished")
        page.choose("#trial", "2")
        page.until(lambda: dots(page, "#levers") == 12)
        page.find("#agents label input").click()
        page.until(lambda: dots(page, "#levers") == 6)
        assert [one.get_attribute("data-agent") for one in page.all(".card")] == ["uniform"]
        page.choose("#measure", "cumulative")
        page.until_says("#agents-chart figcaption", "Cumulative regret by agent")


def test_rounds_appear_while_the_study_is_written(browser, finished, tmp_path):
    path, rounds = tmp_path / "grows.sqlite", finished.rounds()
    with begun(finished, path) as store:
        store.add(rounds[:4])
        with page_of(browser, path) as page:
            page.until_says("#state", "4 of 24 rounds")
            page.driver.execute_script("window.same = true")
            for known in (9, 17, 24):
                store.add(rounds[known - (5 if known == 9 else 8 if known == 17 else 7) : known])
                page.until_says("#state", f"{known} of 24 rounds")
                page.until(lambda known=known: dots(page, "#levers") == known)
                if known < 24:
                    page.until_says("#state", "left at the present pace")
            page.until_says("#state", "finished")
            assert page.driver.execute_script("return window.same")  # the page was never loaded anew
            assert float(page.find("#progress").get_attribute("value")) == 1


def test_levers_have_axes_of_their_kind_and_failures_their_reasons(browser, levers):
    failed = [one for one in levers.rounds() if one.status == "failed"]
    assert failed
    with page_of(browser, levers.path) as page:
        page.until_says("#state", f"{len(failed)} failed")
        axes = [
            page.driver.execute_script(
                "return [...document.querySelectorAll('#levers figure')[arguments[0]]"
                ".querySelectorAll('text[text-anchor=end]')].map(one => one.textContent)",
                i,
            )
            for i in range(3)
        ]
        assert axes[1][:-1] == ["1", "2", "3", "4"]  # the last is the other axis' name
        assert axes[2][:-1] == ["flat", "<b>peak…"]
        assert re.fullmatch(r"0\.\d", axes[0][1])
        assert len(page.all("#failures tbody tr")) == len(failed)
        assert HOSTILE in page.text("#failures tbody")
        assert "beds 3" in page.text("#failures tbody")


def test_names_and_messages_are_text_and_never_a_page(browser, levers):
    with page_of(browser, levers.path) as page:
        page.until_says("#state", "finished")
        assert HOSTILE in page.text("h1") and HOSTILE in page.text("#groups")
        assert not page.all("img") and not page.all("main b > b") and page.driver.title.startswith("s ")
        assert not page.complaints()


def test_a_server_that_has_ended_is_said(browser, finished):
    with page_of(browser, finished.path) as page:
        page.until_says("#state", "finished")
        page.driver.execute_script("window.fetch = () => Promise.reject(new TypeError('gone'))")
        page.until_says("#state", "has ended, or cannot be reached")


def test_a_study_is_not_changed_by_being_watched(browser, finished):
    before = finished.path.read_bytes()
    with page_of(browser, finished.path) as page:
        page.until_says("#state", "finished")
    assert finished.path.read_bytes() == before
    assert Study(finished.path).rounds() == finished.rounds()


STATIONS = """
name = "places"
rounds = 9
trials = 1
seed = 4
agents = ["gp-ucb"]
[environment]
name = "weather-live"
options = { sensors = 60, neighbours = 12, sensor_life = 5.0 }
[prior]
samples = 40
restarts = 0
"""


def test_stations_that_were_asked_are_on_a_map_with_their_names(browser, tmp_path):
    (tmp_path / "s.toml").write_text(STATIONS)
    study = run(load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite")
    frame = study.to_dataframe()
    with page_of(browser, study.path) as page:
        page.until_says("#places-said", f"{frame['station'].nunique()} of")
        silent = [one.status for one in {one.row: one for one in study.rounds()}.values()].count("failed")
        assert silent and f"{silent} told nothing" in page.text("#places-said")
        means = frame[frame["status"] != "failed"].groupby("station")["objective"].mean()
        assert page.text("#places-best tbody tr:first-child td:first-child").startswith(means.idxmax())
        drawn = page.driver.execute_script(
            "const c = document.getElementById('places-map'), d = c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data;"
            "return new Set(Array.from({length: d.length / 4}, (_, i) => d.slice(4*i, 4*i+3).join())).size"
        )
        assert drawn > 10
        assert frame["station"].iloc[-1] in page.text("#latest tbody tr:first-child")
        assert not page.complaints()


def design_of(study, trial):
    """The first rounds of a trial in which all its agents tried the same."""
    each = [
        [one.policy for one in study.rounds() if (one.trial, one.agent) == (trial, agent)]
        for agent in study.scenario.labels
    ]
    found = []
    for policies in zip(*each, strict=True):
        if any(one != policies[0] for one in policies):
            break
        found.append(policies[0])
    return found


def test_cards_tell_what_is_known_without_noise_and_whose_policy_it_was(browser, tmp_path):
    """The luckiest noisy round would lead with less than any policy is worth."""
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 11\ntrials = 1\nseed = 5\nagents = ["d-ei", "random"]\n[environment]\n'
        'name = "flu-ode"\noptions = { days = 100 }\n[prior]\nsamples = 0\n'
    )
    study = run(load(tmp_path / "s.toml"), out=tmp_path / "s.sqlite")
    with page_of(browser, study.path) as page:
        page.until_says("#state", "finished")
        for agent in ("d-ei", "random"):
            own = [one for one in study.rounds() if one.agent == agent]
            shared = len(design_of(study, 1))
            best = min(own[shared:], key=lambda one: one.expected)
            whose = f"{11 - shared} rounds of its own choice"
            said = page.text(f'.card[data-agent="{agent}"]')
            assert f"{best.expected:.4g}" in said
            assert f"best of {whose}, without noise, trial 1, round {best.round}" in said
        page.until_says("#agents-chart figcaption", "Best objective so far without noise by agent")


def test_where_noise_is_all_there_is_cards_say_so(browser, levers):
    with page_of(browser, levers.path) as page:
        page.until_says("#state", "finished")
        said = page.text(".card")
        assert (
            "noise included: the luckiest of 12 rounds of its own choice" in said
            or "simulated again on" in said
        )
