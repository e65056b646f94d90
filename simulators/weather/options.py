"""Options that an environment hands on to its parts, told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def split_options(options: Mapping[str, Any], kind: type) -> tuple[Any, Any]:
    """The options that a TypedDict declares, and the others."""
    declared = kind.__annotations__
    mine = {name: value for name, value in options.items() if name in declared}
    return mine, {name: value for name, value in options.items() if name not in declared}
