"""Agents around others' optimizers, by name: what scenario files write to compare with them."""

from functools import partial

from bridges.agents.optuna_agent import OptunaAgent
from bridges.agents.scipy_agent import SciPyAgent
from optimizer.agents.plugins import AgentFactory, register_agent

OUTSIDE_AGENTS: dict[str, AgentFactory] = {
    "optuna-cmaes": partial(OptunaAgent, sampler="CmaEsSampler", name="optuna-cmaes"),
    "optuna-gp": partial(OptunaAgent, sampler="GPSampler", name="optuna-gp"),
    "optuna-tpe": partial(OptunaAgent, sampler="TPESampler", name="optuna-tpe"),
    "scipy-de": partial(SciPyAgent, method="de"),
    "scipy-nelder-mead": partial(SciPyAgent, method="nelder-mead"),
}
"""Each is told the composed value only. Their libraries are imported when they are made."""

for name, factory in OUTSIDE_AGENTS.items():
    register_agent(name, factory)
