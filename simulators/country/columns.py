"""The columns of a table by the names that people give them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from policyloop.messages import did_you_mean
from simulators.files.grid import Grid

Aliases = Mapping[str, Sequence[str]]
"""The columns that are understood, each by the names that it may have, in any case."""


def key_of(title: str) -> str:
    """A title in small letters, with underscores between its words."""
    return re.sub(r"\W+", "_", title.strip().lower()).strip("_")


def column_of(title: str, aliases: Aliases) -> str | None:
    """The column that a title means; None where it means none."""
    known = {alias: what for what, names in aliases.items() for alias in names}
    key = key_of(title)
    return known.get(key) or known.get(re.sub(r"_(per_infection|share|in_\w+|years?)$", "", key))


def columns_of(
    grid: Grid, header: Sequence[str], aliases: Aliases, needed: Sequence[str], findings: list[str]
) -> dict[str, int]:
    """Where each column that is understood stands.

    The first column may be without a title, and is then the first of those needed. What is not understood is
    said in `findings`.

    Raises
    ------
    ValueError
        One line that names the file: a column twice, or one that is needed and not there.
    """
    known = [alias for names in aliases.values() for alias in names]
    found: dict[str, int] = {}
    strange = []
    for at, title in enumerate(header):
        what = column_of(title, aliases)
        if what is None:
            if title:
                strange.append(repr(title) + did_you_mean(key_of(title), known).replace("; did", ", did"))
        elif what in found:
            raise ValueError(
                f"{grid.source}: row {grid.row(0)}: columns {header[found[what]]!r} and {title!r} are both "
                f"{what}"
            )
        else:
            found[what] = at
    first, *others = needed
    if first not in found and header and header[0] == "" and all(one in found for one in others):
        found[first] = 0
    for what in needed:
        if what not in found:
            raise ValueError(
                f"{grid.source}: row {grid.row(0)}: no column {what!r} "
                f"(accepted: {', '.join(aliases[what])}; "
                f"there are: {', '.join(map(repr, header[:12]))})"
            )
    if strange:
        findings.append(
            f"{grid.source}: not understood, and left out: column{'s' * (len(strange) > 1)} "
            f"{', '.join(strange)}"
        )
    return found
