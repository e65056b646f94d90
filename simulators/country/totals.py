"""Rows and columns that are no group but the sum of all: tables of statistical offices end with them."""

from collections.abc import Iterable

TOTALS = frozenset(
    ("total", "totals", "all", "all ages", "all persons", "sum", "overall", "grand total", "total population",
     "gesamt", "insgesamt", "summe", "ensemble", "totale", "totaal", "suma", "somme")
)  # fmt: skip


def is_total(name: str) -> bool:
    """Whether a name says the sum of all others."""
    return " ".join(name.casefold().strip(" :_-").split()) in TOTALS


def first_total(names: Iterable[str]) -> str | None:
    """The first name that says so, None where none does."""
    return next((name for name in names if is_total(name)), None)
