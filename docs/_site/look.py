"""Looks at the built site in Chromium, opened as files: `make look`, after `make docs`.

Searches it, and draws some pages wide and narrow, light and dark, into build/look. Ends with exit code 1, in
words, where the search finds nothing, a page is wider than the screen, or asks for anything from elsewhere.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SITE, LOOK = ROOT / "build" / "site", ROOT / "build" / "look"
PAGES = {
    "start": "index.html",
    "tutorial": "tutorials/vaccinate.html",
    "keys": "reference/scenario.html",
    "api": "reference/api/optimizer/agents.html",
    "gallery": "gallery.html",
}
WIDTHS = {"wide": (1400, 1000), "narrow": (400, 800)}
SCHEMES = {"light": "default", "dark": "slate"}
SEARCHES = {
    "register_acquisition": "optimizer/acquisition.html",
    "vaccinate": "tutorials/vaccinate.html",
    **dict.fromkeys(("pandas", "Excel", "not below zero", "p-value", "GPU", "cancel"), "how-do-i.html"),
}
"""A word, and the page that it has to find."""


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium without a window."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    found = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield found
    finally:
        found.quit()


def search(driver: Any, word: str) -> list[str]:
    """The pages that the site's own search finds for a word."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get((SITE / "index.html").as_uri())
    field = driver.find_element(By.CSS_SELECTOR, "input[data-md-component=search-query]")
    driver.execute_script("arguments[0].focus()", field)
    field.send_keys(word)
    links = ".md-search-result__link"
    WebDriverWait(driver, 60).until(lambda one: one.find_elements(By.CSS_SELECTOR, links))
    return [one.get_attribute("href") for one in driver.find_elements(By.CSS_SELECTOR, links)]


def draw(driver: Any, name: str, path: str) -> Iterator[str]:
    """Draw a page in all widths and schemes; what is wrong with it, in words."""
    for width, (across, down) in WIDTHS.items():
        metrics = {"width": across, "height": down, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        for scheme in SCHEMES:
            wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
            driver.get((SITE / path).as_uri())
            driver.execute_script("localStorage.clear()")  # of the scheme before
            driver.refresh()
            body = driver.find_element("css selector", "body")
            shown = body.get_attribute("data-md-color-scheme")
            if shown != SCHEMES[scheme]:
                yield f"{path} shows {shown} where {scheme} is preferred"
            driver.save_screenshot(str(LOOK / f"{name}-{width}-{scheme}.png"))
        wide = driver.execute_script("return document.documentElement.scrollWidth")
        if wide > across:
            yield f"{path} is {wide} pixels wide on a screen of {across}"


def elsewhere() -> Iterator[str]:
    """Pages that ask for a script, a style, a font or an image from elsewhere."""
    import re

    asked = re.compile(
        r"<(?:script|img|link rel=\"(?:stylesheet|preconnect)\")[^>]*(?:src|href)=\"(https?:[^\"]+)"
    )
    for page in SITE.rglob("*.html"):
        for address in asked.findall(page.read_text(encoding="utf-8")):
            yield f"{page.relative_to(SITE)} asks for {address}"


def main() -> int:
    """Look at all; the exit code."""
    LOOK.mkdir(parents=True, exist_ok=True)
    wrong = list(elsewhere())
    if shutil.which("chromedriver") is None:
        print("no chromedriver: the site was not looked at in a browser")
        return int(bool(wrong))
    with browser() as driver:
        for word, page in SEARCHES.items():
            try:
                found = search(driver, word)
            except Exception as error:
                found = [f"nothing ({type(error).__name__})"]
            if not any(page in one for one in found):
                wrong.append(f"the search for {word} does not find {page}, but {', '.join(found)}")
        for name, path in PAGES.items():
            wrong += draw(driver, name, path)
    print("\n".join(wrong) or f"The site searches and fits; drawn in {LOOK}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
