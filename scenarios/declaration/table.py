"""What every table of a scenario file is: strict, whole, never changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of a scenario file: strict types, no unknown keys, never changed."""

    model_config: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid", frozen=True)


class NotStorable(ValueError):
    """A value that a study file cannot store, below a table of options, and its dotted key there."""

    def __init__(self, key: str, value: object) -> None:
        super().__init__("text, a finite number, true, false, a list or a table")
        self.key: str
        self.value: object
        self.key, self.value = key, value


def plain_options(options: dict[str, Any]) -> dict[str, Any]:
    """A simulator's options as they are; `NotStorable` for what a study file cannot store."""
    for key, value in _entries("", options):
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise NotStorable(key, value) from error
    return options


def _entries(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """All that a value holds, each by its dotted key."""
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _entries(f"{key}.{name}" if key else str(name), below)
    elif isinstance(value, list | tuple):
        for index, below in enumerate(value):
            yield from _entries(f"{key}[{index}]", below)
    else:
        yield key, value
