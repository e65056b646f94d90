"""A real Chromium, headless, for tests of pages; they are skipped where there is none."""

import os
import shutil
from contextlib import contextmanager

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
