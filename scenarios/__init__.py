"""Declared experiments: the catalogue, the runner, the store, figures, the report and the command line.

>>> import scenarios
>>> study = scenarios.run(scenarios.load("flu"), out="flu.study.sqlite", jobs=2)  # doctest: +SKIP
>>> study.to_dataframe()  # doctest: +SKIP

Names are imported when first used, so that `policyloop --help` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenarios.catalogue import load, names
    from scenarios.errors import UserError
    from scenarios.runner import run
    from scenarios.schema import Scenario
    from scenarios.study import Study

__all__ = ["Scenario", "Study", "UserError", "load", "names", "run"]

_HOMES = {
    "Scenario": "scenarios.schema",
    "Study": "scenarios.study",
    "UserError": "scenarios.errors",
    "load": "scenarios.catalogue",
    "names": "scenarios.catalogue",
    "run": "scenarios.runner",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
