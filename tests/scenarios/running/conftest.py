"""One small scenario, and the study that it is when nothing comes between."""

import pytest
from studies import FLU

from scenarios import load, run


@pytest.fixture(scope="session")
def flu(tmp_path_factory):
    path = tmp_path_factory.mktemp("flu") / "flu-small.toml"
    path.write_text(FLU)
    return path


@pytest.fixture(scope="session")
def undisturbed(flu):
    return run(load(flu), out=flu.parent / "undisturbed.sqlite")
