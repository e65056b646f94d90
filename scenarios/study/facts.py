"""What a study tells of its environment and of the packages that ran it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from simulators import Environment


_PACKAGES = ("policyloop", "numpy", "scipy", "scikit-learn")


def describe(environment: Environment) -> dict[str, Any]:
    """What readers of a study must know about its environment: names, units, sense."""
    space = environment.policy_space
    current = environment.current_policy
    return {
        "name": environment.name,
        "labels": list(space.labels),
        "units": list(space.units),
        "groups": list(environment.groups),
        "group_units": list(environment.group_units),
        "objective_unit": environment.objective_unit,
        "sense": environment.sense,
        "finite": bool(space.finite),
        "lives": environment.lives,
        "current_policy": None if current is None else space.resolve(np.asarray(current)[None])[0].tolist(),
        "current_policy_label": environment.current_policy_label,
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a checkout that is not installed
            continue
    return found
