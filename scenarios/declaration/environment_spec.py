"""The `[environment]` table of a scenario file: the simulator, limits of its steps, how often they repeat."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from scenarios.declaration.table import Table, plain_options

STANDARD_ERROR = 'a number above 0, or a table of them by group, or of the "objective"'


def _standard_error(value: object) -> object:
    found = list(value.values()) if isinstance(value, Mapping) else [value]
    for one in found:
        number = isinstance(one, (int, float)) and not isinstance(one, bool)
        if not (number and 0 < float(one) < math.inf):  # type: ignore[arg-type]
            raise ValueError(STANDARD_ERROR)
    if not found:
        raise ValueError(STANDARD_ERROR)
    return value


StandardError = Annotated[float | dict[str, float], BeforeValidator(_standard_error)]


class EnvironmentSpec(Table):
    """The `[environment]` table: which simulator, and its options.

    Attributes
    ----------
    name : str
        A name of `simulators.names()`, or `package.module:Class` or `folder/file.py:Class`.
    options : dict
        Passed to `simulators.make`, which checks them.
    new_world_each_trial : bool, default False
        Draw a new world (`seed=`) for each trial instead of the same world for all.
    needs_data : str, default ""
        What the file is that the option `data` has to name, where the scenario cannot name it itself.
    step_seconds : float, optional
        Time limit of a step. A step that passes it is stopped, and its round has failed.
    step_megabytes : int, optional
        Memory limit of a step, in MiB. With either limit steps run in child processes.
    replicates : int, optional
        How often a round repeats its step, of which it observes the mean (`bridges.replication`).
    standard_error : float or table, optional
        In its place, how sure a round's mean has to be: the step is repeated until the standard error of
        every group is no larger, or those of the groups that a table names, or of the "objective".
    most_replicates : int, default 100
        How often it is repeated at most, where a standard error is asked for.
    """

    name: str = Field(description="the name of an environment")
    options: dict[str, Any] = Field(default_factory=dict, description="a table of options")
    new_world_each_trial: bool = Field(default=False, description="true or false")
    needs_data: str = Field(default="", description="a line of text: what the file of --data is")
    step_seconds: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="a number of seconds above 0"
    )
    step_megabytes: int | None = Field(default=None, ge=1, description="a whole number of MiB, 1 or more")

    replicates: int | None = Field(
        default=None, ge=1, le=10**4, description="a whole number, 1 or more, at most 10,000"
    )
    standard_error: StandardError | None = Field(default=None, description=STANDARD_ERROR)
    most_replicates: int = Field(
        default=100, ge=2, le=10**4, description="a whole number, 2 or more, at most 10,000"
    )

    @model_validator(mode="after")
    def _one_meaning(self) -> Self:
        if self.replicates is not None and self.standard_error is not None:
            raise ValueError("replicates or standard_error, and not both")
        if self.repeated and self.options.get("replicates", 1) != 1:
            raise ValueError("replicates once: options.replicates has the same meaning")
        if self.standard_error is None and self.most_replicates != 100:
            raise ValueError("most_replicates is accepted only with standard_error")
        return self

    @property
    def repeated(self) -> bool:
        """Whether a round repeats its step."""
        return (self.replicates or 1) > 1 or self.standard_error is not None

    @property
    def limited(self) -> bool:
        """Whether steps have a limit, and so run in child processes."""
        return self.step_seconds is not None or self.step_megabytes is not None

    _plain = field_validator("options")(plain_options)
