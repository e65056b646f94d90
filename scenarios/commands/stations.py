"""The command `policyloop stations`: what would be read of a file of weather stations, without a run."""

from __future__ import annotations

import enum
import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from policyloop.messages import on_one_line
from scenarios.commands.check import options_of
from scenarios.commands.console import Debug, Force, Jobs, Quiet, console, say, tell
from scenarios.errors import UserError

if TYPE_CHECKING:
    from scenarios.questions.kernel_choice import KernelChoice
    from simulators.stations import Stations


class StationsFormat(enum.StrEnum):
    """How `stations` prints."""

    text = "text"
    json = "json"


_MAP = "QUANTITY=NAME,.."


def stations(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Stations: text, JSON, XLSX or Parquet; or a scenario of them, .toml."
        ),
    ],
    columns: Annotated[str | None, typer.Option(metavar=_MAP, help="Which column holds what.")] = None,
    units: Annotated[str | None, typer.Option(metavar=_MAP, help="The unit of each quantity.")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="The moment that is wanted.")] = None,
    window: Annotated[float | None, typer.Option(help="Hours around that moment.")] = None,
    box: Annotated[str | None, typer.Option(metavar="W,S,E,N", help="Degrees; others are dropped.")] = None,
    country: Annotated[str | None, typer.Option(help="Others are dropped, where the file tells it.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of text.", show_default="detected")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="KEY=VALUE", help="Another, such as quality=off; repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="NAME", help="Draw NAME.png and NAME.svg.")] = None,
    fetch: Annotated[
        str | None, typer.Option(metavar="URL", help="Fetch this into FILE first: an answer of a service.")
    ] = None,
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Which kernel predicts them best, by cross-validation.")
    ] = False,
    folds: Annotated[int, typer.Option(help="Of the cross-validation.")] = 5,
    learn_noise: Annotated[
        bool, typer.Option("--learn-noise", help="Let every kernel learn its noise, too.")
    ] = False,
    jobs: Jobs = 1,
    quiet: Quiet = False,
    format: Annotated[StationsFormat, typer.Option(help="How to print.")] = StationsFormat.text,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Read weather stations as a run would, and tell what was found; nothing is run or stored.

    For example:

      policyloop stations my.csv --columns lon=x,lat=y,temperature=t,dew_point=td,wind=ff
        --units temperature=degC,dew_point=degC,wind=kt

      policyloop stations weather_14.json.gz --country US --out map

      policyloop stations my.csv --kernels

      policyloop stations my-network/scenario.toml

      policyloop stations metar.json
        --fetch "https://aviationweather.gov/api/data/metar?bbox=25,-125,50,-65&format=json"
    """
    from simulators.stations import read_stations

    if (folds, learn_noise) != (5, False) and not kernels:
        raise UserError("command line: --folds and --learn-noise are of --kernels, which is not given")
    named = {"at": at, "window": window, "country": country, "encoding": encoding}
    given: dict[str, Any] = {**options_of(option or [])}
    given |= {name: value for name, value in named.items() if value is not None}
    for name, text in (("columns", columns), ("units", units)):
        if text is not None:
            given[name] = _mapping(name, text)
    if box is not None:
        given["box"] = _numbers(box)
    if out is not None and not force:
        for path in (out.with_name(f"{out.name}.{kind}") for kind in ("png", "svg")):
            if path.exists():
                raise UserError(f"command line: --out = {out}: {path} exists; --force replaces it")
    if fetch is not None:
        _fetch(fetch, file, force, quiet)
    options = {"data": str(file.absolute()), **given}
    if file.suffix == ".toml":
        options = _of_scenario(file) | given
    try:
        with _stage(f"reading {file}", quiet):
            found, report = read_stations(
                options["data"], **{name: one for name, one in options.items() if name != "data"}
            )
    except (ValueError, TypeError) as error:
        raise UserError(on_one_line(error)) from error
    choice = _choice(found, folds, learn_noise, jobs, quiet) if kernels else None
    if format is StationsFormat.json:
        told: dict[str, Any] = {**report.to_dict(), "ranges": _ranges(found)}
        if choice is not None:
            told["kernels"] = choice.to_dict()
        say(json.dumps(told, indent=2, allow_nan=False))
    else:
        for line in [*str(report).splitlines(), *_range_lines(found), *_next(file, given, options)]:
            say(line)
        if choice is not None:
            _print_choice(choice)
    if out is not None:
        from scenarios.figures.drawing import save
        from scenarios.figures.import_map import import_map

        with _stage("drawing the map", quiet):
            paths = save(import_map(found, report), out)
        for path in paths:
            say(path)


@contextmanager
def _stage(what: str, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show that something goes on; the context's value adds how far it is."""
    from scenarios.running.progress import choose

    progress = choose(quiet)
    try:
        with progress.stage(what) as seen:
            yield seen
    finally:
        progress.stop()


def _fetch(url: str, file: Path, force: bool, quiet: bool) -> None:
    from scenarios.commands.fetching import fetch

    with _stage(f"fetching {file}", quiet):
        size = fetch(url, file, force=force)
    tell(f"wrote {file}, {size} bytes")


def _choice(stations: Stations, folds: int, learn_noise: bool, jobs: int, quiet: bool) -> KernelChoice:
    from scenarios.questions.kernel_choice import choose_kernel

    with _stage("comparing kernels", quiet) as seen:
        return choose_kernel(stations, folds=folds, learn_noise=learn_noise, jobs=jobs, seen=seen)


def _print_choice(choice: KernelChoice) -> None:
    """The families, best first, and the lines of a scenario that take the best."""
    from rich.table import Table

    from scenarios.questions.kernel_choice import HEADS
    from scenarios.tables import print_table

    noise = "learned as well" if choice.learned_noise else "that of the weather environments"
    drawn = f", drawn from {choice.drawn_from}" if choice.drawn_from > choice.stations else ""
    title = (
        f"Kernels by {choice.folds}-fold cross-validation on {choice.stations} stations{drawn}; noise {noise}"
    )
    table = Table(title=title, title_justify="left", title_style="bold")
    for place, head in enumerate(HEADS):
        table.add_column(head, justify="left" if place == 0 else "right", no_wrap=True)
    for row in choice.rows():
        table.add_row(*row)
    say("")
    print_table(table, console())
    for line in ["In a scenario file:", "[prior]", f'family = "{choice.best}"']:
        say(line)


def _mapping(name: str, text: str) -> dict[str, str] | str:
    if "=" not in text and name == "units":
        return text
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(key.strip() and value.strip() for key, _, value in pairs):
        raise UserError(f"command line: --{name} = {text}; accepted: QUANTITY=NAME, separated by commas")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _numbers(text: str) -> list[float]:
    try:
        return [float(one) for one in text.split(",")]
    except ValueError:
        raise UserError(f"command line: --box = {text}; accepted: west,south,east,north in degrees") from None


def _ranges(stations: Stations) -> dict[str, list[float]]:
    names = ("lon", "lat", "temperature", "humidity", "wind")
    return {n: [float(getattr(stations, n).min()), float(getattr(stations, n).max())] for n in names}


def _range_lines(stations: Stations) -> list[str]:
    units = {"lon": "degrees", "lat": "degrees", "temperature": "K", "humidity": "percent", "wind": "m/s"}
    return [
        f"{name:11} {low:.2f} .. {high:.2f} {units[name]}" for name, (low, high) in _ranges(stations).items()
    ]


def _of_scenario(file: Path) -> dict[str, Any]:
    """What a scenario's environment reads, and how."""
    from scenarios.declaration.catalogue import load
    from scenarios.declaration.parse import READERS
    from simulators.stations import StationOptions

    environment = load(file).environment
    if environment.name not in READERS:
        accepted = ", ".join(READERS)
        raise UserError(f"{file}: environment = {environment.name!r} reads no stations; accepted: {accepted}")
    return {"data": None} | {
        name: value
        for name, value in environment.options.items()
        if name == "data" or name in StationOptions.__annotations__
    }


def _next(file: Path, given: dict[str, Any], options: dict[str, Any]) -> list[str]:
    """The lines of a scenario that read the same, and the command that runs it."""
    if file.suffix == ".toml" and not given:
        return ["", f"Next: policyloop run {shlex.quote(str(file))}"]
    inside = ", ".join(f"{key} = {_toml(value)}" for key, value in options.items() if value is not None)
    lines = ["", "In a scenario file:", "[environment]", 'name = "weather"', f"options = {{ {inside} }}"]
    if not given:
        lines.append(f"Or: policyloop run weather --data {shlex.quote(str(file))}")
    return lines


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
