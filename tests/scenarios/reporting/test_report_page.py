"""The report in a real browser: read by everybody, by the keyboard alone, on a phone, and on paper."""

import base64

import pytest
from browsing import barriers, looks, overflow, press

import scenarios

TITLE = "</script><b id='evil'>A season & more"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "s.toml").write_text(
        f'name = "s"\ntitle = "{TITLE}"\nrounds = 12\ntrials = 2\nseed = 5\n'
        'agents = ["d-gpucb", "current"]\n[environment]\nname = "flu-ode"\n'
        "options = { days = 150, hospitalisation = 0.01, death = 0.001, cost = 50, qaly_loss = 0.01 }\n"
        "[prior]\nsamples = 0\n"
    )
    study = scenarios.run(scenarios.load(folder / "s.toml"), out=folder / "s.sqlite")
    return scenarios.report(study, folder / "r.html")


@pytest.fixture
def page(browser, report):
    looks(browser)
    browser.get_log("browser")
    browser.get(report.as_uri())
    yield browser
    looks(browser)
    browser.get("about:blank")


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_anybodys_way(page, theme, width):
    looks(page, theme, width)
    assert barriers(page) == []
    assert overflow(page) <= 0


def test_it_follows_the_theme(page):
    papers = []
    for theme in ("light", "dark"):
        looks(page, theme)
        papers.append(page.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert papers == ["rgb(255, 255, 255)", "rgb(20, 24, 28)"]


def test_text_of_strangers_is_text(page):
    assert page.find_elements("css selector", "#evil") == []
    assert page.find_element("css selector", "h1").text == TITLE


def test_its_policy_lets_nothing_run_and_nothing_be_fetched(page):
    """The browser is asked to do what a report that was tampered with would: it refuses."""
    page.execute_script(
        "const one = document.createElement('script'); one.textContent = 'window.ran = 1';"
        "document.body.append(one); const two = new Image(); two.src = 'http://127.0.0.1:9/x.png';"
        "document.body.append(two)"
    )
    assert page.execute_script("return window.ran") is None
    said = [one["message"] for one in page.get_log("browser")]
    assert any("Content Security Policy" in one and "script" in one for one in said)
    assert any("Content Security Policy" in one and "img-src" in one for one in said)


def test_the_browser_has_nothing_to_complain_of(page):
    assert page.get_log("browser") == []


def test_the_keyboard_alone_reaches_everything(page):
    """Tab goes to the way past the contents first; Enter takes it; tables that are wide can be scrolled."""
    from selenium.webdriver.common.keys import Keys

    looks(page, width=400)
    press(page, Keys.TAB)
    assert page.switch_to.active_element.text == "Skip to the report"
    press(page, Keys.ENTER)
    assert page.execute_script("return location.hash") == "#main"
    wide = page.execute_script(
        "return [...document.querySelectorAll('.scroll, pre')]"
        ".filter(one => one.scrollWidth > one.clientWidth)"
    )
    assert wide and all(one.get_attribute("tabindex") == "0" for one in wide)
    seen = []
    for _ in range(40):
        press(page, Keys.TAB)
        seen.append(page.switch_to.active_element)
        if wide[0] in seen:
            break
    assert wide[0] in seen
    press(page, Keys.ARROW_RIGHT)
    moved = "return arguments[0].scrollLeft"
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page, 20).until(lambda _: page.execute_script(moved, wide[0]) > 0)


def test_on_paper_nothing_is_cut(page):
    """As the browser prints: no scrolling box, dark ink on white, and more than one page."""
    looks(page, "dark")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    cut = page.execute_script(
        "return [...document.querySelectorAll('.scroll, pre')]"
        ".filter(one => getComputedStyle(one).overflowX !== 'visible').length"
    )
    colours = page.execute_script(
        "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
    )
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert cut == 0 and colours == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"])
    assert pdf.startswith(b"%PDF") and pdf.count(b"/Type /Page\n") > 2
