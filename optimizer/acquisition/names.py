"""The acquisitions by name; which agents use them, say `GP_AGENTS` in `optimizer.agents.names`."""

import inspect

from optimizer.acquisition.acquisition import Acquisition
from optimizer.acquisition.improvement import ExpectedImprovement
from optimizer.acquisition.probability import ProbabilityOfImprovement
from optimizer.acquisition.thompson import ThompsonSampling
from optimizer.acquisition.ucb import UCB
from policyloop.messages import unknown_name

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

_registered: dict[str, type[Acquisition]] = {}


def acquisition_names() -> list[str]:
    """Names that an agent's setting `acquisition` knows: our own, then those that were registered."""
    return [*ACQUISITIONS, *sorted(_registered)]


def register_acquisition(name: str, acquisition: type[Acquisition]) -> None:
    """Add an acquisition to those that the setting `acquisition` of agents knows.

    Parameters
    ----------
    name : str
        The name, as in `make_agent("d-gpucb", .., acquisition=name)`. One of our own cannot be replaced.
    acquisition : type
        A subclass of `Acquisition`; the smallest is one of `ScoredAcquisition`, with `of`, `score_moments`
        and `slopes_in_moments`.

    Raises
    ------
    ValueError
        If the name is empty or belongs to another acquisition, or this is none, or lacks a method.
    """
    if not name:
        raise ValueError("an acquisition's name must not be empty")
    if not (isinstance(acquisition, type) and issubclass(acquisition, Acquisition)):
        raise ValueError(
            f"acquisition {name!r} must be a subclass of optimizer.Acquisition, not {acquisition!r}"
        )
    if inspect.isabstract(acquisition):
        missing = ", ".join(sorted(acquisition.__abstractmethods__))
        raise ValueError(f"acquisition {name!r} lacks {missing}")
    if (ACQUISITIONS | _registered).get(name, acquisition) is not acquisition:
        raise ValueError(f"acquisition {name!r} is already registered")
    if name not in ACQUISITIONS:
        _registered[name] = acquisition


def acquisition_of(name: str) -> type[Acquisition]:
    """The acquisition of a name of `acquisition_names()`; ValueError for another."""
    try:
        return (ACQUISITIONS | _registered)[name]
    except KeyError:
        raise ValueError(unknown_name("acquisition", name, acquisition_names())) from None
