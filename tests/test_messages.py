"""Whatever fails can be told in one short line that a terminal, a file and a database take."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyloop.messages import LONGEST, failure, on_one_line


class Raises(Exception):
    def __str__(self):
        raise SystemExit(3)


class NoText(Exception):
    def __str__(self):
        return 5


class Hostile(str):
    def split(self, *_):
        raise RuntimeError

    def __str__(self):
        return self


class Meta(type):
    @property
    def __name__(cls):
        raise RuntimeError


class Nameless(Exception, metaclass=Meta):
    pass


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("two\n lines"), "ValueError: two lines"),
        (ValueError(), "ValueError:"),
        (ValueError("\udcff\x1b[31m"), r"ValueError: \udcff\x1b[31m"),
        (ValueError("\u202eevil"), r"ValueError: \u202eevil"),
        (ValueError("Zürich 雪"), "ValueError: Zürich 雪"),
        (Raises(), "Raises: a Raises that cannot say what it is"),
        (NoText(), "NoText: a NoText that cannot say what it is"),
        (ValueError(Hostile("a\nb")), "ValueError: a b"),
        (Nameless("x"), "Nameless: x"),
        (IsADirectoryError(21, "Is a directory", "there"), "IsADirectoryError: Is a directory: 'there'"),
        (OSError("[Errno 2] words of its own"), "OSError: words of its own"),
        (ValueError("[Errno 2] is what I say"), "ValueError: [Errno 2] is what I say"),
        (type("N" * 5000, (Exception,), {})("x"), "N" * 100 + ": x"),
    ],
)
def test_a_failure_is_told_in_one_line_whatever_it_is(error, words):
    assert failure(error) == words


@given(st.text(alphabet=st.characters(), max_size=50) | st.text(st.characters(categories=["Cs", "Cc"])))
def test_any_text_is_one_printable_line_that_can_be_stored(text):
    told = on_one_line(text)
    assert told.isprintable() and type(told) is str
    stored = sqlite3.connect(":memory:").execute("SELECT ?", (told,)).fetchone()[0]
    assert stored == told and on_one_line(told) == told


def test_of_a_text_of_megabytes_beginning_and_end_are_told():
    told = on_one_line(ValueError("begin " + "x" * 5_000_000 + " end (seed 7)"))
    assert len(told) <= LONGEST and len(on_one_line("\udcff" * 5000)) <= LONGEST
    assert told.startswith("begin x") and told.endswith("x end (seed 7)") and "(5000019 characters)" in told


def test_ctrl_c_is_never_taken_for_a_failed_text():
    class Slow(Exception):
        def __str__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_one_line(Slow())
