"""Simulators: what a policy does to each group of a system.

Everything public is imported on first use, so that ``import simulators`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulators.check import check_environment
    from simulators.contact_network import ContactNetwork
    from simulators.environment import Environment, Outcomes, SimulationError
    from simulators.flu_abm import FluABM
    from simulators.flu_ode import FluODE
    from simulators.policy_space import PolicySpace
    from simulators.population import Population, build_population
    from simulators.registry import make, names, plugins, register
    from simulators.sensor_network import SensorNetwork
    from simulators.synthetic import Synthetic
    from simulators.weather_live import WeatherLive

__all__ = [
    "ContactNetwork",
    "Environment",
    "FluABM",
    "FluODE",
    "Outcomes",
    "PolicySpace",
    "Population",
    "SensorNetwork",
    "SimulationError",
    "Synthetic",
    "WeatherLive",
    "build_population",
    "check_environment",
    "make",
    "names",
    "plugins",
    "register",
]

_homes = {
    "ContactNetwork": "contact_network",
    "Environment": "environment",
    "FluABM": "flu_abm",
    "FluODE": "flu_ode",
    "Outcomes": "environment",
    "PolicySpace": "policy_space",
    "Population": "population",
    "SensorNetwork": "sensor_network",
    "SimulationError": "environment",
    "Synthetic": "synthetic",
    "WeatherLive": "weather_live",
    "build_population": "population",
    "check_environment": "check",
    "make": "registry",
    "names": "registry",
    "plugins": "registry",
    "register": "registry",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for (PEP 562)."""
    if name not in _homes:
        raise AttributeError(f"module 'simulators' has no attribute {name!r}")
    value = getattr(import_module(f"simulators.{_homes[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
