"""Words for people, in all packages alike: the name that was meant, and any text on one line."""

import difflib
from collections.abc import Iterable


def did_you_mean(value: object, accepted: Iterable[str]) -> str:
    """A hint for the end of a clause, "; did you mean 'name'?"; "" if no accepted name is near."""
    close = difflib.get_close_matches(str(value).lower(), list(accepted), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown_name(what: str, value: object, accepted: Iterable[str]) -> str:
    """One line about an unknown name: the nearest accepted one, and all of them."""
    names = list(accepted)
    return f"unknown {what} {value!r}{did_you_mean(value, names)} (accepted: {', '.join(names)})"


def on_one_line(text: object) -> str:
    """A text with all white space folded; of an exception without a message its class."""
    folded = " ".join(str(text).split())
    return folded or (type(text).__name__ if isinstance(text, BaseException) else "")


def failure(error: BaseException) -> str:
    """An exception's class and message, on one line."""
    return on_one_line(f"{type(error).__name__}: {error}")
