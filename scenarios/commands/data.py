"""The command `policyloop data check`: what people's own tables of a country say."""

from __future__ import annotations

import enum
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from policyloop.messages import on_one_line
from scenarios.commands.console import Debug, Force, console, say, tell
from scenarios.commands.town_tables import print_town, town_json
from scenarios.errors import UserError
from scenarios.numbers import significant
from scenarios.outputs import whole_folder, write_whole

if TYPE_CHECKING:
    from simulators.country import Country
    from simulators.country.town_tables import TownTables

_LONG = 5_000_000
"""Bytes. A file of this size takes a while, which is told."""

data = typer.Typer(help="Read and check tables of your own country.", no_args_is_help=True)


class DataFormat(enum.StrEnum):
    """How what was read is printed."""

    text = "text"
    json = "json"


class Reciprocity(enum.StrEnum):
    """What to do with contacts that are not reciprocal."""

    mend = "mend"
    keep = "keep"
    refuse = "refuse"


class Orientation(enum.StrEnum):
    """Who reports."""

    row = "row"
    column = "column"


class MissingAges(enum.StrEnum):
    """What becomes of a survey's contacts without an age."""

    impute = "impute"
    leave_out = "leave-out"
    leave_out_participants = "leave-out-participants"


@data.callback()
def _root() -> None:
    pass


@data.command()
def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE..]", help="Tables; what each is, its header and name tell."),
    ] = None,
    groups: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The groups: columns name and persons, and others.")
    ] = None,
    contacts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Contacts a day, one row and column a group.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="Contacts at home, school, work or other; repeatable."),
    ] = None,
    participants: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Participants of a survey, their households, days; repeatable."),
    ] = None,
    persons: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Persons by finer ages, to weight finer contacts.")
    ] = None,
    households: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of towns: columns size and households.")
    ] = None,
    schools: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of towns: ages, and class_size, school_size or enrolled."),
    ] = None,
    workplaces: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of towns: size, and workplaces or employees.")
    ] = None,
    employment: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of towns: ages, employed, perhaps commuting.")
    ] = None,
    bands: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Other groups: '0-19, 20-64, 65+', or contacts: those of the contacts.",
            show_default="the groups",
        ),
    ] = None,
    split: Annotated[
        bool, typer.Option("--split", help="Split bands by persons where they must be.")
    ] = False,
    country: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a file with several: its sheet, iso3c or country.")
    ] = None,
    area: Annotated[
        str, typer.Option(metavar="NAME", help="Of Prem 2021: overall, urban, rural.")
    ] = "overall",
    orientation: Annotated[
        Orientation | None, typer.Option(help="Who reports.", show_default="row, if reciprocity agrees")
    ] = None,
    reciprocity: Annotated[
        Reciprocity, typer.Option(help="What to do where both sides count other contacts.")
    ] = Reciprocity.mend,
    weigh_days: Annotated[
        bool, typer.Option("--weigh-days", help="Of a survey: weekdays count for 5/7, weekends for 2/7.")
    ] = False,
    missing_ages: Annotated[
        MissingAges, typer.Option(help="Of a survey: what becomes of contacts without an age.")
    ] = MissingAges.impute,
    decimal: Annotated[
        str | None, typer.Option(metavar="MARK", help="The decimal mark.", show_default="as each file tells")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of text.", show_default="as each file tells")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it: a .png or .svg file.", show_default=False)
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write groups.csv, contacts.csv and contacts-SETTING.csv.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[DataFormat, typer.Option(help="What to print.")] = DataFormat.text,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Check tables of a country: groups and contacts, surveys, Prem 2021, Mistry 2021, towns; CSV or Excel.

    It says what was read, how it was understood, and what was mended. What cannot be understood ends with
    one line and exit code 2, and nothing is written.

    For example:

      policyloop data check groups.csv contacts.csv --out country.png

      policyloop data check groups.csv synthetic_contacts_2021.csv --country FRA --write france

      policyloop data check groups.csv contact_common.csv participant_common.csv sday.csv --weigh-days

      policyloop data check households.csv schools.csv workplaces.csv employment.csv --out town.png
    """
    from simulators.country import read_country
    from simulators.country.roles import told_apart
    from simulators.country.town_tables import read_town

    _check_outputs(out, write, force)
    named = {"households": households, "schools": schools, "workplaces": workplaces, "employment": employment}
    of_towns = {kind: path for kind, path in named.items() if path is not None}
    for one in (*(files or []), *(participants or []), groups, contacts, persons, *of_towns.values()):
        if one is not None and one.is_file() and one.stat().st_size > _LONG:
            tell(f"reading {one} ({one.stat().st_size / 1e6:.0f} MB)")
    try:
        roles = told_apart(files or [], country, encoding)
        given = _settings(setting or [])
        group_file = groups or roles.groups
        tables: dict[str, Any] = roles.town | of_towns
        contacts = contacts or (None if roles.contacts is None else Path(roles.contacts))
        by_setting = {**roles.by_setting, **given} or None
        if tables or (group_file, contacts, by_setting) == (None, None, None):
            tables |= {} if persons is None else {"persons": persons}
        if group_file is None and (contacts or by_setting or write or not tables):
            raise UserError(
                "command line: no table of groups (columns name and persons) is given; name it with --groups"
            )
        town = read_town(**tables, decimal=decimal, encoding=encoding) if tables else None
        read = (
            None
            if group_file is None
            else read_country(
                group_file,
                contacts,
                by_setting=by_setting,
                participants=[*(participants or []), *roles.participants] or None,
                persons=persons,
                bands=_bands(bands),
                split=split,
                country=country,
                area=area,
                orientation=None if orientation is None else orientation.value,
                reciprocity=reciprocity.value,
                weigh_days=weigh_days,
                missing_ages=missing_ages.value,
                decimal=decimal,
                encoding=encoding,
            )
        )
    except ValueError as error:
        raise UserError(on_one_line(error)) from error
    if format is DataFormat.json:
        told = {} if read is None else as_json(read)
        if town is not None:
            told["town"] = town_json(town)
        say(json.dumps(told, indent=2, allow_nan=False))
    else:
        if read is not None:
            _print(read)
        if town is not None:
            print_town(town)
    written = [] if out is None else _draw(read, town, out, force)
    if write is not None and read is not None:
        _write(read, write)
        written.append(write)
    if format is DataFormat.text:
        for path in written:
            say(f"{path} is written")


def _draw(country: Country | None, town: TownTables | None, out: Path, force: bool) -> list[Path]:
    """Draw the country, and the tables of its towns: alone, or in a file beside (country-town.png)."""
    from scenarios.figures.country import draw
    from scenarios.figures.town_tables import draw_town
    from scenarios.study.study import check_target

    beside = out if country is None else out.with_name(f"{out.stem}-town{out.suffix}")
    if town is not None:
        check_target(beside, force)
        draw_town(town, beside)
    if country is None:
        return [beside]
    draw(country, out)
    return [out] if town is None else [out, beside]


def as_json(country: Country) -> dict[str, Any]:
    """What `policyloop data check --format json` tells of a country."""
    from simulators.country.summary import summary
    from simulators.country.tidy import COLUMNS

    found = summary(country)
    factor = found.failure.factor
    return {
        "groups": list(country.groups),
        "persons": country.persons.tolist(),
        "contacts_a_day": found.contacts_of_groups.tolist(),
        "mean_contacts_a_day": found.mean_contacts,
        "mean_contacts_a_day_by_setting": dict(found.mean_by_setting),
        "largest_eigenvalue": found.largest_eigenvalue,
        "share_of_contacts_counted_from_one_side": found.imbalance,
        "largest_factor_between_sides": factor if math.isfinite(factor) else None,
        "known_of_groups": [name for name in COLUMNS if getattr(country, name) is not None],
        "findings": list(country.findings),
    }


def _print(country: Country) -> None:
    from rich.table import Table

    from scenarios.tables import print_table
    from simulators.country.summary import summary
    from simulators.country.tidy import COLUMNS

    found = summary(country)
    known = [name for name in COLUMNS if getattr(country, name) is not None]
    table = Table("group")
    for title in ("persons", "contacts a day", *(name.replace("_", " ") for name in known)):
        table.add_column(title, justify="right")
    for j, name in enumerate(country.groups):
        cells = [found.contacts_of_groups[j], *(getattr(country, column)[j] for column in known)]
        table.add_row(name, f"{country.persons[j]:,.0f}", *(significant(float(cell)) for cell in cells))
    print_table(table, console())
    J = len(country.groups)
    say(f"{J} group{'s' * (J > 1)}, {country.persons.sum():,.0f} persons")
    settings = ", ".join(f"{name} {significant(mean, 3)}" for name, mean in found.mean_by_setting.items())
    say(f"mean contacts {significant(found.mean_contacts)} a day{f' ({settings})' if settings else ''}")
    say(f"largest eigenvalue of the contacts {significant(found.largest_eigenvalue)}")
    say(f"counted from one side alone, as read: {found.imbalance:.2%} of the contacts")
    for finding in country.findings:
        say(f"- {finding}")


def _settings(pairs: list[str]) -> dict[str, str]:
    from simulators.country.settings import setting_of

    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not name or not equals or not path:
            raise UserError(
                f"command line: --setting {pair}; accepted: NAME=FILE, as in home=contacts-home.csv"
            )
        found[setting_of(name)] = path
    return found


def _bands(text: str | None) -> Any:
    """Names between commas, or one of the words that `read_country` knows."""
    if text is None or text in ("groups", "contacts"):
        return text
    return [name.strip() for name in text.split(",") if name.strip()]


def _check_outputs(out: Path | None, folder: Path | None, force: bool) -> None:
    """Refuse what cannot be written before anything is read."""
    if out is not None:
        from scenarios.figures.country import format_of
        from scenarios.study.study import check_target

        format_of(out)
        check_target(out, force)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: is a file; give the name of a folder")
    if folder is not None and folder.is_dir() and any(folder.glob("*.csv")) and not force:
        raise UserError(f"{folder}: holds tables; give --force to replace them, or another --write")


def _write(country: Country, folder: Path) -> None:
    from simulators.country.tidy import tidy

    files = tidy(country)
    if folder.is_dir():
        for name, text in files.items():
            write_whole(folder / name, text)
        return
    with whole_folder(folder) as partial:
        for name, text in files.items():
            (partial / name).write_text(text, encoding="utf-8")
