"""Agents around others' optimizers, by name: what scenario files write to compare with them."""

from functools import partial
from typing import Any

from optimizer.agents.plugins import AgentFactory, register_agent


def _optuna(space: Any, composition: Any, *, sampler: str, name: str, seed: int = 0) -> Any:
    from bridges.agents.optuna_agent import OptunaAgent

    return OptunaAgent(space, composition, sampler=sampler, name=name, seed=seed)


def _scipy(space: Any, composition: Any, *, method: Any, seed: int = 0) -> Any:
    from bridges.agents.scipy_agent import SciPyAgent

    return SciPyAgent(space, composition, method=method, seed=seed)


# The agents are imported when they are made, so that knowing their names costs nothing.
OUTSIDE_AGENTS: dict[str, AgentFactory] = {
    "optuna-cmaes": partial(_optuna, sampler="CmaEsSampler", name="optuna-cmaes"),
    "optuna-gp": partial(_optuna, sampler="GPSampler", name="optuna-gp"),
    "optuna-tpe": partial(_optuna, sampler="TPESampler", name="optuna-tpe"),
    "scipy-de": partial(_scipy, method="de"),
    "scipy-nelder-mead": partial(_scipy, method="nelder-mead"),
}
"""Each is told the composed value only."""

for outside, factory in OUTSIDE_AGENTS.items():
    register_agent(outside, factory)
