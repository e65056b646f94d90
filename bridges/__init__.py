"""What joins a simulator to an optimizer: feedback adapters, priors, the true optimum and the loop."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import policyloop

policyloop.check_packages()  # before an import below fails for a reason that nobody would guess

from bridges import outside_agents  # noqa: F401 - makes their names known
from bridges.agents import initial_design, make_agent
from bridges.feedback import check_composition, composition, is_general, search_space
from bridges.loop import Loop, Round, moment
from bridges.optimum import Optimum, find_optimum
from bridges.prior_outcomes import PriorOutcomes, prior_outcomes
from bridges.priors import known_prior, learn_prior
from bridges.seeds import as_int, stream
from bridges.steps import Steps, Taken, observe

if TYPE_CHECKING:
    from bridges.command_environment import CommandEnvironment
    from bridges.function_environment import FunctionEnvironment
    from bridges.mesa_environment import MesaEnvironment

_lazy = {  # adapters to foreign simulators, imported when first asked for: their libraries are slow
    "CommandEnvironment": "command_environment",
    "FunctionEnvironment": "function_environment",
    "MesaEnvironment": "mesa_environment",
}

__all__ = [
    "CommandEnvironment",
    "FunctionEnvironment",
    "Loop",
    "MesaEnvironment",
    "Optimum",
    "PriorOutcomes",
    "Round",
    "Steps",
    "Taken",
    "as_int",
    "check_composition",
    "composition",
    "find_optimum",
    "initial_design",
    "is_general",
    "known_prior",
    "learn_prior",
    "make_agent",
    "moment",
    "observe",
    "prior_outcomes",
    "search_space",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _lazy:
        raise AttributeError(f"module 'bridges' has no attribute {name!r}")
    return getattr(import_module(f"bridges.{_lazy[name]}"), name)
