"""How output files are written: beside their place, and renamed when they are whole.

So nobody meets half a file, and a kill or a full disk leaves none; what was there before stays until then. A
kill can leave a file `.policyloop-*.partial`, which may be deleted.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from policyloop.messages import on_one_line
from scenarios.errors import UserError


@contextlib.contextmanager
def whole_file(target: str | Path) -> Iterator[Path]:
    """The empty file to write to, which becomes `target` when the context ends without an error.

    The file has the permissions of the one that it replaces, or of any new one (0666 less the umask). It has
    no ending by which a format could be told. A symbolic link is followed, and stays.

    Parameters
    ----------
    target : str or Path
        A name in a folder that is there.

    Raises
    ------
    UserError
        An OSError in the context or in renaming: no permission, say, or a full disk. `target` is as it was.
    """
    place = Path(os.path.realpath(target))
    partial = _beside(place)
    try:
        with open(partial, "xb"):
            pass
        yield partial
        with open(partial, "rb") as written:
            os.fsync(written.fileno())  # on the disk before its name is, or a power cut leaves an empty file
        if place.exists():
            partial.chmod(stat.S_IMODE(place.stat().st_mode))
        partial.replace(place)
    except OSError as error:
        raise cannot_write(target, error) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(target: str | Path) -> Iterator[Path]:
    """A new folder to fill in place of `target`, which is not there yet, as `whole_file`."""
    place = Path(target)
    partial = _beside(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir()
        yield partial
        if os.path.lexists(place):  # an empty folder would be replaced without a word
            raise FileExistsError(None, "is there already")
        partial.rename(place)
    except OSError as error:
        raise cannot_write(target, error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_whole(target: str | Path, text: str) -> None:
    """Write a text file in UTF-8, as `whole_file`."""
    with whole_file(target) as partial:
        partial.write_text(text, encoding="utf-8")


def cannot_write(target: str | Path, error: OSError) -> UserError:
    """That a file cannot be written, and why, in one line."""
    return UserError(f"{target}: cannot be written ({on_one_line(error.strerror or error)})")


def _beside(place: Path) -> Path:
    # Of no other process, and short, since the name of the place may be as long as names can be.
    return place.with_name(f".policyloop-{secrets.token_hex(6)}.partial")
