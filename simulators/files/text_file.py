"""Lines of a text file, plain or gzip, with errors of one line that name the file and the row."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from typing import BinaryIO

GZIP_MAGIC = b"\x1f\x8b"

LONGEST_LINE = 2**20
"""Bytes. A small packed file may hold a line that fills the memory."""

LARGEST = 2**28
"""Bytes. A file that is read whole is no larger, unpacked."""


def lines(path: str | os.PathLike[str], encoding: str = "utf-8") -> Iterator[str]:
    """Yield the lines of a file with their ends, a byte-order mark left out.

    Whether it is gzip is told from its first bytes, not from its name. A file that is not there, cannot be
    read, is empty or damaged, ends too early, has a line of over 1 MiB or is not text in this encoding is a
    ValueError.
    """
    row = 0
    try:
        with open(path, "rb") as file:
            unpacked = _unpacked(file)
            for row, raw in enumerate(iter(lambda: unpacked.readline(LONGEST_LINE + 1), b""), 1):
                if len(raw) > LONGEST_LINE:
                    raise ValueError(
                        f"{path}: row {row}: longer than {LONGEST_LINE} bytes, so no row of a table"
                    )
                line = raw.decode(encoding)
                yield line.removeprefix("\ufeff") if row == 1 else line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: row {row + 1}: the gzip file is cut off or damaged ({error})") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: row {row}: not text in {encoding} ({error.reason})") from None
    except LookupError:
        raise ValueError(f"{path}: unknown encoding {encoding!r}") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    if row == 0:
        raise ValueError(f"{path}: row 1: the file is empty")


def content(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """All bytes of a file, plain or gzip.

    A file that is not there, cannot be read, is empty, damaged or larger than `most` is a ValueError.
    """
    try:
        with open(path, "rb") as file:
            data = _unpacked(file).read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: the gzip file is cut off or damaged ({error})") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    if not data:
        raise ValueError(f"{path}: the file is empty")
    if len(data) > most:
        raise ValueError(f"{path}: is larger than {most / 2**20:g} MiB, so no table of a country")
    return data


def _unpacked(file: BinaryIO) -> BinaryIO | io.BufferedReader:
    head = file.read(2)
    file.seek(0)
    if head == GZIP_MAGIC:
        return io.BufferedReader(gzip.GzipFile(fileobj=file))
    return file
