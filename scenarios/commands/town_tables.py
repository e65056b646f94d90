"""What `policyloop data check` says of small tables of towns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scenarios.commands.console import say
from scenarios.numbers import significant

if TYPE_CHECKING:
    from simulators.country.town_tables import TownTables


def lines_of(town: TownTables) -> list[str]:
    """A line a table: what it says at a glance."""
    said = []
    if town.households is not None:
        shares = ", ".join(f"{size} {share:.0%}" for size, share in enumerate(town.households, 1) if share)
        said.append(f"households: {town.household_size:.3g} persons on average ({shares})")
    if town.schools is not None:
        levels = []
        for one in town.schools:
            parts = [f"{one.class_size} in a class" if one.class_size else ""]
            parts.append(f"{one.school_size} in a school" if one.school_size else "")
            parts.append(f"{one.enrolled:.0%} of these ages" if one.enrolled is not None else "")
            levels.append(f"{one.ages} ({', '.join(part for part in parts if part)})")
        said.append(f"schools: ages {', '.join(levels)}")
    if town.workplaces is not None:
        by_number = town.workplaces[0].number is not None
        counts = [one.number if by_number else one.persons for one in town.workplaces]
        total = sum(count or 0.0 for count in counts)
        pairs = zip(town.workplaces, counts, strict=True)
        shares = ", ".join(f"{one.sizes} {(count or 0.0) / total:.2g}" for one, count in pairs)
        said.append(f"workplaces: shares {'' if by_number else 'of those who work '}by size: {shares}")
    if town.employment is not None:
        parts = [
            f"{one.ages} {one.employed:.0%}"
            + (f", {one.commuting:.0%} of them at a workplace" if one.commuting < 1 else "")
            for one in town.employment
        ]
        said.append(f"work: {'; '.join(parts)}; nobody of other ages")
    if town.persons is not None:
        said.append(f"persons by age: {significant(float(town.persons.persons.sum()))} in all")
    return said


def print_town(town: TownTables) -> None:
    """Print what the tables say, and how they were read."""
    for line in lines_of(town):
        say(line)
    for finding in town.findings:
        say(f"- {finding}")


def town_json(town: TownTables) -> dict[str, Any]:
    """What `policyloop data check --format json` tells of a town's tables."""
    return {
        "household_size_shares": None if town.households is None else town.households.tolist(),
        "schools": town.schools and [
            {**one._asdict(), "ages": str(one.ages)} for one in town.schools
        ],
        "workplaces": town.workplaces and [
            {"size": str(one.sizes), "workplaces": one.number, "employees": one.persons}
            for one in town.workplaces
        ],
        "employment": town.employment and [
            {"ages": str(one.ages), "employed": one.employed, "commuting": one.commuting}
            for one in town.employment
        ],
        "persons_by_age": town.persons and dict(
            zip(map(str, town.persons.bands), town.persons.persons.tolist(), strict=True)
        ),
        "findings": list(town.findings),
    }  # fmt: skip
