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
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from scenarios.errors import UserError, nearest

Family = Literal["rbf", "matern-1/2", "matern-3/2", "matern-5/2", "rq"]
SAMPLES = "a whole number, 2 or more, or 0 (no samples: each trial learns from its own rounds)"
FAMILY = 'one of "rbf", "matern-1/2", "matern-3/2", "matern-5/2", "rq"'
SOURCE = (
    'one of "samples", "environment" (the kernels that a drawn world names), "rounds" (each trial\'s own)'
)
KERNEL = '"composed" (the sum of the groups\' kernels) or "own" (fitted to the composed values)'
BETA = '"auto" or a number above 0'


def _beta(value: object) -> object:
    # A union would report two errors; one validator keeps the message to one line.
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value == "auto" or (number and 0 < float(value) < math.inf):  # type: ignore[arg-type]
        return value
    raise ValueError(BETA)


Beta = Annotated[float | Literal["auto"], BeforeValidator(_beta)]


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class EnvironmentSpec(_Table):
    """The `[environment]` table: which simulator, and its options.

    Attributes
    ----------
    name : str
        A name of `simulators.names()`.
    options : dict
        Passed to `simulators.make`, which checks them.
    new_world_each_trial : bool, default False
        Draw a new world (`seed=`) for each trial instead of the same world for all.
    """

    name: str = Field(description="the name of an environment")
    options: dict[str, Any] = Field(default_factory=dict, description="a table of options")
    new_world_each_trial: bool = Field(default=False, description="true or false")

    @field_validator("options")
    @classmethod
    def _plain(cls, options: dict[str, Any]) -> dict[str, Any]:
        try:
            json.dumps(options, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError("only text, finite numbers, true, false, lists and tables") from error
        return options


class PriorSpec(_Table):
    """The `[prior]` table: where the kernels come from.

    Attributes
    ----------
    source : {"samples", "environment", "rounds"}, default "samples"
        Samples outside the trials; or the kernels and noise that the trial's world was drawn from, which the
        environment names; or each trial's own rounds.
    family : str, default "rbf"
        Kernel family, where kernels are learned.
    samples : int, default 1000
        Samples outside the trials from which kernels are learned, then frozen; 0: each trial
        learns from its own rounds. Without meaning for the other sources.
    restarts : int, default 2
        Restarts of the marginal likelihood's maximisation.
    kernel : {"composed", "own"}, default "composed"
        Kernel of the agents with aggregate feedback.
    """

    source: Literal["samples", "environment", "rounds"] = Field(default="samples", description=SOURCE)
    family: Family = Field(default="rbf", description=FAMILY)
    samples: int = Field(default=1000, description=SAMPLES)
    restarts: int = Field(default=2, ge=0, description="a whole number, 0 or more")
    kernel: Literal["composed", "own"] = Field(default="composed", description=KERNEL)

    @field_validator("samples")
    @classmethod
    def _enough(cls, samples: int) -> int:
        if samples != 0 and samples < 2:
            raise ValueError(SAMPLES)
        return samples

    @property
    def given(self) -> bool:
        """Whether agents are handed their prior before the first round; else they learn it in the trial."""
        return self.source == "environment" or (self.source == "samples" and self.samples > 0)


class ExplorationSpec(_Table):
    """The `[exploration]` table: the schedule of beta_t in the UCB agents.

    Attributes
    ----------
    delta : float, default 0.1
        The bound on regret holds with probability 1 - delta.
    scale_down : float, default 5
        Divides beta_t (not its root).
    beta : "auto" or float, default "auto"
        The paper's finite or continuous beta_t, by the policy space, or a constant.
    """

    delta: float = Field(default=0.1, gt=0, lt=1, description="a number between 0 and 1, both excluded")
    scale_down: float = Field(default=5.0, gt=0, allow_inf_nan=False, description="a number above 0")
    beta: Beta = Field(default="auto", description=BETA)


class AgentSpec(_Table):
    """One entry of `agents`: a name, or a table that changes settings for this agent alone.

    Attributes
    ----------
    name : str
        A name of `optimizer.agent_names()`.
    label : str
        The name in tables and figures, unique in the scenario; default the agent's name.
    delta, scale_down, beta, kernel
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
    kernel: Literal["composed", "own"] | None = Field(default=None, description=KERNEL)

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: object) -> object:
        table = {"name": value} if isinstance(value, str) else value
        if isinstance(table, Mapping) and isinstance(table.get("name"), str):
            return {"label": table["name"], **table}
        return table


class Scenario(_Table):
    """A declared experiment: an environment, the agents that try it, for how long and how often.

    Attributes
    ----------
    name, title, description : str
        The catalogue's name, one line, and some more lines.
    rounds, trials : int
        Rounds a trial, trials an agent.
    seed : int, default 0
        The root of every random stream.
    environment : EnvironmentSpec
    prior : PriorSpec
    exploration : ExplorationSpec
    agents : list of AgentSpec
    """

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="1 to 64 letters, digits, '-', '_' or '.', not starting with a sign",
    )
    title: str = Field(default="", description="a line of text")
    description: str = Field(default="", description="text")
    rounds: int = Field(ge=1, le=10**6, description="a whole number, 1 or more, at most 1,000,000")
    trials: int = Field(ge=1, le=10**5, description="a whole number, 1 or more, at most 100,000")
    seed: int = Field(default=0, ge=0, description="a whole number, 0 or more")
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
        `rounds`, `trials`, `seed`, `samples` and `agents` (a list of labels of the file, or of agents'
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
    if "agents" in given:
        merged["agents"] = [_declared(data, label) for label in given["agents"]]
    try:
        scenario = Scenario.model_validate(merged)
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
    key = "samples" if path == ["prior", "samples"] else path[0] if path else ""
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


_QUOTED = re.compile(r'"([^"]+)"')
_TABLES: dict[str, type[BaseModel]] = {
    "environment": EnvironmentSpec,
    "prior": PriorSpec,
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
