"""The checksum of a row by an independent computation, and what becomes of rows that do not have theirs."""

import binascii
import contextlib
import sqlite3
import struct

import pytest
from studies import a_round

from scenarios.study.checksums import DamagedRow, checksum, rows, seal_all, whole_rows
from scenarios.study.records import Detail
from scenarios.study.store import Store


def by_hand(table, row):
    """CRC-32 over the table's name and, of every value, a letter for its type and its bytes."""
    data = table.encode() + b"(" + struct.pack("<i", len(row))
    for value in row:
        if value is None:
            data += b"N"
        elif isinstance(value, float):
            data += b"g" + struct.pack("<d", value)
        elif isinstance(value, int):
            data += b"i" + struct.pack("<i", value)
        else:
            kind, text = (b"u", value.encode()) if isinstance(value, str) else (b"s", value)
            data += kind + struct.pack("<i", len(text)) + text
    return binascii.crc32(data)


@pytest.mark.parametrize(
    "row", [(1, "d-gpucb", 0.1 + 0.2, None, "[0.1,null]"), (2, "ä", -5e-324, b"\x00\xff"), ("",)]
)
def test_the_checksum_is_the_crc_of_types_and_bytes(row):
    assert checksum("rounds", row) == by_hand("rounds", row) != checksum("worlds", row)


def test_a_checksum_is_the_same_for_ever():
    assert checksum("meta", ("key", "value")) == by_hand("meta", ("key", "value")) == PINNED


PINNED = 2977802557


@pytest.fixture
def file(tmp_path):
    with Store(tmp_path / "s") as store:
        store.add([a_round(round=t) for t in (1, 2, 3)], (), [Detail(1, "a", 2, "info", {"x": 0.5})])
    with contextlib.closing(sqlite3.connect(tmp_path / "s")) as connection:
        yield connection


def test_stored_rows_have_the_checksum_of_what_is_read(file):
    for table in ("rounds", "details"):
        found = file.execute(f"SELECT * FROM {table}").fetchall()
        columns = [name for _, name, *_ in file.execute(f"PRAGMA table_info({table})")]
        seals = [row[columns.index("checksum")] for row in found]
        assert seals == [checksum(table, row) for row in rows(file, table)] and len(set(seals)) == len(seals)


CHANGES = ["regret = 0.31", "status = 'ok'", "row = 1", "round = 9", "error = x'00'"]


@pytest.mark.parametrize("change", CHANGES)
def test_a_row_that_has_changed_is_named_and_the_others_are_whole(file, change):
    file.execute("PRAGMA writable_schema=ON")
    with contextlib.suppress(sqlite3.IntegrityError):  # a text column takes no bytes
        file.execute(f"UPDATE rounds SET {change} WHERE round = 2")
    if change.startswith("error"):
        file.execute("UPDATE rounds SET error = 'x' WHERE round = 2")
    with pytest.raises(DamagedRow, match=r"a row of rounds \(trial 1, agent a, round [29]\)"):
        list(rows(file, "rounds"))
    whole, lost = whole_rows(file, "rounds")
    assert [row[2] for row in whole] == [1, 3] and lost == 1
    seal_all(file)
    assert len(list(rows(file, "rounds"))) == 3


def test_negative_zero_is_sealed_as_sqlite_gives_it_back(tmp_path):
    with Store(tmp_path / "s") as store:
        store.add([a_round(regret=-0.0)])
        assert len(list(rows(store.read(), "rounds"))) == 1
