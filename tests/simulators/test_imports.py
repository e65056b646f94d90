import subprocess
import sys
from pathlib import Path

import pytest

import simulators


def modules_after(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
        cwd=Path(simulators.__file__).parents[1],
        check=True,
    )
    return set(done.stdout.split())


def test_importing_simulators_loads_nothing_heavy():
    loaded = modules_after("import simulators; simulators.names()")
    assert not loaded & {"sklearn", "scipy", "pandas", "matplotlib"}


def test_simulating_needs_neither_scikit_learn_nor_the_other_packages():
    loaded = modules_after("import simulators; simulators.make('flu-ode').expected([[0.2] * 5])")
    assert not loaded & {"sklearn", "pandas", "matplotlib", "optimizer", "bridges", "scenarios"}


def test_every_public_name_is_there():
    for name in simulators.__all__:
        assert getattr(simulators, name).__doc__
    assert set(simulators.__all__) <= set(dir(simulators))
    with pytest.raises(AttributeError, match="nothing"):
        _ = simulators.nothing
