"""Reads a scenario's data: what the command line puts over it, whole paths, mistakes in one line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from policyloop.messages import did_you_mean
from policyloop.plain_text import for_terminal
from scenarios.declaration.environment_spec import EnvironmentSpec
from scenarios.declaration.schema import (
    AgentSpec,
    ExplorationSpec,
    MeanSpec,
    PriorSpec,
    Scenario,
)
from scenarios.declaration.table import NotStorable
from scenarios.declaration.weights_file import read_weights
from scenarios.errors import UserError
from simulators.contract.targets import absolute, is_target

_ENSEMBLE = ("objective", "weights", "pick", "costs", "members", "draw_seed")
"""Keys of `[ensemble]` that are no options of the environment; see `bridges.EnsembleEnvironment`."""

FILES = (
    *("groups", "contacts", "calibrate"),
    *("household_sizes", "persons_by_age", "schools", "workplaces", "employment"),
)
"""Options of environments that may name files of tables."""
TABLES = (".csv", ".tsv", ".txt", ".xlsx", ".gz")
"""How the names of such files end."""

READERS = ("weather", "weather-live")
"""Environments whose option `data` is a file, whatever its name."""


def placed(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """A scenario's data, valid or not, with whole paths in place of relative ones.

    So a study can be resumed from anywhere. A relative path begins at the scenario's file, `source`. Paths
    are targets (`file.py:Class`), in the names of the environment, of agents, of their acquisitions and of
    the kernel family, and among the environment's options, its option `folder`, the tables of people's
    data that its options name (`FILES`), and what `READERS` read. Weights in a file are read here: the study
    holds them.
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
            paths = ("folder", "data") if table.get("name") in READERS else ("folder",)
            for key in paths:
                if isinstance(options.get(key), str):
                    options[key] = str((folder / options[key]).resolve())
            found["environment"]["options"] = _with_files(options, folder)
    if isinstance(data.get("agents"), list):
        found["agents"] = [_agent(entry, folder) for entry in data["agents"]]
    prior = data.get("prior")
    if isinstance(prior, Mapping) and "family" in prior:
        found["prior"] = {**prior, "family": _placed(prior["family"], folder)}
    if "objective" in data:
        found["objective"] = _placed(data["objective"], folder)
    if isinstance(data.get("continue_from"), str) and data["continue_from"]:
        found["continue_from"] = str((folder / data["continue_from"]).resolve())
    if isinstance(data.get("weights"), str):
        found["weights"] = read_weights(folder / data["weights"])
    if isinstance(data.get("limits"), list):
        found["limits"] = [_placed(entry, folder) for entry in data["limits"]]
    return found


def _with_files(options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Options with whole paths of the files of `FILES`; those of an ensemble's members too."""
    found = dict(options)
    for key, value in options.items():
        if key in FILES:
            found[key] = _whole_paths(value, folder)
        elif key in ("options", "vary") and isinstance(value, Mapping):
            found[key] = _with_files(value, folder)
    return found


def _whole_paths(value: Any, folder: Path) -> Any:
    if isinstance(value, Mapping):
        return {key: _whole_paths(below, folder) for key, below in value.items()}
    if isinstance(value, list):
        return [_whole_paths(below, folder) for below in value]
    if isinstance(value, str) and Path(value).suffix.lower() in TABLES:
        return str((folder / value).resolve())
    return value


def _agent(entry: Any, folder: Path) -> Any:
    if isinstance(entry, Mapping):
        return {
            **entry,
            **{key: _placed(entry[key], folder) for key in ("name", "acquisition") if key in entry},
        }
    return _placed(entry, folder)


def _placed(value: Any, folder: Path) -> Any:
    if isinstance(value, Mapping):
        return {key: _placed(below, folder) for key, below in value.items()}
    return absolute(value, folder) if is_target(value) else value


def parse(data: Mapping[str, Any], source: str, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario of a file's content, with values from the command line put over it.

    UserError, one line, names the file, the key, the value and what is accepted.

    Parameters
    ----------
    data : mapping
        The parsed TOML.
    source : str
        The file's name, for messages.
    overrides : mapping, optional
        `rounds`, `trials`, `seed`, `batch`, `samples`, `data` (a file, the environment's option of that
        name), `step-timeout` (its `step_seconds`), `continue-from` (a study file) and `agents` (a list of
        labels of the file, or of agents' names).
    """
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    merged = {**_spread(data, source), **given}
    if "samples" in given:
        prior = data.get("prior", {})
        samples = {"source": "samples", "samples": merged.pop("samples")}
        merged["prior"] = {**prior, **samples} if isinstance(prior, Mapping) else prior
    if "continue-from" in given:
        merged["continue_from"] = merged.pop("continue-from")
    if "data" in given:
        file, table = merged.pop("data"), data.get("environment")
        if isinstance(table, Mapping) and isinstance(table.get("options", {}), Mapping):
            merged["environment"] = {**table, "options": {**table.get("options", {}), "data": file}}
    if "step-timeout" in given:
        seconds, table = merged.pop("step-timeout"), merged.get("environment")
        if isinstance(table, Mapping):
            merged["environment"] = {**table, "step_seconds": seconds}
    if "agents" in given:
        merged["agents"] = [_declared(data, label) for label in given["agents"]]
    try:
        return Scenario.of(placed(merged, source), source)
    except ValidationError as error:
        words = for_terminal(describe(error, source, given))
        raise UserError(words.replace("\n", "\\n")) from error  # of a key: one line, whatever its name


def _spread(data: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    """The data of a scenario, its `[ensemble]` table as the environment "ensemble" that it stands for."""
    table, environment = data.get("ensemble"), data.get("environment")
    if table is None or not isinstance(environment, Mapping):
        return data
    if not isinstance(table, Mapping):
        raise UserError(f"{source}: ensemble; accepted: a table of options, each with a list of values")
    own = {key: value for key, value in table.items() if key in _ENSEMBLE}
    vary = {key: value for key, value in table.items() if key not in _ENSEMBLE}
    options = {"of": environment.get("name"), "vary": vary, "options": environment.get("options", {}), **own}
    spread = {**environment, "name": "ensemble", "options": options}
    return {key: value for key, value in data.items() if key != "ensemble"} | {"environment": spread}


def _declared(data: Mapping[str, Any], label: str) -> Any:
    """The file's own entry for an agent's label, so that its settings hold; else the name alone."""
    entries = data.get("agents")
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, Mapping) and label in (
            entry.get("label") or entry.get("name"),
            entry.get("label"),
        ):
            return entry
    return label


def describe(error: ValidationError, source: str, overrides: Mapping[str, Any]) -> str:
    """One line about the first error of a validation, and how many there are besides."""
    # A mistyped key often makes another one "missing": the mistyped one is the better news.
    order = {"extra_forbidden": 0, "missing": 2}
    first = min(error.errors(), key=lambda found: order.get(found["type"], 1))
    path = list(first["loc"])
    where = source
    key = _OPTIONS.get(tuple(path), path[0] if path else "")
    if key in overrides:
        where = "command line"
        shown = f"--{key}"
    else:
        shown = _dotted(path)
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    table, field = _field(path)
    if first["type"] == "extra_forbidden":
        keys = list(table.model_fields)
        problem = f"unknown key{did_you_mean(path[-1], keys)} (accepted: {', '.join(keys)})"
        return f"{where}: {shown} = {_shown(first['input'])}: {problem}{more}"
    accepted = field or "a scenario table"
    if first["type"] == "value_error":
        fault = first["ctx"]["error"]
        accepted = str(fault)
        if isinstance(fault, NotStorable):
            return f"{where}: {shown}.{fault.key} = {fault.value}; accepted: {accepted}{more}"
    if first["type"] == "missing":
        return f"{where}: {shown} is missing; accepted: {accepted}{more}"
    named = isinstance(first["input"], str) and first["type"] in ("literal_error", "value_error")
    hint = did_you_mean(first["input"], _QUOTED.findall(accepted)) if named else ""
    return f"{where}: {shown} = {_shown(first['input'])}{hint}; accepted: {accepted}{more}"


def _field(path: list[int | str]) -> tuple[type[BaseModel], str]:
    """The table that a location lies in, and what its last field accepts."""
    table: type[BaseModel] = Scenario
    accepted = ""
    for step in path:
        if not isinstance(step, str) or step not in table.model_fields:
            continue
        accepted = table.model_fields[step].description or ""
        below = _TABLES.get(step)
        if below is not None and step != path[-1]:
            table = below
    if path and isinstance(path[-1], int):
        accepted = "the name of an agent, or a table with a name"
    return table, accepted


_OPTIONS: dict[tuple[int | str, ...], str] = {
    ("prior", "samples"): "samples",
    ("environment", "step_seconds"): "step-timeout",
}
_QUOTED = re.compile(r'"([^"]+)"')
_TABLES: dict[str, type[BaseModel]] = {
    "environment": EnvironmentSpec,
    "prior": PriorSpec,
    "mean_from": MeanSpec,
    "exploration": ExplorationSpec,
    "agents": AgentSpec,
}


def _dotted(path: list[int | str]) -> str:
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step not in ("float", "literal['auto']"):
            text += f".{step}" if text else step
    return text or "the file"


def _shown(value: object, limit: int = 60) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
