"""What a real browser shows of the what-if panel while sliders are moved."""

import pytest
from browsing import opened
from growing import begun
from shares import TEXT, Shares
from studies import valley_study

import scenarios
import simulators
from scenarios.study.study import Study
from scenarios.watching.following import Follower
from scenarios.watching.panel import Panel
from scenarios.watching.story import Story


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    simulators.register("shares", Shares)
    folder = tmp_path_factory.mktemp("study")
    values = {
        "rounds": 14,
        "trials": 1,
        "agents": '["d-ei"]',
        "head": "",
        "environment": "shares",
        "options": "",
    }
    (folder / "s.toml").write_text(TEXT.format(**values, apart="false", samples=20, tail=""))
    return scenarios.run(scenarios.load(folder / "s.toml"), out=folder / "s.sqlite").path


def page_of(browser, path):
    panel = Panel(path)
    calls = {"rounds": Story(Follower(path)).new_rounds, "begin": panel.begin, "answer": panel.answer}
    return opened(browser, "study.html", {**calls, "frontier": panel.trade_offs})


def ask(page):
    page.until_says("#state", "rounds")
    page.find("#tab-ask").click()
    page.until(lambda: "Question: as the study asked" in page.text("#question"))


def cell(page, row, column=1):
    """A cell of the tables of the answer, by the beginning of its row's name."""
    for one in page.all("#answer tr"):
        if one.text.startswith(row):
            return one.find_elements("css selector", "td")[column - 1].text
    return None


def test_the_answer_follows_the_sliders(browser, path):
    (study,) = scenarios.what_if(path)
    (heavy,) = scenarios.what_if(path, weights=["<5 years*10"], budget=0.5)
    with page_of(browser, path) as page:
        ask(page)
        assert cell(page, "objective").startswith(f"{study.best.objective.mean:.2g}"[:4])
        page.slide("#weight-3", 7)
        page.slide("#budget", 50)
        page.until_says("#question", "<5 years*10; budget 0.5")
        page.until(lambda: cell(page, "x") == f"{heavy.best.policy['x']:.3f}"[:5])
        assert page.text("#weight-3 ~ output, output[for=weight-3]") == "× 10"
        page.find("#reset").click()
        page.until_says("#question", "as the study asked")
        assert not page.complaints()


def test_a_limit_is_kept_or_said_not_to_be(browser, path):
    with page_of(browser, path) as page:
        ask(page)
        page.slide("#limit-0", 60)
        page.until(lambda: (cell(page, "P(70+") or "").startswith(("0.9", "1")))
        page.slide("#limit-0", 0)
        page.until(lambda: page.all("#answer .notes .bad"))
        page.until_says("#answer .notes", "No policy is known to keep the limits")
        page.slide("#limit-0", 200)
        page.until_says("output[for=limit-0]", "no limit")
        page.until_says("#question", "as the study asked")


def test_the_frontier_comes_once_the_sliders_rest(browser, path):
    with page_of(browser, path) as page:
        ask(page)
        page.until_says("#trade", "policies that no other beats")
        page.until_says("#trade", "Next simulation: x ")
        assert page.all("#frontier path.dots") and page.all("#frontier circle.mark")
        page.driver.execute_script(
            "window.said = []; const one = document.getElementById('trade');"
            "new MutationObserver(() => said.push(one.textContent)).observe(one, {childList: true})"
        )
        page.slide("#budget", 30)
        page.until_says("#question", "budget 0.3")
        page.until_says("#trade", "Next simulation")
        said = page.driver.execute_script("return window.said")
        assert said[0].startswith("the frontier is computed once the sliders rest")
        assert "computing the frontier .." in said
        assert not page.complaints()


def test_the_last_of_many_changes_is_what_is_answered(browser, path):
    with page_of(browser, path) as page:
        ask(page)
        for i in range(30):
            page.slide("#budget", 10 + i)
        page.until_says("#question", "budget 0.39")
        page.until_says("#trade", "Next simulation")
        assert "budget 0.39" in page.text("#question")


def test_newer_rounds_are_used_when_they_are_asked_for(browser, path, tmp_path):
    source = Study(path)
    rounds, grows = source.rounds(), tmp_path / "grows.sqlite"
    with begun(source, grows) as store:
        store.add(rounds[:10])
        with page_of(browser, grows) as page:
            ask(page)
            page.until_says("#based", "10 observations of d-ei")
            store.add(rounds[10:])
            page.until_says("#newer", "use 4 newer rounds")
            page.find("#newer").click()
            page.until_says("#based", "14 observations of d-ei")
            assert not page.find("#newer").is_displayed()


def test_what_cannot_be_asked_is_said(browser, tmp_path):
    with page_of(browser, valley_study(tmp_path, 2).path) as page:
        page.until_says("#state", "finished")
        page.find("#tab-ask").click()
        page.until_says("#ask", "too little was observed")


def test_it_can_be_used_by_the_keyboard_alone(browser, path):
    from selenium.webdriver.common.keys import Keys

    with page_of(browser, path) as page:
        page.until_says("#state", "finished")
        page.find("#tab-rounds").send_keys(Keys.ARROW_RIGHT)
        page.until(lambda: page.find("#tab-ask").get_attribute("aria-selected") == "true")
        page.until_says("#question", "as the study asked")
        page.find("#weight-0").send_keys(Keys.ARROW_RIGHT)
        page.until_says("#question", "70+*2")
        assert page.find("#weight-0").get_attribute("aria-valuetext") == "× 2"


def test_a_frontier_that_cannot_be_shown_is_not_said_to_be_computed_for_ever(browser, path):
    panel = Panel(path)

    def gone(asked, left):
        return {"next": {}, "gain": 0.1, "pays": False, "points": [{}], "problem": ""}

    calls = {"rounds": Story(Follower(path)).new_rounds, "begin": panel.begin}
    calls |= {"answer": panel.answer, "frontier": gone}
    with opened(browser, "study.html", calls) as page:
        page.find("#tab-ask").click()
        page.until_says("#trade", "The frontier cannot be shown")
        assert "busy" not in page.find("#frontier").get_attribute("class")
