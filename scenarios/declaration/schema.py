"""The scenario file: what it may hold, and one-line messages about what it must not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, field_validator, model_validator

from scenarios.declaration.environment_spec import EnvironmentSpec
from scenarios.declaration.several import refuse_several
from scenarios.declaration.table import Table, plain_options
from simulators.contract.targets import is_target

FiniteNumber = Annotated[float, Field(allow_inf_nan=False, description="a finite number")]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False, description="a finite number, 0 or more")]
SAMPLES = "a whole number, 2 or more, or 0 (no samples: each trial learns from its own rounds)"
FAMILIES = ("rbf", "matern-1/2", "matern-3/2", "matern-5/2", "rq", "diffusion", "climate")
FAMILY = (
    'one of "rbf", "matern-1/2", "matern-3/2", "matern-5/2", "rq", "diffusion" (on a graph), "climate" (of a '
    "world that lives), or FILE.py:function (a kernel of length scales and bounds)"
)
SOURCE = (
    'one of "samples", "environment" (the kernels that a drawn world names), "rounds" (each trial\'s own)'
)


def _family(value: object) -> object:
    if isinstance(value, str) and (value in FAMILIES or is_target(value)):
        return value
    if isinstance(value, str):  # a program's own
        from optimizer.prior.families import registered_family

        if registered_family(value):
            return value
    raise ValueError(FAMILY)


Family = Annotated[str, BeforeValidator(_family)]
KERNEL = '"composed" (the sum of the groups\' kernels) or "own" (fitted to the composed values)'


class MeanSpec(Table):
    """The entry `mean_from` of the `[prior]` table: whose outcomes the prior means are.

    Attributes
    ----------
    name : str
        A name of `simulators.names()`: an environment of the same groups and policies, which knows its
        noise-free outcomes.
    options : dict
        Its options, in place of those under which it describes the scenario's world.
    """

    name: str = Field(description="the name of an environment")
    options: dict[str, Any] = Field(default_factory=dict, description="a table of options")

    _plain = field_validator("options")(plain_options)


class PriorSpec(Table):
    """The `[prior]` table: where the kernels come from.

    Attributes
    ----------
    source : {"samples", "environment", "rounds"}, default "samples"
        Samples outside the trials; or the kernels and noise that the trial's world was drawn from, which the
        environment names; or each trial's own rounds.
    family : str, default "rbf"
        Kernel family, where kernels are learned. "diffusion" needs an environment with a graph, whose option
        `features` it sets to "graph"; "climate" a world that lives. FILE.py:function names one of your own:
        from length scales (p,) and their bounds it makes a kernel.
    samples : int, default 1000
        Samples outside the trials from which kernels are learned, then frozen; 0: each trial
        learns from its own rounds. Without meaning for the other sources.
    restarts : int, default 2
        Restarts of the marginal likelihood's maximisation.
    kernel : {"composed", "own"}, default "composed"
        Kernel of the agents with aggregate feedback; "own" wherever the composition is not linear.
    mean_from : MeanSpec, optional
        An environment whose noise-free outcomes are the prior means: kernels, learned from samples, then
        describe the discrepancy. By default the means are constants.
    each_trial : bool, default False
        Learn a prior from samples of its own for each trial, so that intervals over trials hold its luck;
        otherwise all trials of a world share one.
    goes_on : bool, default False
        Agents go on learning the kernels of the samples from their own rounds; otherwise these are frozen.
    correlated : bool, default False
        Groups go together, beyond their means, as the residuals of the samples do: for a composition that is
        not linear.
    """

    source: Literal["samples", "environment", "rounds"] = Field(default="samples", description=SOURCE)
    family: Family = Field(default="rbf", description=FAMILY)
    samples: int = Field(default=1000, description=SAMPLES)
    restarts: int = Field(default=2, ge=0, description="a whole number, 0 or more")
    kernel: Literal["composed", "own"] = Field(default="composed", description=KERNEL)
    mean_from: MeanSpec | None = Field(default=None, description="a table with a name and options")
    each_trial: bool = Field(default=False, description="true or false")
    goes_on: bool = Field(default=False, description="true or false")
    correlated: bool = Field(default=False, description="true or false")

    @model_validator(mode="after")
    def _each_learns(self) -> Self:
        if self.each_trial and not (self.source == "samples" and self.given):
            raise ValueError('each_trial is accepted only with source = "samples", and 2 samples or more')
        for name in ("goes_on", "correlated"):
            if getattr(self, name) and not (self.source == "samples" and self.given):
                raise ValueError(f'{name} is accepted only with source = "samples", and 2 samples or more')
        if self.goes_on and (self.family in ("diffusion", "climate") or self.mean_from is not None):
            raise ValueError('goes_on is accepted with neither mean_from nor family "diffusion" or "climate"')
        return self

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


Propagation = Literal["default", "bound", "delta", "sampled"]
BETA = '"auto" or a number above 0'
PROPAGATION = 'one of "default", "bound", "delta", "sampled"'
OBSERVE = '"chosen" (the groups that tell most for their cost) or "all"'


def _beta(value: object) -> object:
    # A union would report two errors; one validator keeps the message to one line.
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value == "auto" or (number and 0 < float(value) < math.inf):  # type: ignore[arg-type]
        return value
    raise ValueError(BETA)


Beta = Annotated[float | Literal["auto"], BeforeValidator(_beta)]


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
    observe : {"chosen", "all"}, default "chosen"
        Where groups can be observed by themselves (members of an ensemble, channels of sensors that cost
        energy), whether agents with decomposed feedback pick them, or always observe all.
    """

    delta: float = Field(default=0.1, gt=0, lt=1, description="a number between 0 and 1, both excluded")
    scale_down: float = Field(default=5.0, gt=0, allow_inf_nan=False, description="a number above 0")
    beta: Beta = Field(default="auto", description=BETA)
    propagation: Propagation = Field(default="default", description=PROPAGATION)
    observe: Literal["chosen", "all"] = Field(default="chosen", description=OBSERVE)


class AgentSpec(Table):
    """One entry of `agents`: a name, or a table that changes settings for this agent alone.

    Attributes
    ----------
    name : str
        A name of `optimizer.agent_names()`, or `package.module:Class` or `folder/file.py:Class`.
    label : str
        The name in tables and figures, unique in the scenario; default the agent's name, or its class's.
    acquisition : str, optional
        In place of the one that the name says: "ucb", "ei", "mpi", "ts", or FILE.py:Class, an
        `optimizer.Acquisition` of your own.
    delta, scale_down, beta, propagation, observe, kernel
        As in `[exploration]` and `[prior]`, for this agent alone. The agent "auto" has a `scale_down` of its
        own unless it is given here.
    """

    name: str = Field(description="the name of an agent")
    label: str = Field(
        pattern=r"^[^\x00-\x1f,]{1,60}$",
        description="1 to 60 characters on one line, without a comma",
    )
    acquisition: str = Field(
        default="", description='one of "ucb", "ei", "mpi", "ts", or FILE.py:Class (an acquisition)'
    )
    delta: float | None = Field(
        default=None, gt=0, lt=1, description="a number between 0 and 1, both excluded"
    )
    scale_down: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="a number above 0")
    beta: Beta | None = Field(default=None, description=BETA)
    propagation: Propagation | None = Field(default=None, description=PROPAGATION)
    observe: Literal["chosen", "all"] | None = Field(default=None, description=OBSERVE)
    kernel: Literal["composed", "own"] | None = Field(default=None, description=KERNEL)

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: object) -> object:
        table = {"name": value} if isinstance(value, str) else value
        if isinstance(table, Mapping) and isinstance(table.get("name"), str):
            return {"label": table["name"].rpartition(":")[2], **table}
        return table


class LimitSpec(Table):
    """One entry of `[[limits]]`: a bound on noise-free outcomes that a policy must keep.

    Attributes
    ----------
    group : str, optional
        Whose outcome is bounded.
    weights : table, optional
        In its place, a sum of groups' outcomes, each times a number.
    function : str, optional
        In its place, FILE.py:function, from outcomes (..., J) to values (...,).
    at_most : float, optional
        What the value is not to exceed, in its unit; this, `at_least` or both.
    at_least : float, optional
        What the value is not to fall below, in its unit.
    """

    group: str | None = Field(default=None, description="the name of a group")
    weights: dict[str, FiniteNumber] = Field(default_factory=dict, description="a table of numbers by group")
    function: str | None = Field(default=None, description="FILE.py:function")
    at_most: FiniteNumber | None = Field(default=None, description="a finite number")
    at_least: FiniteNumber | None = Field(default=None, description="a finite number")

    @model_validator(mode="after")
    def _one_value(self) -> Self:
        if (self.group is not None) + bool(self.weights) + (self.function is not None) != 1:
            raise ValueError("one of group, weights and function")
        if self.at_most is None and self.at_least is None:
            raise ValueError("at_most, at_least, or both")
        return self


class Scenario(Table):
    """A declared experiment: an environment, the agents that try it, for how long and how often.

    Attributes
    ----------
    name : str
        Its name, of which the study's file is called unless `--out` says otherwise.
    title : str
        What it asks, in one line.
    description : str
        The same in some more lines.
    rounds : int
        Simulations of each agent in each trial.
    trials : int
        How often all agents begin anew, with other noise and other first policies: intervals take five.
    seed : int, default 0
        The root of every random stream.
    batch : int, default 1
        Rounds for which an agent is asked at once, before it is told any of them.
    held_out : int, default 20
        Steps on seeds of their own by which a recommendation is judged, where regret is unknown.
    confirm : int, default 0
        So many of the last rounds try the leading policies again, and choose among them
        (`optimizer.agents.confirmation`); rounded up to whole batches.
    keep_info : bool, default True
        Keep what the simulator says of each step besides its outcomes, such as curves, in the study.
    stop_at_failure : bool, default False
        End the run at the first round that fails; otherwise a failed round is marked as such, and no more.
    objective : str, default ""
        In place of the environment's: "worst-group", "worst-rate", "group-gap", "cvar:LEVEL",
        "count:THRESHOLD", or FILE.py:g, a function from outcomes (..., J) and policies (..., d) to values
        (...,).
    objectives : list of str, default []
        Two or three, in place of one: "total" (the environment's objective), a group, or one of those above
        but code. Agents explore the frontier between them.
    weights : table, default {}
        Weights of groups in the weighted sum, in place of the environment's; or the path of a CSV or workbook
        with a group and its weight in each row.
    limits : list of LimitSpec
        What a policy's noise-free outcomes must keep.
    limit_probability : float, default 0.95
        The joint probability of keeping them from which a policy is recommended.
    continue_from : str, default ""
        A study of the same environment, whose rounds agents have learned from before their first.
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
    confirm: int = Field(default=0, ge=0, description="a whole number, 0 or more, less than rounds")
    keep_info: bool = Field(default=True, description="true or false")
    stop_at_failure: bool = Field(default=False, description="true or false")
    objective: str = Field(default="", description="the name of an objective, or FILE.py:g")
    objectives: list[str] = Field(
        default_factory=list, description="a list of two or three different objectives by name"
    )
    weights: dict[str, Weight] = Field(
        default_factory=dict,
        description="a table of finite numbers, 0 or more, by group, or a file of them",
    )
    limits: list[LimitSpec] = Field(
        default_factory=list, description="[[limits]] tables, their numbers finite"
    )
    limit_probability: float = Field(
        default=0.95, gt=0, lt=1, description="a number between 0 and 1, both excluded"
    )
    continue_from: str = Field(default="", description="the path of a study file")
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

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.weights and self.objective not in ("", "weighted-sum"):
            raise ValueError("weights are of the weighted sum, and not of another objective")
        if self.objectives:
            refuse_several(self)
        if self.limits and self.confirm:
            raise ValueError("confirm does not go with limits: leaders are compared by the objective alone")
        if self.continue_from and self.confirm:
            raise ValueError("confirm does not go with continue_from")
        return self

    @classmethod
    def of(cls, data: Mapping[str, Any], source: str) -> Self:
        """A scenario from its data, which remembers where they came from; `pydantic.ValidationError`."""
        scenario = cls.model_validate(data)
        scenario._source = source
        return scenario

    @property
    def source(self) -> str:
        """Where the scenario came from (a file name), for messages."""
        return self._source

    @property
    def apart(self) -> bool:
        """Whether each trial learns something of its own before its rounds: its world, or its prior alone."""
        return self.environment.new_world_each_trial or self.prior.each_trial

    @property
    def labels(self) -> list[str]:
        """The agents' labels, in order."""
        return [agent.label for agent in self.agents]

    def agent(self, label: str) -> AgentSpec:
        """The agent with this label; KeyError if there is none."""
        for agent in self.agents:
            if agent.label == label:
                return agent
        raise KeyError(label)

    def exploration_of(self, agent: AgentSpec) -> ExplorationSpec:
        """`[exploration]`, as an entry of `agents` changes it; "auto" has settings of its own before that."""
        from optimizer.agents.names import AUTO

        changes = agent.model_dump(include=set(ExplorationSpec.model_fields), exclude_none=True)
        return self.exploration.model_copy(update=(AUTO if agent.name == "auto" else {}) | changes)
