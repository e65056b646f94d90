"""Settings of all tests: where a machine judges, the examples are the same in every run."""

import os
import signal
import tempfile

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

# Tests run on as many processes as there are cores: more threads only get into each other's way.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# A shell starts what runs in the background with Ctrl-C ignored, and every program started from a test would
# inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Where it is remembered which code may be run.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="policyloop-tests-")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a browser is slow, whatever it looks at."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables have room, whatever the terminal of who runs the tests."""
    monkeypatch.setenv("COLUMNS", "160")
