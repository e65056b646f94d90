"""Where the files are that a scenario names: beside the scenario, wherever it is run from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulators.targets import absolute, is_target


def placed(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return a scenario's data with whole paths in place of relative ones, so that a study can be resumed.

    A relative path begins at the scenario's file. Paths are targets (`file.py:Class`), in the names of the
    environment and of agents and among the environment's options, and its option `folder`.

    Parameters
    ----------
    data : mapping
        The parsed TOML, valid or not.
    source : str
        The scenario's file.
    """
    folder = Path(source).parent
    found = dict(data)
    table = data.get("environment")
    if isinstance(table, Mapping):
        found["environment"] = dict(table)
        if "name" in table:
            found["environment"]["name"] = _placed(table["name"], folder)
        options = table.get("options")
        if isinstance(options, Mapping):
            options = {key: _placed(value, folder) for key, value in options.items()}
            if isinstance(options.get("folder"), str):
                options["folder"] = str((folder / options["folder"]).resolve())
            found["environment"]["options"] = options
    if isinstance(data.get("agents"), list):
        found["agents"] = [_agent(entry, folder) for entry in data["agents"]]
    return found


def _agent(entry: Any, folder: Path) -> Any:
    if isinstance(entry, Mapping) and "name" in entry:
        return {**entry, "name": _placed(entry["name"], folder)}
    return _placed(entry, folder)


def _placed(value: Any, folder: Path) -> Any:
    if isinstance(value, Mapping):
        return {key: _placed(below, folder) for key, below in value.items()}
    return absolute(value, folder) if is_target(value) else value
