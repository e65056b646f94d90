"""The words and the numbers of a report: a language is a file `words-CODE.toml`, all numbers pass here."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from policyloop.plain_text import for_terminal
from scenarios.numbers import significant
from scenarios.questions.estimate import Estimate
from scenarios.study.levers import Entry

ENGLISH = "en"


class Language:
    """How a report speaks.

    Parameters
    ----------
    code : str, default "en"
        The file `words-CODE.toml` beside this one.
    """

    def __init__(self, code: str = ENGLISH) -> None:
        self.code = code
        self._words = _words(code)

    def say(self, key: str, **values: object) -> str:
        """The sentence of a key, with values in their places; numbers among them are formatted already.

        What values hold is text of others: control characters are made visible, and it is never a format.
        """
        return self._words[key].format(**{name: plain(str(value)) for name, value in values.items()})

    def number(self, value: float | None, digits: int = 3) -> str:
        """A number by its significant digits, thousands parted; "-" where it is unknown."""
        text = significant(value, digits)
        if value is None or not math.isfinite(value) or "e" in text:
            return text
        whole, _, rest = text.partition(".")
        sign, whole = ("\N{MINUS SIGN}", whole[1:]) if whole.startswith("-") else ("", whole)
        parted = f"{int(whole):,}".replace(",", self._words["number.thousands"]) if len(whole) > 4 else whole
        return sign + parted + (self._words["number.decimal"] + rest if rest else "")

    def whole(self, value: float) -> str:
        """A count, to the last one."""
        return f"{round(value):,}".replace(",", self._words["number.thousands"]).replace(
            "-", "\N{MINUS SIGN}"
        )

    def persons(self, value: float | None) -> str:
        """A large count, by three digits: 123,000 or 12.3 million."""
        if value is None or not math.isfinite(value):
            return "-"
        if abs(value) < 0.5:  # of persons there is nothing less
            return self.whole(0.0)
        for size, key in ((1e9, "number.billion"), (1e6, "number.million")):
            if abs(value) >= size:
                return self.say(key, count=self.number(value / size))
        return self.whole(float(f"{value:.2e}")) if abs(value) >= 10 else self.number(value)

    def percent(self, share: float | None, digits: int = 2) -> str:
        """A share as per cent."""
        if share is None or not math.isfinite(share):
            return "-"
        return self.say("number.percent", value=self.number(100 * share, digits))

    def estimate(self, one: Estimate | Mapping[str, Any] | None, digits: int = 3) -> str:
        """A mean with its interval, or without where there is none."""
        if one is None:
            return "-"
        mean, low, high = (
            (one.mean, one.low, one.high)
            if isinstance(one, Estimate)
            else (one["mean"], one["low"], one["high"])
        )
        if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
            return self.number(mean, digits)
        middle, lower, upper = (self.number(one, digits) for one in (mean, low, high))
        if lower == middle == upper:  # nothing of the noise is left, in a paired difference for one
            return middle
        return self.say("number.interval", mean=middle, low=lower, high=upper)

    def entry(self, value: Entry) -> str:
        """An entry of a policy; a search may end 1e-16 beside a bound, and nobody wants to read that."""
        if isinstance(value, float):
            return self.number(value if abs(value) > 1e-9 else 0.0)
        return plain(str(value))

    def entries(self, entries: Mapping[str, Entry]) -> tuple[str, ...]:
        """A policy in a cell: "0-19: 0.98" and so on."""
        return tuple(f"{plain(label)}: {self.entry(value)}" for label, value in entries.items())

    def policy(self, entries: Mapping[str, Entry]) -> str:
        """A policy in a sentence: "0-19: 0.98, 20-49: 0.52"."""
        return self.listed(self.entries(entries))

    def listed(self, texts: Sequence[str], most: int = 12) -> str:
        """Some texts in a row, and how many more there are."""
        shown = [plain(text) for text in texts[:most]]
        if len(texts) > most:
            shown.append(self.say("number.more", count=len(texts) - most))
        return ", ".join(shown)

    def with_unit(self, name: str, unit: str) -> str:
        """A name with its unit, where it has one."""
        return f"{plain(name)}, {plain(unit)}" if unit else plain(name)

    def after(self, unit: str) -> str:
        """A unit behind a number: with its space, or nothing where there is none."""
        return f" {plain(unit)}" if unit else ""

    def trials(self, count: int) -> str:
        """So many trials."""
        return self.say("page.trials", count=self.whole(count)) if count > 1 else self.say("page.trial")

    def times(self, count: int) -> str:
        """How often something was done."""
        return self.say("number.times" if count > 1 else "number.once" if count else "number.never", n=count)


def plain(text: str) -> str:
    """Text of others on one line, in which no character does anything."""
    return for_terminal(" ".join(text.split(" "))).replace("\n", " ").replace("\t", " ")


@cache
def _words(code: str) -> dict[str, str]:
    text = files(__package__).joinpath(f"words-{code}.toml").read_text(encoding="utf-8")
    return dict(_flat("", tomllib.loads(text)))


def _flat(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _flat(f"{key}.{name}" if key else name, below)
    else:
        yield key, " ".join(str(value).split()) if "\n" in value else str(value)
