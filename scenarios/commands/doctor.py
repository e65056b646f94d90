"""The command `policyloop doctor`: whether an installation works, and what it stands on."""

from __future__ import annotations

import enum
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from policyloop.messages import on_one_line
from scenarios.commands.console import SIMULATOR, Debug, say

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "matplotlib", "mesa", "pydantic", "typer")
EXTRAS = {
    "bridges": ("cmaes", "gymnasium", "optuna", "umbridge"),
    "page": ("aiohttp",),
    "dask": ("distributed",),
}
"""What each extra imports."""

SICK_DAYS = (0.68798525, 1.19156366, 0.23204514, 0.03277146, 0.07986339)
"""Sick days a person of `flu-ode`, by group, where nobody is vaccinated: what it gave on x86_64 Linux."""


class Format(enum.StrEnum):
    """How findings are printed."""

    table = "table"
    json = "json"


class Finding(NamedTuple):
    """One thing that was looked at: what was found, and whether that is as it should be."""

    name: str
    found: str
    good: bool


def doctor(
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.table,
    debug: Debug = False,
) -> int:
    """Tell what an installation stands on, and test it against known numbers.

    Versions, BLAS and its threads, processors, folders that can be written to, extras; then a Gaussian
    process against its closed form, a season of flu against stored numbers, and one question to an agent.
    Takes some seconds. The exit code is 1 where something is not as it should be.

    For example:

      policyloop doctor

      policyloop doctor --format json
    """
    findings = examine()
    if format is Format.json:
        say(json.dumps([finding._asdict() for finding in findings], indent=2))
    else:
        for finding in findings:
            say(f"{'ok ' if finding.good else 'BAD'}  {finding.name}: {finding.found}")
        bad = sum(not finding.good for finding in findings)
        say(f"{bad} to mend" if bad else "all is well")
    return 0 if all(finding.good for finding in findings) else SIMULATOR


def examine() -> list[Finding]:
    """All findings, in the order in which they are told; what raises is a finding too."""
    return [
        Finding("policyloop", _version("policyloop") or "a checkout that is not installed", True),
        Finding("Python", f"{platform.python_version()} at {sys.executable}", sys.version_info >= (3, 11)),
        Finding("system", f"{platform.system()} {platform.machine()}, {_processors()} processors", True),
        *(_package(name) for name in PACKAGES),
        *(_extra(name, modules) for name, modules in EXTRAS.items()),
        _tested("threads", libraries),
        _writable("this folder", Path.cwd()),
        _writable("folder of temporary files", Path(tempfile.gettempdir())),
        _tested("folder of matplotlib", drawing),
        _tested("Gaussian process", gaussian_process),
        _tested("a season of flu", season),
        _tested("an agent", agent),
    ]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _package(name: str) -> Finding:
    found, wanted = _version(name), _asked(name)
    if found is None:
        return Finding(
            name, f"missing; {wanted or 'any version'} is needed: pip install policyloop again", False
        )
    from packaging.specifiers import SpecifierSet

    good = SpecifierSet(wanted).contains(found, prereleases=True)
    return Finding(name, found if good else f"{found}; {wanted} is needed", good)


def _asked(name: str) -> str:
    """The versions of a package that policyloop accepts, "" where it does not say."""
    from packaging.requirements import Requirement

    try:
        asked = [Requirement(one) for one in requires("policyloop") or []]
    except PackageNotFoundError:
        return ""
    return next((str(one.specifier) for one in asked if one.name == name and one.marker is None), "")


def _extra(name: str, modules: tuple[str, ...]) -> Finding:
    missing = [module for module in modules if find_spec(module) is None]
    lacks = (
        f"not installed ({', '.join(missing)} missing): pip install 'policyloop[{name}]' where you need it"
    )
    return Finding(f"extra [{name}]", lacks if missing else "installed", True)


def libraries() -> tuple[str, bool]:
    """BLAS and other libraries with threads of their own; nothing of them is wrong."""
    import numpy as np  # noqa: F401 - what is not loaded is not found
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    told = (
        f"{one['internal_api']} {one['version'] or ''}, {one['num_threads']} threads"
        for one in threadpool_info()
    )
    return "; ".join(dict.fromkeys(told)) or "no library with threads of its own", True


def drawing() -> tuple[str, bool]:
    """Where matplotlib keeps its fonts, which it looks for anew each time where it cannot write."""
    import matplotlib

    _, found, good = _writable("", Path(matplotlib.get_configdir()))
    return found, good


def _writable(name: str, place: Path) -> Finding:
    try:
        with tempfile.NamedTemporaryFile(dir=place):
            pass
    except OSError as error:
        return Finding(name, f"{place} cannot be written to ({error.strerror})", False)
    return Finding(name, f"{place} can be written to", True)


def _tested(name: str, test: Callable[[], tuple[str, bool]]) -> Finding:
    try:
        return Finding(name, *test())
    except Exception as error:  # whatever an installation may do wrong is to be told, with all the rest
        return Finding(name, f"{type(error).__name__}: {on_one_line(error)}", False)


def _compared(found: Any, expected: Any, tolerance: float) -> tuple[str, bool]:
    import numpy as np

    off = float(np.max(np.abs(np.asarray(found) - np.asarray(expected))))
    return f"off by {off:.1e} from what is expected; accepted: {tolerance:.0e}", off <= tolerance


def gaussian_process() -> tuple[str, bool]:
    """Mean and variance after one observation, whose closed form is k y / (1 + s) and 1 - k^2 / (1 + s)."""
    import numpy as np
    from sklearn.gaussian_process.kernels import RBF

    from optimizer import GaussianProcess

    model = GaussianProcess(RBF(1.0), noise_variance=0.25).observe([[0.0]], [2.0])
    mean, variance = model.predict([[1.0]])
    k = np.exp(-0.5)
    return _compared([mean[0], variance[0]], [k * 2.0 / 1.25, 1 - k**2 / 1.25], 1e-12)


def season() -> tuple[str, bool]:
    """A season of flu among unvaccinated people, against stored numbers."""
    import simulators

    environment = simulators.make("flu-ode")
    nobody = [[0.0] * len(environment.policy_space.labels)]
    return _compared(environment.expected(nobody)[0], SICK_DAYS, 1e-5)


def agent() -> tuple[str, bool]:
    """One policy that an agent asks for, which has to be one of the space."""
    import numpy as np

    import bridges
    import simulators

    environment = simulators.make("flu-ode")
    policy = np.asarray(bridges.make_agent("d-gpucb", environment).ask())[0]
    environment.policy_space.check(policy)
    return f"asks for {', '.join(f'{entry:.3f}' for entry in policy)}", True
