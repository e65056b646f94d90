"""Scenarios by name (the catalogue, part of the package) or by path (a user's own file)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from policyloop.messages import on_one_line, unknown_name
from scenarios.declaration.parse import parse
from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError


def names() -> list[str]:
    """The names of the catalogue's scenarios, sorted."""
    folder = resources.files("scenarios") / "catalogue"
    return sorted(item.name[: -len(".toml")] for item in folder.iterdir() if item.name.endswith(".toml"))


def load(name_or_path: str | Path, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """Read and validate a scenario.

    Parameters
    ----------
    name_or_path : str or Path
        A name of the catalogue, or a path to a `.toml` file. A plain name always means the
        catalogue; write `./name.toml` for a file.
    overrides : mapping, optional
        Values for `rounds`, `trials`, `seed`, `samples` and `agents` (a list of names) in place
        of the file's; `None` keeps the file's.

    Raises
    ------
    UserError
        Unknown name, unreadable file, or a mistake in it: one line that names file, key, value
        and what is accepted. The names of the environment and the agents, and the environment's
        options, are checked by `run`, before anything is written.
    """
    text, source = read(name_or_path)
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise UserError(
            f"{source}: not valid TOML: lists or tables in one another too deep to read"
        ) from None
    except ValueError as error:  # also of a whole number of thousands of digits
        raise UserError(f"{source}: not valid TOML: {on_one_line(error)}") from error
    return parse(data, source, overrides)


def read(name_or_path: str | Path) -> tuple[str, str]:
    """A scenario's text and the name of its file for messages."""
    given = str(name_or_path)
    if given in names():
        item = resources.files("scenarios") / "catalogue" / f"{given}.toml"
        return item.read_text(encoding="utf-8"), f"{given}.toml"
    path = Path(given)
    if not given.endswith(".toml") and len(path.parts) <= 1:
        raise UserError(unknown_name("scenario", given, names()) + ", or the path of a .toml file")
    try:
        return path.read_text(encoding="utf-8-sig"), given  # Windows editors put a mark first
    except IsADirectoryError:
        raise UserError(f"{given}: is a folder; give the name of a scenario file in it") from None
    except FileNotFoundError:
        raise UserError(f"{given}: there is no such scenario file") from None
    except UnicodeDecodeError:
        raise UserError(f"{given}: not a text file in UTF-8, so not a scenario") from None
    except OSError as error:
        raise UserError(
            f"{given}: cannot be read as a scenario file ({on_one_line(error.strerror or error)})"
        ) from error
