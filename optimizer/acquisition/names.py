"""The acquisitions by name; which agents use them, say `GP_AGENTS` in `optimizer.agents.names`."""

from optimizer.acquisition.acquisition import Acquisition
from optimizer.acquisition.improvement import ExpectedImprovement
from optimizer.acquisition.probability import ProbabilityOfImprovement
from optimizer.acquisition.thompson import ThompsonSampling
from optimizer.acquisition.ucb import UCB

ACQUISITIONS: dict[str, type[Acquisition]] = {
    "ucb": UCB,
    "ei": ExpectedImprovement,
    "mpi": ProbabilityOfImprovement,
    "ts": ThompsonSampling,
}

IN_WORDS = {
    "ucb": "upper confidence bound with the paper's beta_t",
    "ei": "expected improvement",
    "mpi": "maximum probability of improvement",
    "ts": "Thompson sampling",
}
"""What an acquisition maximises, for lists."""
