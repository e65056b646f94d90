"""Environments by name: what scenario files and the command line write instead of an import."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from simulators.environment import Environment

Factory = Callable[..., Environment]

# "module:attribute" strings are imported when first made, so that listing names costs nothing.
_factories: dict[str, Factory | str] = {
    "flu-abm": "simulators.flu_abm:FluABM",
    "flu-ode": "simulators.flu_ode:FluODE",
    "synthetic": "simulators.synthetic:Synthetic",
    "weather": "simulators.sensor_network:SensorNetwork",
    "weather-live": "simulators.weather_live:WeatherLive",
}


def names() -> list[str]:
    """Return the names that :func:`make` knows, sorted.

    Returns
    -------
    list of str
    """
    return sorted(_factories)


def register(name: str, factory: Factory | str) -> None:
    """Add an environment to the registry.

    Parameters
    ----------
    name : str
        The name for scenario files.
    factory : callable or str
        A class or function that returns an :class:`~simulators.Environment`, or where to import it from when
        it is needed, ``"module:attribute"``.

    Raises
    ------
    ValueError
        The name is empty or belongs to another factory, or the string has no colon.
    """
    if not name:
        raise ValueError("an environment's name must not be empty")
    if isinstance(factory, str) and ":" not in factory:
        raise ValueError(f"factory {factory!r} of environment {name!r} must read 'module:attribute'")
    if name in _factories and _factories[name] != factory:
        raise ValueError(f"environment {name!r} is already registered")
    _factories[name] = factory


def make(name: str, **options: Any) -> Environment:
    """Build an environment by its name.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    **options
        Passed to the environment; each is documented there. ``seed`` fixes the world of an environment that
        draws one.

    Returns
    -------
    Environment
        With ``name`` set to the registry's name.

    Raises
    ------
    ValueError
        Unknown name or option (the message gives the nearest valid one), a required option left out, or a
        value that the environment refuses.
    """
    if name not in _factories:
        known = ", ".join(names())
        raise ValueError(f"unknown environment {name!r}{_nearest(name, names())}; known: {known}")
    factory = _load(_factories[name])
    accepted, open_ended, required = _parameters(factory)
    for option in options:
        if option not in accepted and not open_ended:
            known = ", ".join(accepted) or "none"
            raise ValueError(
                f"environment {name!r} has no option {option!r}{_nearest(option, accepted)}; "
                f"accepted: {known}"
            )
    for option in required:
        if option not in options:
            raise ValueError(f"environment {name!r} needs the option {option!r}")
    environment = factory(**options)
    environment.name = name
    return environment


def _load(factory: Factory | str) -> Factory:
    if not isinstance(factory, str):
        return factory
    module, attribute = factory.split(":", 1)
    loaded: Factory = getattr(import_module(module), attribute)
    return loaded


def _parameters(factory: Factory) -> tuple[list[str], bool, list[str]]:
    """Return the names a factory accepts, whether it takes any other, and those it cannot do without."""
    parameters = inspect.signature(factory).parameters.values()
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return [p.name for p in named], open_ended, [p.name for p in named if p.default is p.empty]


def _nearest(word: str, words: list[str]) -> str:
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    return f" (nearest: {close[0]!r})" if close else ""
