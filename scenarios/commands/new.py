"""The command `policyloop new`: writes a package, or a scenario with its tables, that works, to be edited."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from string import Template
from typing import Annotated

import typer

import policyloop
from scenarios.commands.console import Debug, say
from scenarios.errors import UserError
from scenarios.outputs import whole_folder

new = typer.Typer(help="Write something of your own that works, ready to be edited.", no_args_is_help=True)

FILES = {
    "pyproject": "pyproject.toml",
    "readme": "README.md",
    "scenario": "scenario.toml",
    "init": "{package}/__init__.py",
    "simulator": "{package}/simulator.py",
    "test": "tests/test_{package}.py",
}

COUNTRY = {
    "scenario": "scenario.toml",
    "groups": "groups.csv",
    "contacts": "contacts.csv",
    "observed": "observed.csv",
    "town": "town.toml",
    "households": "households.csv",
    "schools": "schools.csv",
    "workplaces": "workplaces.csv",
    "employment": "employment.csv",
}
STATIONS = {"scenario": "scenario.toml", "live": "live.toml", "stations": "stations.csv"}
NAME = r"[a-z][a-z0-9]*([-_][a-z0-9]+)*"
LETTERS = "cannot be used; accepted: small letters (a-z), digits and hyphens, a letter first, 60 at most"

IMPORTED = (
    "Environment",
    "Outcomes",
    "PolicySpace",
    "Real",
    "Whole",
    "OneOf",
    "LinearConstraint",
)  # by the template


@new.callback()
def _root() -> None:
    pass


@new.command()
def simulator(
    name: Annotated[str, typer.Argument(help="Name of the simulator, such as my-clinics.")],
    folder: Annotated[Path, typer.Option(help="Where its folder goes.")] = Path("."),
    debug: Debug = False,
) -> None:
    """Write the folder NAME with a simulator, its test and a scenario.

    For example:

      policyloop new simulator my-clinics

      policyloop check my-clinics/my_clinics/simulator.py:MyClinics

      policyloop run my-clinics/scenario.toml
    """
    home = write_simulator(name, folder)
    package = name.replace("-", "_")
    say(f"{home} is written. Edit {home / package / 'simulator.py'}, then:")
    say(f"  policyloop check {home / package / 'simulator.py'}:{class_name(name)}")
    say(f"  policyloop run {home / 'scenario.toml'}")


@new.command("own-country")
def own_country(
    name: Annotated[str, typer.Argument(help="Name of the country, such as my-country.")],
    folder: Annotated[Path, typer.Option(help="Where its folder goes.")] = Path("."),
    debug: Debug = False,
) -> None:
    """Write the folder NAME with a scenario of whom to vaccinate in a made-up country, and its tables.

    A second scenario, town.toml, has the same country among persons.

    For example:

      policyloop new own-country my-country

      policyloop check my-country/scenario.toml

      policyloop run my-country/scenario.toml
    """
    home = write_country(name, folder)
    say(f"{home} is written. Put your own tables in place of groups.csv, contacts.csv, observed.csv, then:")
    say(f"  policyloop check {home / 'scenario.toml'}")
    say(f"  policyloop run {home / 'scenario.toml'}")
    say(f"{home / 'town.toml'} is the same among persons, with tables of households, schools and work.")


@new.command("own-stations")
def own_stations(
    name: Annotated[str, typer.Argument(help="Name of the network, such as my-network.")],
    folder: Annotated[Path, typer.Option(help="Where its folder goes.")] = Path("."),
    debug: Debug = False,
) -> None:
    """Write the folder NAME with a table of weather stations, a few of them wrong, and two scenarios of them.

    scenario.toml asks which station feels warmest, on a budget of energy; live.toml has them in a
    weather that moves on.

    For example:

      policyloop new own-stations my-network

      policyloop stations my-network/scenario.toml

      policyloop run my-network/scenario.toml
    """
    home = write_stations(name, folder)
    say(f"{home} is written. Put your own table in place of stations.csv, then:")
    say(f"  policyloop stations {home / 'scenario.toml'}")
    say(f"  policyloop run {home / 'scenario.toml'}")
    say(f"{home / 'live.toml'} has the same stations in a weather that moves on.")


def class_name(name: str) -> str:
    """The class's name of a simulator's: my-clinics, MyClinics."""
    return "".join(part.capitalize() for part in re.split("[-_]", name))


def unusable(name: str) -> str:
    """Why a simulator cannot have a name, "" where it can."""
    import simulators

    package, of_class = name.replace("-", "_"), class_name(name)
    if not re.fullmatch(NAME, name) or len(name) > 60:
        return LETTERS
    if keyword.iskeyword(package) or keyword.iskeyword(of_class):
        return "is a word of the language Python; accepted: any other name"
    if of_class in IMPORTED:
        return f"would call its class {of_class}, a name that it imports; accepted: any other name"
    if name in simulators.names():
        return "is the name of an environment already, see policyloop list; accepted: any other name"
    ours = {*policyloop.PACKAGES, "policyloop", "tests"}
    if package in ours | sys.stdlib_module_names or _installed(name, package):
        return f"is taken: {package} is another package; accepted: any other name"
    return ""


def _installed(name: str, package: str) -> bool:
    """Whether a distribution or a module of this name is there; a mere folder is none."""
    from importlib.metadata import PackageNotFoundError, distribution  # slow to import

    spec = importlib.util.find_spec(package)
    if spec is not None and spec.origin is not None:
        return True
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def write_simulator(name: str, folder: Path) -> Path:
    """Write the package of a simulator, and return its folder."""
    package = name.replace("-", "_")
    refused = unusable(name)
    if refused:
        raise UserError(f"NAME = {name!r} {refused}")
    words = {"name": name, "package": package, "class_name": class_name(name)}
    return _write(name, folder, "simulator", FILES, words)


def write_country(name: str, folder: Path) -> Path:
    """Write the scenario of a country and its tables, and return their folder."""
    return _write_named(name, folder, "own-country", COUNTRY)


def write_stations(name: str, folder: Path) -> Path:
    """Write a table of stations and its scenarios, and return their folder."""
    return _write_named(name, folder, "own-stations", STATIONS)


def _write_named(name: str, folder: Path, template: str, files: Mapping[str, str]) -> Path:
    if not re.fullmatch(NAME, name) or len(name) > 60:
        raise UserError(f"NAME = {name!r} {LETTERS}")
    return _write(name, folder, template, files, {"name": name})


def _write(
    name: str, folder: Path, template: str, files: Mapping[str, str], words: Mapping[str, str]
) -> Path:
    home = folder / name
    if home.exists():
        raise UserError(f"{home} is there already; accepted: a name of which there is no folder yet")
    templates = resources.files("scenarios") / "templates" / template
    with whole_folder(home) as partial:
        for source, place in files.items():
            path = partial / place.format(**words)
            text = Template((templates / f"{source}.template").read_text(encoding="utf-8")).substitute(words)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return home
