"""What joins a simulator to an optimizer: feedback adapters, priors, the true optimum and the loop."""

import policyloop

policyloop.check_packages()  # before an import below fails for a reason that nobody would guess

from bridges.agents import initial_design, make_agent
from bridges.feedback import composition, is_general, search_space
from bridges.loop import Loop, Round
from bridges.optimum import Optimum, find_optimum
from bridges.priors import known_prior, learn_prior
from bridges.seeds import as_int, stream
from bridges.steps import Steps, Taken

__all__ = [
    "Loop",
    "Optimum",
    "Round",
    "Steps",
    "Taken",
    "as_int",
    "composition",
    "find_optimum",
    "initial_design",
    "is_general",
    "known_prior",
    "learn_prior",
    "make_agent",
    "search_space",
    "stream",
]
