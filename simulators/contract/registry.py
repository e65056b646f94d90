"""Environments by name: what scenario files and the command line write instead of an import.

A name is one of the registry's own, one that an installed package offers by an entry point of the group
`policyloop.simulators`, or a target, such as `package.module:Class` or `folder/file.py:Class`.
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack, get_args, get_origin, get_type_hints

from policyloop.messages import did_you_mean, failure, on_one_line, unknown_name
from simulators.contract.environment import Environment
from simulators.contract.process_state import kept_process_state, seeded_globals
from simulators.contract.targets import is_target, load_target

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


Factory = Callable[..., Environment]
PLUGINS = "policyloop.simulators"
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
FUNCTIONS = (
    "; a function that is named here must build an environment: "
    "bridges.FunctionEnvironment makes one of a function that computes outcomes"
)

# "module:attribute" strings are imported when first made, so that listing names costs nothing.
_factories: dict[str, Factory | str] = {
    "flu-abm": "simulators.flu.abm:FluABM",
    "flu-ode": "simulators.flu.ode:FluODE",
    "synthetic": "simulators.synthetic.synthetic:Synthetic",
    "weather": "simulators.weather.sensor_network:SensorNetwork",
    "weather-live": "simulators.weather.live:WeatherLive",
}


def names() -> list[str]:
    """The names that `make` knows, sorted."""
    return sorted({*_factories, *plugins()})


@functools.cache
def plugins() -> dict[str, EntryPoint]:
    """What installed packages offer by entry points, by name. Nothing of theirs is imported.

    A name of the registry's own is not theirs to take.
    """
    from importlib.metadata import entry_points  # slow to import

    offered = {point.name: point for point in entry_points(group=PLUGINS) if point.name not in _factories}
    # Those of our own package are the adapters to foreign simulators; nobody else takes their names.
    own = [point for point in entry_points(group=PLUGINS) if point.dist and point.dist.name == "policyloop"]
    return offered | {point.name: point for point in own}


def register(name: str, factory: Factory | str) -> None:
    """Add an environment to the registry.

    Parameters
    ----------
    name : str
        The name for scenario files.
    factory : callable or str
        A class or function that returns an `simulators.Environment`, or where to import it from when
        it is needed, `"module:attribute"`.

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
        One of `names`, or a target: `package.module:Class`, `folder/file.py:Class`, or the same with a
        function that returns an environment, or with an environment, which is copied.
    **options
        Passed to the environment; each is documented there. `seed` fixes the world of an environment that
        draws one.

    Returns
    -------
    Environment
        With `name` set to the registry's name, if it has one.

    Raises
    ------
    ValueError
        Unknown name or option (the message gives the nearest valid one), a plug-in or target that cannot be
        imported, a required option left out, a value that the environment refuses, or one that asks to exit.
    """
    with kept_process_state(folder=False), seeded_globals(0):
        return _made(name, options)


def _made(name: str, options: dict[str, Any]) -> Environment:
    factory = _factory(name)
    accepted, open_ended, required = _parameters(factory)
    unknown = [option for option in options if option not in accepted]
    if unknown and not open_ended:
        raise _unknown(name, unknown[0], accepted)
    makes = FUNCTIONS if is_target(name) and inspect.isfunction(factory) else ""
    for option in required:
        if option not in options:
            hint = f"; {unknown[0]!r} is none of its options" if unknown else makes
            raise ValueError(f"environment {name!r} needs the option {option!r}{hint}")
    try:
        environment = factory(**options)
    except TypeError as error:
        # What is passed on, from **options to another class, is known to be wrong when it has arrived.
        refused = re.search(r"(?:unexpected keyword|multiple values for) argument '(.*?)'", str(error))
        if refused and refused[1] in set(options).difference(inspect.signature(factory).parameters):
            known = [option for option in accepted if option != refused[1]]
            raise _unknown(name, refused[1], known) from error
        raise
    except (Exception, KeyboardInterrupt):
        raise
    except SystemExit as end:
        code = on_one_line(end.code)
        raise ValueError(f"{name}: the simulator asked to exit ({code}) when it was made") from end
    except BaseException as error:
        raise ValueError(f"{name}: the simulator raised {failure(error)} when it was made") from error
    if not isinstance(environment, Environment):
        kind = type(environment).__name__
        raise ValueError(f"environment {name!r} must be a simulators.Environment, not of type {kind}{makes}")
    if name in names():
        environment.name = name
    return environment


def options_of(name: str) -> tuple[Factory, list[tuple[str, Any, Any]]]:
    """What makes the environment of a name, and its options: each its name, default and annotation.

    `inspect.Parameter.empty` stands for a default or an annotation that there is not. ValueError as for
    `make`.
    """
    factory = _factory(name)
    accepted, _, _ = _parameters(factory)
    levels = [vars(cls).get("__init__") for cls in getattr(factory, "__mro__", ())[1:]]
    known: dict[str, inspect.Parameter] = {}
    for level in [*reversed([one for one in levels if one is not None]), factory]:
        known |= inspect.signature(level).parameters
    # Those of a TypedDict, which may be left out, are no parameters of their own.
    left_out = inspect.Parameter("options", inspect.Parameter.KEYWORD_ONLY, default=None)
    found = [(option, known.get(option, left_out)) for option in accepted]
    return factory, [(option, one.default, one.annotation) for option, one in found]


def _factory(name: str) -> Factory:
    """What makes the environment of a name."""
    if name in _factories:
        known = _factories[name]
        return load_target(known) if isinstance(known, str) else known
    if name in plugins():
        point = plugins()[name]
        try:
            loaded = point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            package = point.dist.name if point.dist else point.module
            why = failure(error)
            raise ValueError(
                f"environment {name!r}, a plug-in of {package}, cannot be imported: {why}"
            ) from error
    elif is_target(name):
        loaded = load_target(name, _may_be_simulator, FUNCTIONS)
        if callable(loaded) and not _may_be_simulator(loaded):
            raise ValueError(
                f"environment {name!r} must name a class derived from simulators.Environment, a Python "
                "function that returns one, or one itself; nothing else is called"
            )
    else:
        raise ValueError(unknown_name("environment", name, names()))
    if isinstance(loaded, Environment):
        return lambda: _copied(name, loaded)
    if not callable(loaded):
        raise ValueError(f"environment {name!r} must name a class or a function, not {loaded!r}")
    return loaded  # type: ignore[no-any-return]


def _may_be_simulator(loaded: Any) -> bool:
    """Whether what a target names may be called to make an environment: nothing else is."""
    if isinstance(loaded, type):
        return issubclass(loaded, Environment)
    if isinstance(loaded, functools.partial):
        return _may_be_simulator(loaded.func)
    return isinstance(loaded, Environment) or inspect.isfunction(loaded)


def _copied(name: str, environment: Environment) -> Environment:
    try:
        return copy.deepcopy(environment)
    except Exception as error:
        raise ValueError(
            f"environment {name!r} cannot be copied, as every trial needs one of its own: "
            f"{on_one_line(error)}; name a function that builds it instead"
        ) from error


def _parameters(factory: Factory) -> tuple[list[str], bool, list[str]]:
    """The names a factory accepts, whether it takes any other, and those it cannot do without.

    Among the accepted ones are those of the classes above, to which a class passes on what it does not know.
    """
    above = [vars(cls).get("__init__") for cls in getattr(factory, "__mro__", ())[1:]]
    accepted, open_ended = _keywords(factory)
    further = open_ended
    for level in filter(None, above):
        if further:
            names, further = _keywords(level)
            accepted += [name for name in names if name not in ("self", *accepted)]
    parameters = inspect.signature(factory).parameters.values()
    required = [p.name for p in parameters if p.kind in NAMED and p.default is p.empty]
    return accepted, open_ended, required


def _keywords(function: Callable[..., Any]) -> tuple[list[str], bool]:
    """The keywords of a function or class, those of `**options: Unpack[..]` too, and whether it takes any."""
    names: list[str] = []
    open_ended = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in NAMED:
            names.append(parameter.name)
        elif parameter.kind is parameter.VAR_KEYWORD:
            passed_on = _typed_keywords(function, parameter.name)
            names += passed_on
            open_ended = not passed_on
    return names, open_ended


def _typed_keywords(function: Callable[..., Any], name: str) -> list[str]:
    """The keys of the TypedDict by which `**name` is annotated; none where there is no such annotation."""
    known: Any = function
    try:
        hint = get_type_hints(known.__init__ if isinstance(function, type) else known).get(name)
    except Exception:  # an annotation that cannot be read says nothing
        return []
    return list(get_type_hints(get_args(hint)[0])) if get_origin(hint) is Unpack else []


def _unknown(name: str, option: str, accepted: list[str]) -> ValueError:
    known = ", ".join(accepted) or "none"
    return ValueError(
        f"environment {name!r} has no option {option!r}{did_you_mean(option, accepted)} (accepted: {known})"
    )
