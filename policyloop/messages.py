"""Words for people, in all packages alike: the name that was meant, and any text on one line."""

import difflib
import re
from collections.abc import Iterable


def did_you_mean(value: object, accepted: Iterable[str]) -> str:
    """A hint for the end of a clause, "; did you mean 'name'?"; "" if no accepted name is near."""
    close = difflib.get_close_matches(str(value).lower(), list(accepted), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown_name(what: str, value: object, accepted: Iterable[str]) -> str:
    """One line about an unknown name: the nearest accepted one, and all of them."""
    names = list(accepted)
    return f"unknown {what} {value!r}{did_you_mean(value, names)} (accepted: {', '.join(names)})"


_NUMBER = re.compile(r"\[Errno -?\d+\] ")

LONGEST = 4000
"""Characters of a text on one line, at most."""


def on_one_line(text: object) -> str:
    """Any text, or any failure, as one short line that can be shown, stored and sent.

    White space is folded; what is no printable character (controls, halves of surrogate pairs, marks that
    turn the direction of writing) is written as Python escapes it; the middle of a long text is left out. An
    exception without a message gives its class, and what cannot say what it is, too. The number of a system's
    error, `[Errno 21]`, says nothing to people, and is left out.
    """
    return _folded(text) or (class_name(text) if isinstance(text, BaseException) else "")


def failure(error: BaseException) -> str:
    """An exception's class and message, on one line."""
    return f"{class_name(error)}: {_folded(error)}".rstrip()


def class_name(thing: object) -> str:
    """The name of a thing's class, whatever its metaclass says."""
    name: str = type.__dict__["__name__"].__get__(type(thing))
    return _printable(name[:100])


def _folded(thing: object) -> str:
    return _cut(_printable(" ".join(_cut(_text_of(thing)).split())))


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    kept = LONGEST - 40
    return f"{text[: kept * 2 // 3]} .. ({len(text)} characters) .. {text[-kept // 3 :]}"


def _text_of(thing: object) -> str:
    try:
        text = str(thing)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a failure's own text may fail in every way
        return f"a {class_name(thing)} that cannot say what it is"
    plain = str.__getitem__(text, slice(None))  # of a subclass, whose methods may do anything, plain text
    return _NUMBER.sub("", plain) if isinstance(thing, OSError) else plain


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
