"""What of a scenario is code: what a run of it would import, start or connect to, besides policyloop itself.

A scenario or study file from elsewhere is data as long as it is only read. To run it is to run what it names:
files and modules of Python (`file.py:Class`, `package.module:Class`), and whatever the bridges to foreign
simulators start. What has been accepted is known again by the content of all of it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sysconfig
from collections.abc import Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NamedTuple

from optimizer.composition.ready import READY
from scenarios.declaration.schema import Scenario
from simulators.contract.registry import plugins
from simulators.contract.targets import is_target

BRIDGES = ("command", "function", "gymnasium", "mesa", "um-bridge")
"""The environments whose options name what is started."""
ENSEMBLE = "ensemble"
"""The environment whose options name other environments."""


class Code(NamedTuple):
    """What a run would run.

    Attributes
    ----------
    named : str
        As the scenario names it.
    files : dict of str
        SHA-256 of the content, by path; of a Python file also of its neighbours that it imports.
    """

    named: str
    files: dict[str, str]


def code_of(scenario: Scenario) -> list[Code]:
    """All that a run of a scenario would run besides policyloop and installed plug-ins."""
    brought = [scenario.prior.family]
    for agent in scenario.agents:
        brought += [agent.name, agent.acquisition]
    found = [_target(text) for text in brought if is_target(text)]
    for name, options in _made(scenario.environment.name, scenario.environment.options):
        if is_target(name):
            found.append(_target(name))
        if name in BRIDGES:
            found.append(_started(name, options))
    limits = [limit.function for limit in scenario.limits if limit.function is not None]
    named = [] if scenario.objective.partition(":")[0] in READY else [scenario.objective]
    found += [_target(text) for text in [*named, *limits] if is_target(text)]
    for options in _options(scenario):
        found += [_target(text) for text in _texts(options) if _may_name_code(text)]
    return list({one.named: one for one in found}.values())


def _made(name: str, options: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """An environment by name and options, and all that an ensemble may be made of, however deep."""
    yield name, options
    if name != ENSEMBLE:
        return
    inner: dict[str, list[Any]] = {}  # what any member may be given
    for part in [*_each(options.get("options")), *_each(options.get("vary"))]:
        for key, value in part.items() if isinstance(part, Mapping) else ():
            inner.setdefault(key, []).append(value)
    for of in _each(options.get("of")):
        if isinstance(of, str):
            yield from _made(of, inner)


def _each(value: Any) -> Iterator[Any]:
    """A value, or all that lists in one another hold."""
    if isinstance(value, list | tuple):
        for below in value:
            yield from _each(below)
    else:
        yield value


def data_of(scenario: Scenario) -> dict[str, str]:
    """SHA-256 of every file that the options of a scenario name, by path; of a folder, of all its files."""
    found = files_named(scenario.continue_from) if scenario.continue_from else {}
    for options in _options(scenario):
        # Where a program runs, its own results come and go.
        for text in _texts({key: value for key, value in options.items() if key != "folder"}):
            found |= files_named(text)
    return found


def _options(scenario: Scenario) -> list[Mapping[str, Any]]:
    mean = scenario.prior.mean_from
    return [scenario.environment.options, {} if mean is None else mean.options]


def _may_name_code(text: str) -> bool:
    """Whether `load_target` might import something for a text; not "12:00", say, or an address."""
    place, _, attribute = text.rpartition(":")
    module = place and not any(one.isspace() or one == "/" for one in place)
    return attribute.isidentifier() and bool(module or place.endswith(".py"))


def is_own(scenario: Scenario) -> bool:
    """Whether a scenario's environment is one of policyloop's own, or of the program's that imports it.

    Only such a one is made by who reads a study: nothing that somebody's file names is imported by it.
    """
    return scenario.environment.name not in plugins() and not code_of(scenario)


def digest(code: list[Code]) -> str:
    """One name for the content of code."""
    return hashlib.sha256(json.dumps(sorted(code), sort_keys=True).encode()).hexdigest()


def _started(name: str, options: Mapping[str, Any]) -> Code:
    """What a bridge starts, told in words: its options, and the files that they name."""
    words = " ".join(text for text in _texts(options.get("command", options)) if not _may_name_code(text))
    folder = options.get("folder")
    files: dict[str, str] = {}
    for text in _texts({key: value for key, value in options.items() if key != "folder"}):
        files |= files_named(text) or (
            files_named(str(Path(folder, text))) if isinstance(folder, str) else {}
        )
    return Code(f"{name}: {words}" if words else name, files)


def _texts(value: Any) -> Iterator[str]:
    """Every text that a value holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for below in value.values():
            yield from _texts(below)
    elif isinstance(value, list | tuple):
        for below in value:
            yield from _texts(below)


def _target(text: str) -> Code:
    place = text.rpartition(":")[0]
    path = Path(place) if place.endswith(".py") else _module_file(place)
    return Code(text, {} if path is None else python_files(path))


INSTALLED = tuple({Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib")})
"""Where installed packages lie, whose versions say enough of what they import from each other."""


def python_files(path: Path) -> dict[str, str]:
    """SHA-256 by path of a Python file, and of the neighbours that it imports, and theirs.

    Of an installed module only its own file.
    """
    found: dict[str, str] = {}
    if any(path.is_relative_to(folder) for folder in INSTALLED):
        return files_named(str(path))
    waiting = [path]
    while waiting:
        one = waiting.pop()
        if str(one) in found or not one.is_file():
            continue
        content = one.read_bytes()
        found[str(one)] = hashlib.sha256(content).hexdigest()
        for name in _imported(content):
            first = name.partition(".")[0]
            beside = path.parent / first
            waiting += [beside.with_suffix(".py"), *sorted(beside.rglob("*.py"))]
    return found


def _imported(content: bytes) -> set[str]:
    """The modules that Python text imports; none where it is no Python."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module} if node.module else {alias.name for alias in node.names}
    return found


def _module_file(module: str) -> Path | None:
    """The file of a module, found without importing anything; None where there is none."""
    first, *rest = module.split(".")
    try:
        spec = PathFinder.find_spec(first)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin else None
    for folder in spec.submodule_search_locations or ():
        place = Path(folder, *rest)
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
    return None


def files_named(text: str) -> dict[str, str]:
    """SHA-256 by path of the file that a text names, or of all files of a folder; {} where it names none."""
    try:
        path = Path(text)
        if path.is_file():
            with path.open("rb") as file:
                return {str(path): hashlib.file_digest(file, "sha256").hexdigest()}
        if path.is_absolute() and path.is_dir():
            return {
                key: value
                for one in sorted(path.iterdir())
                if one.is_file()
                for key, value in files_named(str(one)).items()
            }
    except (OSError, ValueError):  # no name of a file
        pass
    return {}
