"""A real Chromium, headless, for tests of pages; they are skipped where there is none."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

WAIT_SECONDS = 60
"""How long a test waits for what it has to see: a condition ends the wait, and no clock the test."""


def chromium():
    """Start a browser that reaches this machine alone; skip the test where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    pytest.importorskip("aiohttp", reason="aiohttp is not installed: pip install 'policyloop[page]'")
    binary = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip(
            "there is no Chromium with its chromedriver on this machine (apt-get install chromium-driver)"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for argument in (
        "--headless=new",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        # No name but the loopback's is found, as on a machine without a network.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
        "--window-size=1400,1000",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
    ):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


class Page:
    """A page in the browser: what is shown on it, and waits for what has to be."""

    def __init__(self, driver, address):
        self.driver, self.address = driver, address
        driver.get_log("browser")  # that of the page before
        driver.get(address)

    def find(self, css):
        return self.driver.find_element("css selector", css)

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def text(self, css):
        return self.find(css).text

    def until(self, condition):
        """Wait for a condition, whatever else changes on the page meanwhile."""
        from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        passing = (NoSuchElementException, StaleElementReferenceException)
        wait = WebDriverWait(self.driver, WAIT_SECONDS, poll_frequency=0.05, ignored_exceptions=passing)
        return wait.until(lambda _: condition())

    def until_says(self, css, words):
        self.until(lambda: words in self.text(css))

    def slide(self, css, value):
        """Move a slider, as dragging it does."""
        self.driver.execute_script(
            "const [one, value] = arguments; one.value = value;"
            "one.dispatchEvent(new Event('input', {bubbles: true}));"
            "one.dispatchEvent(new Event('change', {bubbles: true}))",
            self.find(css),
            value,
        )

    def click_beside(self, css, right, down):
        """Click so many pixels from the middle of an element."""
        from selenium.webdriver.common.action_chains import ActionChains

        beside = ActionChains(self.driver).move_to_element_with_offset(self.find(css), right, down)
        beside.click().perform()

    def choose(self, css, value):
        from selenium.webdriver.support.ui import Select

        Select(self.find(css)).select_by_value(value)

    def complaints(self):
        """What the browser has said against the page: files not found, what its policy forbids, errors."""
        return [one["message"] for one in self.driver.get_log("browser")]


@contextmanager
def opened(driver, page, calls):
    """A page of policyloop's, served and opened in the browser."""
    from bridges.exports.guarded_server import listening
    from policyloop.http_guard import Guard
    from scenarios.watching.site import endpoints

    with listening(endpoints("key", page, calls), Guard(), "127.0.0.1", 0) as url:
        yield Page(driver, f"{url}/key/")
        driver.get("about:blank")  # or it would go on asking


def looks(driver, theme="light", width=1400):
    """Let pages be seen by who likes a theme, on a screen so wide."""
    theme = {"name": "prefers-color-scheme", "value": theme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def barriers(driver):
    """What axe-core finds on the page that is serious or critical, a line each."""
    package = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    driver.set_script_timeout(WAIT_SECONDS)
    driver.execute_script((Path(package.__path__[0]) / "axe.min.js").read_text(encoding="utf-8"))
    found = driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run().then((one) => done(one.violations),"
        " (error) => done([{impact: 'critical', id: String(error)}]))"
    )
    return [
        f"{one['id']}: {[node['html'] for node in one.get('nodes', [])]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def overflow(driver):
    """By how many pixels the page is wider than its window."""
    return driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth")


def press(driver, *keys):
    """Press keys, one after the other, where the focus is."""
    from selenium.webdriver.common.action_chains import ActionChains

    for key in keys:
        ActionChains(driver).send_keys(key).perform()
