"""Lines of a text file, plain or packed, in any encoding, with errors of one line that name file and row."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import itertools
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, cast

from policyloop.messages import did_you_mean

LONGEST_LINE = 2**20
"""Characters. A small packed file may hold a line that fills the memory."""

CHUNK = 2**20

MOST_BESIDE = 1000
"""Files of a folder among which one of a similar name is looked for."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

LIKELY = ["cp1252", "cp1250", "cp1251", "cp932", "gb18030", "big5", "euc_kr"]
"""Encodings that tables of stations have where it is not UTF-8: those that are guessed among."""

_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)

GZIP_MAGIC = b"\x1f\x8b"

LARGEST = 2**28
"""Bytes. A file that is read whole is no larger, unpacked."""


def unread(path: str | os.PathLike[str], error: OSError) -> str:
    """Why a file cannot be read, on one line; of one that is not there, which of its folder is most alike."""
    hint, found = "", []
    if isinstance(error, FileNotFoundError):
        folder, name = os.path.split(os.fspath(path))
        with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
            found = [one.name for one in itertools.islice(entries, MOST_BESIDE) if one.is_file()]
        hint = did_you_mean(name, sorted(found))
    return f"{path}: {error.strerror or error}{hint}"


def kind_of(path: str | os.PathLike[str]) -> str:
    """What a file is by its first bytes, not by its name: text (plain or packed), a workbook, or Parquet."""
    try:
        with open(path, "rb") as file:
            head = file.read(4)
        if head == b"PAR1":
            return "parquet"
        if head == b"PK\x03\x04":
            with zipfile.ZipFile(path) as packed:
                return "workbook" if "xl/workbook.xml" in packed.namelist() else "text"
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path}: row 1: the zip file is cut off or damaged ({error})") from None
    except OSError as error:
        raise ValueError(unread(path, error)) from None
    return "text"


def lines(
    path: str | os.PathLike[str], encoding: str | None = None, longest: int = LONGEST_LINE
) -> Iterator[str]:
    """Yield the lines of a file, each with a newline for its end, a byte-order mark left out.

    Whether it is packed (gzip, bzip2, xz, or a zip of one file) is told from its first bytes. A file that is
    not there, cannot be read, is empty or damaged, ends too early, has a line that is too long or is not text
    is a ValueError.

    Parameters
    ----------
    encoding : str, optional
        Left out, what a byte-order mark says, UTF-8 where the whole is, or else the likeliest.
    longest : int, default 2**20
        Characters of a line.
    """
    row = 0
    with _one_line(path, lambda: row + 1):
        chosen = encoding_of(path) if encoding is None else encoding
        with _unpacked(path) as unpacked, io.TextIOWrapper(cast("Any", unpacked), encoding=chosen) as text:
            for row, line in enumerate(iter(lambda: text.readline(longest + 1), ""), 1):
                if len(line) > longest:
                    raise ValueError(
                        f"{path}: row {row}: longer than {longest} characters, so no row of a table"
                    )
                yield line.removeprefix("\ufeff") if row == 1 else line
    if row == 0:
        raise ValueError(f"{path}: row 1: the file is empty")


def beginning(path: str | os.PathLike[str], encoding: str | None = None, size: int = 2**16) -> str:
    """The first characters of a text file, however long its first line is; errors as of `lines`."""
    with _one_line(path, lambda: 1):
        chosen = encoding_of(path) if encoding is None else encoding
        with _unpacked(path) as unpacked, io.TextIOWrapper(cast("Any", unpacked), encoding=chosen) as text:
            return text.read(size).removeprefix("\ufeff")


def content(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """All bytes of a file, plain or gzip; a workbook, which is a zip, as it is.

    A file that is not there, cannot be read, is empty, damaged or larger than `most` is a ValueError.
    """
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == GZIP_MAGIC
            file.seek(0)
            data = gzip.GzipFile(fileobj=file).read(most + 1) if packed else file.read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: the gzip file is cut off or damaged ({error})") from None
    except OSError as error:
        raise ValueError(unread(path, error)) from None
    if not data:
        raise ValueError(f"{path}: the file is empty")
    if len(data) > most:
        raise ValueError(f"{path}: is larger than {most / 2**20:g} MiB, so no table of a country")
    return data


def encoding_of(path: str | os.PathLike[str]) -> str:
    """The encoding of a text file: by its byte-order mark, UTF-8, or the likeliest of `LIKELY`."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    read = b""
    with _one_line(path, lambda: 1), _unpacked(path) as unpacked:
        read = unpacked.read(CHUNK)
        for mark, name in _BOMS:
            if read.startswith(mark):
                return name
        if b"\0" in read:
            at = read[: read.index(b"\0")].count(b"\n") + 1
            raise ValueError(f"{path}: row {at}: not text (a zero byte); name its encoding if it is")
        with contextlib.suppress(UnicodeDecodeError):
            while read:
                decoder.decode(read)
                read = unpacked.read(CHUNK)
            decoder.decode(b"", final=True)
            return "utf-8"
    return _guessed(read, path)


def _guessed(sample: bytes, path: str | os.PathLike[str]) -> str:
    """The likeliest encoding of bytes that are not UTF-8."""
    from charset_normalizer import from_bytes

    foreign = b"\n".join(line for line in sample.splitlines() if not line.isascii()) or sample
    best = from_bytes(foreign[: 2**16], cp_isolation=LIKELY, threshold=0.5).best()
    if best is None:
        raise ValueError(f"{path}: row 1: not text in utf-8 or another known encoding; name it by encoding")
    return str(best.encoding)


@contextlib.contextmanager
def _one_line(path: str | os.PathLike[str], row: Any) -> Iterator[None]:
    """Turn what goes wrong with a file into a ValueError of one line."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: row {row()}: not text in {error.encoding} ({error.reason})") from None
    except UnicodeError as error:  # UTF-16 without a mark
        raise ValueError(f"{path}: row {row()}: not text in this encoding ({error})") from None
    except LookupError as error:
        raise ValueError(f"{path}: {error}") from None
    except _BROKEN as error:
        raise ValueError(f"{path}: row {row()}: the packed file is cut off or damaged ({error})") from None
    except OSError as error:
        raise ValueError(unread(path, error)) from None


@contextlib.contextmanager
def _unpacked(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where it is."""
    with open(path, "rb") as file:
        head = file.read(6)
        file.seek(0)
        if head[:2] == GZIP_MAGIC:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast("IO[bytes]", io.BufferedReader(cast("Any", unpacked)))
        elif head[:3] == b"BZh":
            with bz2.BZ2File(file) as plain:
                yield cast("IO[bytes]", plain)
        elif head == b"\xfd7zXZ\0":
            with lzma.LZMAFile(file) as plain_too:
                yield cast("IO[bytes]", plain_too)
        elif head[:4] == b"PK\x03\x04":
            with zipfile.ZipFile(file) as packed:
                names = [one for one in packed.namelist() if not one.endswith("/") and "__MACOSX" not in one]
                if len(names) != 1:
                    some = ", ".join(names[:3]) + (", .." if len(names) > 3 else "")
                    held = (
                        f"{len(names)} files ({some}); unpack it and read one of them" if names else "no file"
                    )
                    raise ValueError(f"{path}: holds {held}; a zip of one table is accepted")
                with packed.open(names[0]) as member:
                    yield member
        else:
            yield file
