"""The agents by name: each is a combination of feedback, acquisition and model, or a baseline."""

from typing import Any

from optimizer.acquisition.exploration import ContinuousBeta, Exploration, FiniteBeta
from optimizer.agents.agent import Agent, Feedback
from optimizer.agents.baselines import FixedAgent, RandomAgent, uniform_policy
from optimizer.agents.gp_agent import AcquisitionName, GPAgent
from optimizer.agents.plugins import brought_names, make_brought
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition
from optimizer.composition.propagation import PropagationName, make_propagation
from optimizer.posterior.solved_rows import RowStorage
from optimizer.prior.prior import Prior
from optimizer.space.search_space import SearchSpace
from policyloop.messages import unknown_name

GP_AGENTS: dict[str, tuple[Feedback, AcquisitionName]] = {
    "gp-ucb": ("aggregate", "ucb"),
    "ei": ("aggregate", "ei"),
    "mpi": ("aggregate", "mpi"),
    "d-gpucb": ("decomposed", "ucb"),
    "d-ei": ("decomposed", "ei"),
    "d-mpi": ("decomposed", "mpi"),
    "d-ts": ("decomposed", "ts"),
}
BASELINES = {
    "random": "uniformly random policies",
    "uniform": "the same share to every group",
    "current": "today's practice, as the environment names it",
}
DEFAULT_DELTA, DEFAULT_SCALE_DOWN = 0.1, 5.0


def agent_names() -> list[str]:
    """Names that `make_agent` knows: our own, then those that others bring."""
    own = [*GP_AGENTS, *BASELINES]
    return own + [name for name in brought_names() if name not in own]


def default_exploration(
    space: SearchSpace, delta: float = DEFAULT_DELTA, scale_down: float = DEFAULT_SCALE_DOWN, groups: int = 1
) -> Exploration:
    """The paper's beta_t for the space: finite (Theorem 2) or continuous (section 7), scaled down by 5.

    `groups` is the J that stands inside the logarithm with a general composition (Theorem 3), 1 otherwise:
    see `groups_in_beta`.
    """
    if space.finite:
        return FiniteBeta(space.size or 1, delta, scale_down, groups)
    return ContinuousBeta(space.d, delta, scale_down, groups)


def groups_in_beta(name: str, composition: BaseComposition) -> int:
    """J inside beta_t's logarithm: that of an agent which models every group under a general g, else 1."""
    decomposed = name in GP_AGENTS and GP_AGENTS[name][0] == "decomposed"
    return composition.groups if decomposed and isinstance(composition, GeneralComposition) else 1


def make_agent(
    name: str,
    space: SearchSpace,
    composition: BaseComposition,
    *,
    prior: Prior | None = None,
    own_prior: bool = False,
    exploration: Exploration | None = None,
    family: str = "rbf",
    current: Any = None,
    seed: int = 0,
    storage: RowStorage | None = None,
    propagation: PropagationName = "default",
    context: bool = False,
) -> Agent:
    """Build an agent by name.

    Parameters
    ----------
    name : str
        One of `agent_names()`: "d-gpucb", "d-ei", "d-mpi", "d-ts" (decomposed feedback), "gp-ucb", "ei",
        "mpi" (aggregate), "random", "uniform", "current", or one that others bring (`register_agent`).
    space : SearchSpace
        Where policies come from.
    composition : Composition, or GeneralComposition
        The known g and the sense of the objective.
    prior : Prior, optional
        Priors of the groups, from which aggregate agents compose theirs. Without one, every agent learns from
        its own rounds.
    own_prior : bool, default=False
        For aggregate agents: `prior` was learned from composed values, as it has to be under a general g.
    exploration : Exploration, optional
        beta_t; `default_exploration` unless given.
    family : str, default="rbf"
        Kernel family where agents learn from their own rounds.
    current : policy, optional
        Today's practice, for the agent "current".
    seed : int, default=0
        Of all that the agent draws.
    storage : RowStorage, optional
        How the posterior over a large candidate set is stored: exact unless given.
    propagation : {"default", "bound", "delta", "sampled"}, default="default"
        How decomposed agents carry their posterior through a general g (Algorithm 3); see
        `optimizer.composition.propagation`. A linear one is exact, and needs none.
    context : bool, default=False
        Whether `ask` and `tell` come with a context, such as the time, which kernels see as last feature.

    Raises
    ------
    ValueError
        If the name or the propagation is unknown, g lacks what it needs, or the baseline does not fit the
        space.
    """
    through = make_propagation(propagation, composition.groups, seed)
    if name in GP_AGENTS:
        feedback, acquisition = GP_AGENTS[name]
        if isinstance(composition, GeneralComposition) and feedback == "decomposed":
            composition = composition.propagated(through)
        return GPAgent(
            name,
            space,
            composition,
            exploration or default_exploration(space, groups=groups_in_beta(name, composition)),
            feedback=feedback,
            acquisition=acquisition,
            prior=prior,
            own_prior=own_prior,
            family=family,
            seed=seed,
            storage=storage,
            context=context,
        )
    if name == "random":
        return RandomAgent(name, space, composition.sign, seed)
    if name == "uniform":
        return FixedAgent(name, space, composition.sign, seed, uniform_policy(space))
    if name == "current":
        if current is None:
            raise ValueError("agent 'current' needs an environment that names today's practice")
        return FixedAgent(name, space, composition.sign, seed, current)
    if name in brought_names():
        options: dict[str, Any] = {"prior": prior, "own_prior": own_prior, "exploration": exploration}
        options |= {"family": family, "current": current, "seed": seed}
        options |= {"propagation": propagation, "context": context}
        return make_brought(name, space, composition, options)
    raise ValueError(unknown_name("agent", name, agent_names()))
