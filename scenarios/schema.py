"""The scenario file: what it may hold, and one-line messages about what it must not."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from scenarios.errors import UserError, nearest
from scenarios.places import placed
from scenarios.prior_spec import KERNEL, MeanSpec, PriorSpec
from scenarios.table import Table, plain_options

Propagation = Literal["default", "bound", "delta", "sampled"]
BETA = '"auto" or a number above 0'
PROPAGATION = 'one of "default", "bound", "delta", "sampled"'


def _beta(value: object) -> object:
    # A union would report two errors; one validator keeps the message to one line.
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value == "auto" or (number and 0 < float(value) < math.inf):  # type: ignore[arg-type]
        return value
    raise ValueError(BETA)


Beta = Annotated[float | Literal["auto"], BeforeValidator(_beta)]


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
    """

    name: str = Field(description="the name of an environment")
    options: dict[str, Any] = Field(default_factory=dict, description="a table of options")
    new_world_each_trial: bool = Field(default=False, description="true or false")
    needs_data: str = Field(default="", description="a line of text: what the file of --data is")
    step_seconds: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="a number of seconds above 0"
    )
    step_megabytes: int | None = Field(default=None, ge=1, description="a whole number of MiB, 1 or more")

    @property
    def limited(self) -> bool:
        """Whether steps have a limit, and so run in child processes."""
        return self.step_seconds is not None or self.step_megabytes is not None

    _plain = field_validator("options")(plain_options)


class ExplorationSpec(Table):
    """The `[exploration]` table: the schedule of beta_t, and how a posterior passes through a general g.

    Attributes
    ----------
    delta : float, default 0.1
        The bound on regret holds with probability 1 - delta.
    scale_down : float, default 5
        Divides beta_t (not its root).
    beta : "auto" or float, default "auto"
        The paper's finite or continuous beta_t, by the policy space, or a constant.
    propagation : {"default", "bound", "delta", "sampled"}, default "default"
        How agents with decomposed feedback carry the groups' posterior through a composition that is not
        linear (Algorithm 3, line 4). Without meaning for a linear one.
    """

    delta: float = Field(default=0.1, gt=0, lt=1, description="a number between 0 and 1, both excluded")
    scale_down: float = Field(default=5.0, gt=0, allow_inf_nan=False, description="a number above 0")
    beta: Beta = Field(default="auto", description=BETA)
    propagation: Propagation = Field(default="default", description=PROPAGATION)


class AgentSpec(Table):
    """One entry of `agents`: a name, or a table that changes settings for this agent alone.

    Attributes
    ----------
    name : str
        A name of `optimizer.agent_names()`, or `package.module:Class` or `folder/file.py:Class`.
    label : str
        The name in tables and figures, unique in the scenario; default the agent's name, or its class's.
    delta, scale_down, beta, propagation, kernel
        As in `[exploration]` and `[prior]`, for this agent alone.
    """

    name: str = Field(description="the name of an agent")
    label: str = Field(
        pattern=r"^[^\x00-\x1f,]{1,60}$",
        description="1 to 60 characters on one line, without a comma",
    )
    delta: float | None = Field(
        default=None, gt=0, lt=1, description="a number between 0 and 1, both excluded"
    )
    scale_down: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="a number above 0")
    beta: Beta | None = Field(default=None, description=BETA)
    propagation: Propagation | None = Field(default=None, description=PROPAGATION)
    kernel: Literal["composed", "own"] | None = Field(default=None, description=KERNEL)

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: object) -> object:
        table = {"name": value} if isinstance(value, str) else value
        if isinstance(table, Mapping) and isinstance(table.get("name"), str):
            return {"label": table["name"].rpartition(":")[2], **table}
        return table


class Scenario(Table):
    """A declared experiment: an environment, the agents that try it, for how long and how often.

    Attributes
    ----------
    name, title, description : str
        The catalogue's name, one line, and some more lines.
    rounds, trials : int
        Rounds a trial, trials an agent.
    seed : int, default 0
        The root of every random stream.
    batch : int, default 1
        Rounds for which an agent is asked at once, before it is told any of them.
    held_out : int, default 20
        Steps on seeds of their own by which a recommendation is judged, where regret is unknown.
    stop_at_failure : bool, default False
        End the run at the first round that fails; otherwise a failed round is marked as such, and no more.
    environment : EnvironmentSpec
    prior : PriorSpec
    exploration : ExplorationSpec
    agents : list of AgentSpec
    """

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="1 to 64 letters (a-z, A-Z), digits, '-', '_' or '.', not starting with a sign",
    )
    title: str = Field(default="", description="a line of text")
    description: str = Field(default="", description="text")
    rounds: int = Field(ge=1, le=10**6, description="a whole number, 1 or more, at most 1,000,000")
    trials: int = Field(ge=1, le=10**5, description="a whole number, 1 or more, at most 100,000")
    seed: int = Field(default=0, ge=0, description="a whole number, 0 or more")
    batch: int = Field(default=1, ge=1, le=1000, description="a whole number, 1 or more, at most 1,000")
    held_out: int = Field(default=20, ge=0, le=10**5, description="a whole number, 0 or more")
    stop_at_failure: bool = Field(default=False, description="true or false")
    environment: EnvironmentSpec = Field(description="a table with a name and options")
    prior: PriorSpec = Field(default_factory=PriorSpec, description="a table")
    exploration: ExplorationSpec = Field(default_factory=ExplorationSpec, description="a table")
    agents: list[AgentSpec] = Field(min_length=1, description="a list of names, or [[agents]] tables")

    _source: str = PrivateAttr(default="scenario")

    @field_validator("agents")
    @classmethod
    def _labels_differ(cls, agents: list[AgentSpec]) -> list[AgentSpec]:
        labels = [agent.label for agent in agents]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise ValueError(f"every agent once, or with its own label ({', '.join(twice)} appears twice)")
        return agents

    @property
    def source(self) -> str:
        """Where the scenario came from (a file name), for messages."""
        return self._source

    @property
    def labels(self) -> list[str]:
        """The agents' labels, in order."""
        return [agent.label for agent in self.agents]

    def agent(self, label: str) -> AgentSpec:
        """Return the agent with this label; KeyError if there is none."""
        for agent in self.agents:
            if agent.label == label:
                return agent
        raise KeyError(label)


def parse(data: Mapping[str, Any], source: str, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """Validate the content of a scenario file, with values from the command line put over it.

    Parameters
    ----------
    data : mapping
        The parsed TOML.
    source : str
        The file's name, for messages.
    overrides : mapping, optional
        `rounds`, `trials`, `seed`, `batch`, `samples`, `data` (a file, the environment's option of that
        name), `step-timeout` (its `step_seconds`) and `agents` (a list of labels of the file, or of agents'
        names).

    Raises
    ------
    UserError
        One line that names the file, the key, the value and what is accepted.
    """
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    merged = {**data, **given}
    if "samples" in given:
        prior = data.get("prior", {})
        samples = {"source": "samples", "samples": merged.pop("samples")}
        merged["prior"] = {**prior, **samples} if isinstance(prior, Mapping) else prior
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
        scenario = Scenario.model_validate(placed(merged, source))
    except ValidationError as error:
        raise UserError(describe(error, source, given)) from error
    scenario._source = source
    return scenario


def _declared(data: Mapping[str, Any], label: str) -> Any:
    """Return the file's own entry for an agent's label, so that its settings hold; else the name alone."""
    entries = data.get("agents")
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, Mapping) and label in (
            entry.get("label") or entry.get("name"),
            entry.get("label"),
        ):
            return entry
    return label


def describe(error: ValidationError, source: str, overrides: Mapping[str, Any]) -> str:
    """Return one line about the first error of a validation, and how many there are besides."""
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
        close = nearest(path[-1], keys)
        hint = f"; did you mean {close!r}?" if close else ""
        problem = f"unknown key{hint} (accepted: {', '.join(keys)})"
        return f"{where}: {shown} = {_shown(first['input'])}: {problem}{more}"
    accepted = field or "a scenario table"
    if first["type"] == "value_error":
        accepted = str(first["ctx"]["error"])
    if first["type"] == "missing":
        return f"{where}: {shown} is missing; accepted: {accepted}{more}"
    close = nearest(first["input"], _QUOTED.findall(accepted)) if first["type"] == "literal_error" else ""
    hint = f"; did you mean {close!r}?" if close else ""
    return f"{where}: {shown} = {_shown(first['input'])}{hint}; accepted: {accepted}{more}"


def _field(path: list[int | str]) -> tuple[type[BaseModel], str]:
    """Return the table that a location lies in, and what its last field accepts."""
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
