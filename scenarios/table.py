"""What the tables of a scenario file have in common."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of a scenario file: strict types, no unknown keys, never changed."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def plain_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return a simulator's options as they are.

    Raises
    ------
    ValueError
        If they hold what a study file cannot store.
    """
    try:
        json.dumps(options, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError("only text, finite numbers, true, false, lists and tables") from error
    return options
