"""What `policyloop list NAME` tells of an environment, an agent or a scenario, from its own documentation."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, Unpack, get_args, get_origin, get_type_hints, is_typeddict

from rich.table import Table

from policyloop.messages import unknown_name
from scenarios.commands.console import console, say
from scenarios.errors import UserError
from scenarios.tables import print_table


class Option(NamedTuple):
    """An option of an environment, or a setting of an agent; all in words."""

    name: str
    kind: str
    default: str
    meaning: str


def describe(name: str) -> None:
    """Print all that bears a name; UserError where nothing does."""
    import bridges  # noqa: F401 - its agents and environments are known from now on
    import optimizer
    import simulators
    from scenarios.declaration import catalogue
    from simulators.contract.targets import is_target

    scenarios, environments, agents = catalogue.names(), simulators.names(), optimizer.agent_names()
    if name not in (*scenarios, *environments, *agents) and not is_target(name):
        known = sorted({*scenarios, *environments, *agents})
        raise UserError(unknown_name("scenario, environment or agent", name, known))
    if name in scenarios:
        text, _ = catalogue.read(name)
        say(
            f"The scenario {name}: policyloop run {name}, or save this as {name}.toml and change it\n\n{text}"
        )
    if name in environments or is_target(name):
        summary, options = environment_options(name)
        say(f"The environment {name}: {summary}\n")
        _print(options, 'Options, under [environment] as options = { .. }, or --option "KEY=VALUE"')
    if name in agents:
        say(f"The agent {name}: {agent_summary(name)}\n")
        _print(agent_settings(), f'Settings, as an entry of agents: {{ name = "{name}", .. }}')


def _print(options: list[Option], title: str) -> None:
    table = Table(title=title, title_justify="left", title_style="bold", show_lines=True)
    for column in ("name", "type", "default", "meaning"):
        table.add_column(column, ratio=None if column == "name" else 1 if column != "meaning" else 3)
    first: dict[
        tuple[str, str], str
    ] = {}  # who has a meaning first: documentation tells it of several together
    for option in options:
        told = first.setdefault((option.kind, option.meaning), option.name)
        same = option.meaning and told != option.name
        table.add_row(*option[:3], f"As {told}." if same else option.meaning)
    print_table(table, console())


def environment_options(name: str) -> tuple[str, list[Option]]:
    """What an environment is in a sentence, and its options as its documentation tells them."""
    from simulators.contract.registry import options_of

    factory, accepted = options_of(name)
    told = {**_passed_on(factory), **dict(documented(factory))}
    options = []
    for option, default, annotation in accepted:
        kind, meaning = told.get(option, ("", ""))
        options.append(Option(option, kind or _plain(annotation), _default(default), meaning))
    return first_sentence(inspect.getdoc(factory) or ""), options


def _passed_on(factory: Any) -> dict[str, tuple[str, str]]:
    """Kind and meaning of the options that are passed on, by the typed dictionaries that declare them."""
    found: dict[str, tuple[str, str]] = {}
    for level in reversed(getattr(factory, "__mro__", ())):
        hints = get_type_hints(vars(level)["__init__"]) if "__init__" in vars(level) else {}
        for hint in hints.values():
            for table in get_args(hint) if get_origin(hint) is Unpack else ():
                for declared in _with_bases(table):
                    found |= dict(documented(declared, "attribute"))
    return found


def _with_bases(table: Any) -> Iterator[Any]:
    """A typed dictionary after those that it extends: before Python 3.12 it does not remember them."""
    names = set(get_type_hints(table))
    for other in vars(sys.modules[table.__module__]).values():
        if is_typeddict(other) and set(get_type_hints(other)) < names:
            yield from _with_bases(other)
    yield table


def agent_settings() -> list[Option]:
    """The settings that a scenario's entry of `agents` may have, as in the tables that are for all agents."""
    from scenarios.declaration.schema import AgentSpec, ExplorationSpec, PriorSpec

    meaning = dict(documented(AgentSpec, "attribute"))["acquisition"][1]
    found = [Option("acquisition", AgentSpec.model_fields["acquisition"].description or "", "", meaning)]
    for spec in (ExplorationSpec, PriorSpec):
        meanings = dict(documented(spec, "attribute"))
        for key, field in spec.model_fields.items():
            if key in AgentSpec.model_fields:
                kind = field.description or ""
                found.append(Option(key, kind, _default(field.default), meanings[key][1]))
    return found


def agent_summary(name: str) -> str:
    """What an agent is, in a sentence."""
    from optimizer.acquisition.names import IN_WORDS
    from optimizer.agents.names import BASELINES, GP_AGENTS, MUTUAL_INFORMATION

    if name == MUTUAL_INFORMATION:
        return "greedy placement where sensors tell most of all other places (Krause et al. 2008)"
    if name in BASELINES:
        return BASELINES[name]
    if name not in GP_AGENTS:
        return "of a plug-in"
    feedback, acquisition = GP_AGENTS[name]
    model = {"decomposed": "one Gaussian process a group, composed", "aggregate": "one of the composed value"}
    return f"{feedback} feedback ({model[feedback]}), {IN_WORDS[acquisition]}"


def documented(factory: Any, what: str = "param") -> Iterator[tuple[str, tuple[str, str]]]:
    """Name, kind and meaning of the parameters (or attributes) in the docstrings of a class and its bases."""
    from docstring_parser import DocstringStyle, parse

    for level in reversed(getattr(factory, "__mro__", (factory,))):
        text = level.__doc__ if level is not object else None
        for one in parse(text or "", DocstringStyle.NUMPYDOC).params:
            if one.args[0] != what:
                continue
            kind = re.sub(r", (optional|default .*)$", "", one.type_name or "")
            meaning = " ".join((one.description or "").split()).replace("`", "")
            for each in one.arg_name.lstrip("*").split(","):
                yield each.strip(), (kind, meaning)


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return "required"
    return "" if value is None else repr(value).replace("'", '"') if isinstance(value, str) else str(value)


def _plain(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    return str(getattr(annotation, "__name__", annotation)).replace("typing.", "").replace("NoneType", "None")


def first_sentence(text: str) -> str:
    """The first paragraph of a docstring, on one line and without the signs of code."""
    return " ".join(text.split("\n\n")[0].split()).replace("`", "")
