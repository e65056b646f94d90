"""The entry point: a user's package that shadows one of ours is named, not stumbled over."""

import subprocess
import sys
from pathlib import Path

import pytest

import policyloop

ROOT = Path(__file__).parents[1]


def python(code, cwd):
    """Run code as a user's script in a folder would, with that folder first on the import path."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(cwd)!r}, {str(ROOT)!r}]\n{code}"],
        cwd=cwd,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("package", policyloop.PACKAGES)
def test_command_line_names_what_shadows_it_in_one_line(tmp_path, package):
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    done = python("import policyloop.__main__; policyloop.__main__.main()", tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and f"{package!r} at {tmp_path / package} shadows" in done.stderr


def test_importing_bridges_beside_a_package_called_simulators_says_so(tmp_path):
    (tmp_path / "simulators.py").touch()
    done = python("import bridges", tmp_path)
    assert "ImportError: 'simulators' at" in done.stderr and "rename it" in done.stderr


def test_without_a_shadow_the_packages_are_our_own(tmp_path):
    assert policyloop.shadowed() is None
    assert python("import bridges, policyloop; print(policyloop.__version__)", tmp_path).returncode == 0


@pytest.mark.parametrize("package", policyloop.PACKAGES)
def test_a_distribution_that_has_overwritten_one_of_ours_is_named(tmp_path, package):
    """As `pip install` of another distribution does, whose package has the same name."""
    site = tmp_path / "site-packages"
    for one in (*policyloop.PACKAGES, "policyloop"):
        (site / one).mkdir(parents=True)
        for file in (ROOT / one).glob("__*.py*"):
            (site / one / file.name).write_bytes(file.read_bytes())
    told = site / "other_tools-2.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: other-tools\nVersion: 2.0\n")
    (told / "top_level.txt").write_text(f"{package}\n")
    code = "import policyloop; print(policyloop.shadowed())"
    assert alone(code, site).stdout == "None\n"
    (site / package / "__init__.py").write_text("what = 'a package of somebody else'\n")
    done = alone("import policyloop.__main__; policyloop.__main__.main()", site)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"{package!r} at {site / package} was overwritten by 'other-tools'" in done.stderr
    (site / package / "__init__.py").unlink()  # as when the other is uninstalled
    assert "was overwritten by" in alone(code, site).stdout


def alone(code, site):
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{code}"],
        cwd=site,
        capture_output=True,
        text=True,
    )


STOPPED = """
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "scenarios.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
import policyloop.__main__
policyloop.__main__.main()
"""


def test_ctrl_c_before_all_is_loaded_is_one_line(tmp_path):
    done = python(STOPPED, tmp_path)
    assert (done.returncode, done.stderr) == (130, "policyloop: stopped before anything was done\n")
