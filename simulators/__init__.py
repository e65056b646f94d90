"""Simulators: what a policy does to each group of a system.

Everything public is imported on first use, so that ``import simulators`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulators.check import check_environment
    from simulators.environment import Environment, Outcomes, SimulationError
    from simulators.flu_ode import FluODE
    from simulators.policy_space import PolicySpace
    from simulators.registry import make, names, register
    from simulators.sensor_network import SensorNetwork
    from simulators.synthetic import Synthetic
    from simulators.weather_live import WeatherLive

__all__ = [
    "Environment",
    "FluODE",
    "Outcomes",
    "PolicySpace",
    "SensorNetwork",
    "SimulationError",
    "Synthetic",
    "WeatherLive",
    "check_environment",
    "make",
    "names",
    "register",
]

_homes = {
    "Environment": "environment",
    "FluODE": "flu_ode",
    "Outcomes": "environment",
    "PolicySpace": "policy_space",
    "SensorNetwork": "sensor_network",
    "SimulationError": "environment",
    "Synthetic": "synthetic",
    "WeatherLive": "weather_live",
    "check_environment": "check",
    "make": "registry",
    "names": "registry",
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
