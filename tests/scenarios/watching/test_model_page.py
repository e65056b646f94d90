"""What a real browser shows of a model: it plays, pauses, steps, and begins anew with other levers."""

import pytest
from browsing import opened

from scenarios import load
from scenarios.watching.stepping import Stepping

HEAD = 'name = "s"\nrounds = 1\ntrials = 1\nagents = ["random"]\n[environment]\n'
TEXT = HEAD + 'name = "{}"\noptions = {{ {} }}\n'


@pytest.fixture(scope="module")
def stepping(tmp_path_factory):
    known = {}

    def make(name, options):
        if name not in known:
            path = tmp_path_factory.mktemp(name) / "s.toml"
            path.write_text(TEXT.format(name, options))
            known[name] = Stepping(load(path))
        return known[name]

    return make


def page_of(browser, made):
    return opened(browser, "model.html", {"about": made.about, "begin": made.begin, "step": made.step})


@pytest.fixture
def town(browser, stepping):
    with page_of(browser, stepping("flu-abm", "persons = 1500, days = 60")) as page:
        page.until_says("#state", "day 0")
        yield page


@pytest.fixture
def agents(browser, tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(
        f'{HEAD}name = "mesa"\n[environment.options]\n'
        'model = "mesa.examples.basic.schelling.model:Schelling"\n'
        "policy = { homophily = [0, 1], width = { whole = [10, 30], step = 10 } }\n"
        'outcomes = { happy = "pct_happy" }\nfixed = { height = 20 }\nsteps = 8\n'
    )
    with page_of(browser, Stepping(load(path))) as page:
        page.until_says("#state", "step 0")
        yield page


@pytest.fixture
def sensors(browser, stepping):
    with page_of(browser, stepping("weather-live", "sensors = 60")) as page:
        page.until_says("#state", "hour 0")
        yield page


def time(page):
    return int(page.find("#state").get_attribute("data-time"))


def infectious(page):
    return sum(int(row.find_elements("css selector", "td")[3].text) for row in page.all("#table tbody tr"))


def colours(page):
    """How many different colours the map has."""
    return page.driver.execute_script(
        "const one = document.getElementById('map');"
        "const data = one.getContext('2d').getImageData(0, 0, one.width, one.height).data;"
        "return new Set(new Uint32Array(data.buffer)).size"
    )


def test_a_step_is_a_day_and_reset_goes_back(town):
    for day in (1, 2, 3):
        town.find("#step").click()
        town.until_says("#state", f"day {day}")
    assert infectious(town) > 0 and colours(town) >= 4
    town.find("#restart").click()
    town.until_says("#state", "day 0")
    assert infectious(town) == 0
    assert not town.complaints()


def test_it_plays_until_it_is_paused_and_to_the_end(town):
    town.slide("#pace", 29)
    town.find("#play").click()
    town.until(lambda: time(town) > 5)
    town.find("#play").click()
    assert town.text("#play") == "Play"
    stood = time(town)
    town.find("#step").click()
    town.until(lambda: time(town) > stood)
    town.find("#play").click()
    town.until_says("#state", "it is over")
    assert not town.find("#play").is_enabled()
    assert town.all("#curve path.path")


def test_levers_begin_a_season_with_another_policy(town):
    before = [row.find_elements("css selector", "td")[2].text for row in town.all("#table tbody tr")]
    town.slide("#lever-4", 0)
    town.until(lambda: town.all("#table tbody tr")[4].find_elements("css selector", "td")[2].text == "0")
    assert before[4] != "0" and town.text("output[for=lever-4]") == "0"


def test_a_policy_beyond_the_budget_is_said_with_a_way_out(town):
    for i in range(5):
        town.slide(f"#lever-{i}", 100)
    town.until(lambda: town.find("#problem").is_displayed())
    town.find("#nearest").click()
    town.until(lambda: not town.find("#problem").is_displayed())
    assert 0 < float(town.text("output[for=lever-0]")) < 1


def test_the_sensor_that_is_read_is_chosen_by_slider_or_on_the_map(sensors, stepping):
    sensors.find("#step").click()
    sensors.until_says("#said", "temperature")
    first = sensors.text("output[for=lever-0]")
    sensors.slide("#lever-0", 30)
    assert sensors.text("output[for=lever-0]") != first
    named = []
    for offset in (-100, 100):  # west and east of the middle
        sensors.click_beside("#map", offset, 0)
        named.append(int(sensors.find("#lever-0").get_attribute("value")))
    lon = stepping("weather-live", "").about({}, None)["lon"]
    assert lon[named[0]] < lon[named[1]]
    sensors.find("#step").click()
    sensors.until_says("#state", "hour 1")
    sensors.choose("#field", "2")
    assert colours(sensors) > 10
    assert not sensors.complaints()


def test_the_last_of_two_pages_has_the_model(town):
    town.driver.execute_script(
        "return fetch('begin', {method: 'POST', headers: {'Content-Type': 'application/json'},"
        "body: JSON.stringify({policy: [0, 0, 0, 0, 0], seed: 1})}).then(one => one.status)"
    )
    town.find("#step").click()
    town.until_says("#problem", "another page has begun anew")
    assert not town.find("#nearest").is_displayed()
    town.find("#restart").click()
    town.until(lambda: not town.find("#problem").is_displayed())


def test_a_mesa_model_steps_with_its_levers_and_its_agents_change_colour(agents):
    agents.slide("#lever-0", 50)
    agents.slide("#lever-1", 1)
    agents.until(lambda: agents.text("output[for=lever-1]") == "20")
    agents.choose("#field", "0")
    assert agents.text("#legend")
    before = agents.text("#table")
    agents.find("#step").click()
    agents.until_says("#state", "step 1")
    assert agents.text("#table") != before
    assert colours(agents) >= 3
    assert len(agents.all("#curve figure")) >= 2
    agents.slide("#pace", 29)
    agents.find("#play").click()
    agents.until_says("#state", "it is over")
    agents.find("#restart").click()
    agents.until_says("#state", "step 0")
    assert not agents.complaints()
