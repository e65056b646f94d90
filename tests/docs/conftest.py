"""The programs that make and check the site, as modules."""

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "_site"


@pytest.fixture(scope="session")
def site_module():
    def load(name):
        # By its path: helpers of other tests may bear the same name.
        spec = importlib.util.spec_from_file_location(f"site_{name}", FOLDER / f"{name}.py")
        made = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = made
        spec.loader.exec_module(made)
        return made

    return load
