"""The acquisitions by name."""

from typing import Literal

from optimizer.acquisition.acquisition import Acquisition
from optimizer.acquisition.improvement import ExpectedImprovement
from optimizer.acquisition.probability import ProbabilityOfImprovement
from optimizer.acquisition.thompson import ThompsonSampling
from optimizer.acquisition.ucb import UCB

AcquisitionName = Literal["ucb", "ei", "mpi", "ts"]

ACQUISITIONS: dict[AcquisitionName, type[Acquisition]] = {
    "ucb": UCB,
    "ei": ExpectedImprovement,
    "mpi": ProbabilityOfImprovement,
    "ts": ThompsonSampling,
}
