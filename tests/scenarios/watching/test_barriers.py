"""The live pages in nobody's way: axe-core finds nothing serious, in both themes, on a phone and a desk."""

import pytest
from browsing import barriers, looks, opened, overflow, press

import scenarios
from scenarios import load
from scenarios.watching.following import Follower
from scenarios.watching.panel import Panel
from scenarios.watching.stepping import Stepping
from scenarios.watching.story import Story

HEAD = 'name = "s"\nrounds = {}\ntrials = 1\nagents = ["d-gpucb", "current"]\n[environment]\n'
FLU = HEAD.format(12) + 'name = "flu-ode"\noptions = { days = 100 }\n[prior]\nsamples = 0\n'
SCENARIOS = {
    "town": HEAD.format(1) + 'name = "flu-abm"\noptions = { persons = 1500, days = 60 }\n',
    "sensors": HEAD.format(1) + 'name = "weather-live"\noptions = { sensors = 60 }\n',
    "agents": HEAD.format(1) + 'name = "mesa"\n[environment.options]\n'
    'model = "mesa.examples.basic.virus_on_network.model:VirusOnNetwork"\n'
    'policy = { virus_spread_chance = [0, 1] }\noutcomes = { infected = "Infected" }\nsteps = 5\n',
}
LOOKS = [("light", 400), ("dark", 1400), ("light", 1400), ("dark", 400)]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "s.toml").write_text(FLU)
    return scenarios.run(load(folder / "s.toml"), out=folder / "s.sqlite").path


@pytest.fixture
def pages(browser):
    yield lambda page, calls: opened(browser, page, calls)
    looks(browser)


def everywhere(driver):
    """What stands in the way in any look: barriers, and what is wider than the window."""
    found = []
    for theme, width in LOOKS:
        looks(driver, theme, width)
        found += [f"{theme} {width}: {one}" for one in barriers(driver)]
        if overflow(driver) > 0:
            found.append(f"{theme} {width}: too wide")
    return found


def test_the_page_of_a_study(pages, study):
    from selenium.webdriver.common.keys import Keys

    story, panel = Story(Follower(study)), Panel(study)
    calls = {"rounds": story.new_rounds, "begin": panel.begin, "answer": panel.answer}
    with pages("study.html", calls | {"frontier": panel.trade_offs}) as page:
        page.until_says("#state", "finished")
        assert everywhere(page.driver) == []
        looks(page.driver)
        # The keyboard alone: to the second tab, and a slider of it.
        page.driver.execute_script("document.getElementById('tab-rounds')?.focus()")
        page.find('[role="tab"]').send_keys(Keys.ARROW_RIGHT)
        page.until(lambda: page.all(".sliders input[type=range]") and page.all("#answer td, .answer td"))
        slider = page.find(".sliders input[type=range]")
        before = slider.get_attribute("aria-valuetext")
        slider.send_keys(Keys.ARROW_LEFT)
        page.until(lambda: page.find(".sliders input[type=range]").get_attribute("aria-valuetext") != before)
        assert everywhere(page.driver) == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_page_of_a_model(pages, name, tmp_path):
    from selenium.webdriver.common.keys import Keys

    (tmp_path / "s.toml").write_text(SCENARIOS[name].replace('"d-gpucb", "current"', '"random"'))
    made = Stepping(load(tmp_path / "s.toml"))
    with pages("model.html", {"about": made.about, "begin": made.begin, "step": made.step}) as page:
        page.until_says("#state", " 0")
        before = page.text("#table")
        page.driver.execute_script("document.getElementById('step').focus()")
        press(page.driver, Keys.SPACE)
        page.until(lambda: page.text("#table") != before or page.text("#state").endswith(" 1"))
        assert everywhere(page.driver) == []
