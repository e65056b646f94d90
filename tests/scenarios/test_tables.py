"""Tables fit where they are read, and nothing of them is cut."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from scenarios.commands.console import console
from scenarios.tables import print_table


def printed(table, width):
    out = io.StringIO()
    print_table(table, Console(file=out, width=width))
    return out.getvalue()


def numbers(columns=8, rows=3):
    table = Table(title="a title of some words, which may be folded", title_justify="left")
    table.add_column("agent", no_wrap=True)
    for column in range(columns):
        table.add_column(f"a value of {column}", justify="right")
    for row in range(rows):
        table.add_row(
            f"agent {row}", *(f"0.{row}{column}123 [0.0{row}, 0.9{column}]" for column in range(columns))
        )
        table.add_section()
    return table


@pytest.mark.parametrize("width", [40, 80, 160])
def test_every_cell_is_whole_at_any_width_and_no_line_is_longer(width):
    text = printed(numbers(), width)
    assert max(map(cell_len, text.splitlines())) <= width
    for row in range(3):
        for column in range(8):
            assert f"0.{row}{column}123 [0.0{row}, 0.9{column}]" in text


def test_a_table_that_fits_is_one_and_a_wide_one_names_its_rows_again():
    assert len(re.findall("agent 0", printed(numbers(), 400))) == 1
    parts = printed(numbers(), 80)
    assert len(re.findall("agent 0", parts)) == len(re.findall("┡", parts)) > 1
    assert parts.count("a title") == 1


def test_a_column_that_is_too_wide_by_itself_is_folded_and_not_cut():
    table = Table("name", "value")
    table.add_row("a", "x" * 90)
    text = printed(table, 40)
    assert text.count("x") == 90 and "…" not in text


def test_columns_of_text_are_folded_between_words():
    table = Table("name", "what it is")
    table.add_row("a", "some words " * 20)
    assert len(re.findall("┡", printed(table, 60))) == 1


def test_without_a_terminal_the_environment_says_how_wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "93")
    assert console().width == 93
    monkeypatch.delenv("COLUMNS")
    assert console().width == 160


def test_a_narrow_terminal_leaves_the_count_of_rounds_whole(monkeypatch):
    from scenarios.running import progress
    from scenarios.study.records import StoredRound

    out = io.StringIO()
    screen = Console(file=out, width=80, force_terminal=True)
    monkeypatch.setattr(progress, "plain_console", lambda **_: screen)
    live = progress.LiveDisplay()
    live.start("a-scenario-of-ones-own", 12_000, 3_456, 1.0)
    for agent in ("d-gpucb", "gp-ucb", "ei", "mpi", "d-ei", "random"):
        record = StoredRound(
            1, agent, 1, [0.5], None, [1.0], None, 1.0, 0.123456, None, 0.1, 0.1, 0.1, "ok", ""
        )
        live.seen(record)
    live._bar.refresh()
    live.stop()
    assert "3462/12000" in out.getvalue()
