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
