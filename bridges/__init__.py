"""What joins a simulator to an optimizer: feedback adapters, priors, the true optimum and the loop."""

from bridges.agents import initial_design, make_agent
from bridges.feedback import composition, search_space
from bridges.loop import Loop, Round
from bridges.optimum import Optimum, find_optimum
from bridges.priors import learn_prior
from bridges.seeds import as_int, stream

__all__ = [
    "Loop",
    "Optimum",
    "Round",
    "as_int",
    "composition",
    "find_optimum",
    "initial_design",
    "learn_prior",
    "make_agent",
    "search_space",
    "stream",
]
