"""What a run depends on outside its scenario, by which a study knows that it goes on in the same world.

Agents of another version ask for other policies; so may other packages, another machine, a data file or a
model that has changed. A run that would go on with a study names such changes, and refuses them until told
that they are accepted.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from optimizer import AGENT_VERSION
from scenarios.declaration.code import code_of, data_of
from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.study.versions import versions

PACKAGES = ("numpy", "scipy", "scikit-learn", "networkx", "mesa")


def inputs_of(scenario: Scenario) -> dict[str, Any]:
    """All of them now, as plain data."""
    installed = versions(*PACKAGES)
    code = {path: sha for one in code_of(scenario) for path, sha in one.files.items()}
    return {
        "agents": AGENT_VERSION,
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: installed[name] for name in PACKAGES if name in installed},
        "files": {**data_of(scenario), **code},
    }


def input_changes(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In words what has changed since a run with stored inputs; {}: a run from before they were stored."""
    if not stored:
        return ["it was written by agents of an earlier version"]
    found = []
    if stored["agents"] != now["agents"]:
        found.append(f"agents of version {stored['agents']}, now {now['agents']}")
    if stored["platform"] != now["platform"]:
        found.append(f"run on {stored['platform']}, now on {now['platform']}")
    for name, version in stored["packages"].items():
        if now["packages"].get(name, version) != version:
            found.append(f"{name} {version}, now {now['packages'][name]}")
    for path, sha in stored["files"].items():
        if now["files"].get(path) != sha:
            found.append(f"{path} has changed" if path in now["files"] else f"{path} is gone")
    return found


def refuse_input_changes(found: list[str], where: str) -> None:
    """Refuse to go on with a study where something has changed; UserError, one line."""
    if found:
        raise UserError(
            f"{where}: cannot go on as if it had never stopped: {'; '.join(found)}. Give --accept-changes to "
            "go on all the same (the study will say so), or another --out to run it anew"
        )
