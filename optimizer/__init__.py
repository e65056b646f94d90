"""What to try next: agents that learn a policy from decomposed or aggregate feedback.

An agent is a model (one Gaussian process a group, or one of the composed value), an acquisition and a search
space. The names below are the public ones; the paper's equations are found by name: "Algorithm 1" in
`decomposed_gp`, "Algorithm 2" in `gp_agent`, "Algorithm 3" in `propagation`, "Theorem 2" in `exploration`.
"""

from optimizer.acquisitions import UCB, Acquisition, ExpectedImprovement, ProbabilityOfImprovement
from optimizer.agents import Agent, Recommendation
from optimizer.brought_agents import agent_plugins, register_agent
from optimizer.candidate_posterior import CandidatePosterior
from optimizer.composition import BaseComposition, Composition
from optimizer.decomposed_gp import DecomposedGP
from optimizer.exploration import ConstantBeta, ContinuousBeta, Exploration, FiniteBeta
from optimizer.gaussian_process import GaussianProcess
from optimizer.general_composition import GeneralComposition
from optimizer.kept_rows import RowStorage
from optimizer.kernel_learning import learn_prior
from optimizer.named_agents import GP_AGENTS, agent_names, default_exploration, make_agent
from optimizer.prior import Prior
from optimizer.propagation import PROPAGATIONS
from optimizer.regressor import AggregateGPRegressor, DecomposedGPRegressor
from optimizer.search_space import SearchSpace
from optimizer.theory import maximum_information_gain, regret_bounds

__all__ = [
    "GP_AGENTS",
    "PROPAGATIONS",
    "UCB",
    "Acquisition",
    "Agent",
    "AggregateGPRegressor",
    "BaseComposition",
    "CandidatePosterior",
    "Composition",
    "ConstantBeta",
    "ContinuousBeta",
    "DecomposedGP",
    "DecomposedGPRegressor",
    "ExpectedImprovement",
    "Exploration",
    "FiniteBeta",
    "GaussianProcess",
    "GeneralComposition",
    "Prior",
    "ProbabilityOfImprovement",
    "Recommendation",
    "RowStorage",
    "SearchSpace",
    "agent_names",
    "agent_plugins",
    "default_exploration",
    "learn_prior",
    "make_agent",
    "maximum_information_gain",
    "register_agent",
    "regret_bounds",
]
