"""One browser for all tests of pages."""

import pytest
from browsing import chromium


@pytest.fixture(scope="session")
def browser():
    driver = chromium()
    yield driver
    driver.quit()
