"""How an agent is made: the settings that scenario files, bridges and programs give it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from optimizer.acquisition.exploration import ConstantBeta, Exploration, default_exploration
from optimizer.agents.spending import Block, Costs, Spending
from optimizer.arrays import Array
from optimizer.composition.linear import BaseComposition
from optimizer.composition.outcome_limits import OutcomeLimits
from optimizer.composition.propagation import PropagationName
from optimizer.posterior.kept_noise import KeptNoise
from optimizer.posterior.solved_rows import RowStorage
from optimizer.prior.prior import Prior
from optimizer.space.search_space import SearchSpace


@dataclass(frozen=True)
class AgentSettings:
    """Settings of an agent; each agent takes what concerns it.

    Attributes
    ----------
    prior : Prior, optional
        Priors of the groups, from which agents with aggregate feedback compose theirs. Without one, an agent
        learns it from its own rounds: the first max(5, 2 d) of them are a Sobol design, then kernels are
        learned anew after every `tell` (above 50 observations, whenever they have grown by 2 %), and how
        uncertain they are is part of what it believes; see `optimizer.prior.own_rounds`.
    goes_on : bool, default False
        Whether kernels go on being learned from the agent's own rounds where there is a `prior`, beginning
        with its kernels, which are of the `family`. A prior that is composed of the groups' stays as it is.
    kernel : {"composed", "own"}, default "composed"
        What `prior` is for an agent with aggregate feedback: priors of the groups, to be composed, or one of
        the composed values. Under a general composition it has to be the latter: no general g composes
        kernels.
    delta : float, default 0.1
        The probability with which the bounds of the paper's beta_t may fail.
    scale_down : float, default 5.0
        What divides the paper's beta_t; more explores less.
    beta : float or "auto", default "auto"
        A constant beta (still scaled down), or the paper's schedule for the space.
    acquisition : str, default ""
        In place of the one that the agent's name says: "ucb", "ei", "mpi", "ts", or one that was registered
        (`optimizer.register_acquisition`).
    exploration : Exploration, optional
        A schedule of beta_t of one's own, in place of the three before.
    family : str, default "rbf"
        Kernel family where the agent learns from its own rounds: one of `family_names()`, but "diffusion" and
        "climate".
    propagation : {"default", "bound", "delta", "sampled"}, default "default"
        How an agent with decomposed feedback carries its posterior through a general composition (Algorithm
        3); see `optimizer.composition.propagation`. A linear one is exact, and needs none.
    seed : int, default 0
        Of all that the agent draws.
    current : policy, optional
        Today's practice, for the agent "current".
    context : bool, default False
        Whether `ask` and `tell` come with a context, such as the time, which kernels see as a feature.
    kept_noise : sequence of KeptNoise, optional
        Of what is modelled, a group or the composed value: which part of the noise stays with its policy for
        a while, as a sensor's drift does, so that repeated observations do not average it out. Needs
        `context`.
    outcome_range : ndarray of shape (J, 2), optional
        What no group's outcome lies below or above: credible intervals end there. Infinite for no limit.
    limits : OutcomeLimits, optional
        Limits on the groups' noise-free outcomes that a policy must keep. An agent with aggregate feedback is
        told their values beside the objective, and models each.
    limit_probability : float, default 0.95
        The probability of keeping all of them from which a policy is recommended.
    objectives : sequence of BaseComposition, optional
        Two or more, where there is no one objective: agents explore their frontier, each round by another
        weighing of them. The first is what the agent reports of, its `composition`. An agent with aggregate
        feedback is told their values in this order, and models each.
    within : SearchSpace, optional
        The part of the space, with the same entries, in which policies are looked for; what is told may lie
        outside it. The whole space unless given.
    blocks : sequence of (groups, cost), optional
        Groups that can be observed by themselves, such as those of one member of an ensemble: an agent with
        decomposed feedback then picks one block a round.
    query_costs : callable, optional
        What observations cost: from policies to (n, 1 + J), of observing a policy at all, then of each group.
        An agent with decomposed feedback then picks the groups too.
    query_budget : float, optional
        What the policies of one `ask` may cost together; any sum unless given. Needs candidates.
    observe : {"chosen", "all"}, default "chosen"
        Whether an agent that can pick groups does, or always observes all.
    storage : RowStorage, optional
        How the posterior over a large candidate set is stored: exact unless given.
    """

    prior: Prior | None = None
    goes_on: bool = False
    kernel: Literal["composed", "own"] = "composed"
    delta: float = 0.1
    scale_down: float = 5.0
    beta: float | Literal["auto"] = "auto"
    acquisition: str = ""
    exploration: Exploration | None = None
    family: str = "rbf"
    propagation: PropagationName = "default"
    seed: int = 0
    current: Any = None
    context: bool = False
    kept_noise: Sequence[KeptNoise] | None = None
    outcome_range: Array | None = None
    limits: OutcomeLimits | None = None
    limit_probability: float = 0.95
    objectives: Sequence[BaseComposition] = ()
    within: SearchSpace | None = None
    blocks: Sequence[Block] | None = None
    query_costs: Costs | None = None
    query_budget: float | None = None
    observe: Literal["chosen", "all"] = "chosen"
    storage: RowStorage | None = None

    @property
    def correlation(self) -> Array | None:
        """Of the groups, where the prior knows one."""
        return None if self.prior is None else self.prior.correlation

    def spending(self, space: SearchSpace, parts: bool) -> Spending | None:
        """What may be spent, by an agent that can observe `parts` of a policy; None where nothing costs."""
        if self.query_costs is None:
            return None
        return Spending(self.query_costs, self.query_budget, parts and self.observe == "chosen", space)

    def schedule(self, space: SearchSpace, groups: int = 1) -> Exploration:
        """The beta_t that is meant, in this space; `groups` as for `default_exploration`."""
        if self.exploration is not None:
            return self.exploration
        if self.beta == "auto":
            return default_exploration(space, self.delta, self.scale_down, groups)
        return ConstantBeta(self.beta, self.scale_down)
