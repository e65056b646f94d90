"""Text of others made plain where it leaves us: names, titles, units and messages may hold anything.

One function an edge. What is stored stays as it is.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

RUN = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Beginnings of a cell that spreadsheets run as a formula: = + - @, also in full width, and white space."""


def for_terminal(text: str) -> str:
    r"""Text for a terminal, in which nothing moves the cursor, sets a title or turns what is written.

    Line ends and tabs stay; spaces of all kinds become spaces; what is no printable character is written as
    Python escapes it, `\x1b`.
    """
    if text.isprintable():
        return text
    return "".join(one if one in "\n\t" or one.isprintable() else _escaped(one) for one in text)


def plain_console(**options: Any) -> Console:
    """A console of rich's in which names are no markup, and text is as `for_terminal` makes it.

    Made plain are texts that are printed, and those of tables; not a `rich.text.Text`.
    """
    from rich.console import Console  # slow to import
    from rich.text import Text

    class Plain(Console):
        def render_str(self, text: str, **styles: Any) -> Text:
            """Every text, of a cell, a title or a line, comes through here."""
            return super().render_str(for_terminal(text), **styles)

        def on_broken_pipe(self) -> None:
            """Rich would end the process with exit code 1; who pipes into `head` has done nothing wrong."""
            raise BrokenPipeError

    return Plain(markup=False, emoji=False, highlight=False, **options)


def for_figure(text: str, longest: int = 80) -> str:
    """Text for a figure: on one line, cut to a length, without mathematics, and visible in a legend."""
    line = for_terminal(" ".join(text.split()))
    short = line if len(line) <= longest else f"{line[: longest - 3]} .."
    # Matplotlib takes what is between dollars for mathematics, and leaves what begins with _ out of legends.
    return (f" {short}" if short.startswith("_") else short).replace("$", r"\$")


def for_spreadsheet(cell: object) -> object:
    """A cell of a table in CSV that no spreadsheet runs: such a text gets an apostrophe before it.

    Numbers, and texts that are numbers, stay as they are.
    """
    if not isinstance(cell, str) or not cell.lstrip(" ").startswith(RUN) or _is_number(cell):
        return cell
    return f"'{cell}"


def from_spreadsheet(text: str) -> str:
    """A cell's text as it was before `for_spreadsheet`, or a spreadsheet, put an apostrophe before it."""
    return text[1:] if text.startswith("'") and text[1:].startswith(RUN) else text


def _escaped(one: str) -> str:
    return " " if unicodedata.category(one) == "Zs" else one.encode("unicode_escape").decode()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
