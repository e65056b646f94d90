"""What a text like `package.module:Class` or `folder/file.py:Class` names."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from policyloop.messages import failure, on_one_line


def is_target(text: Any) -> bool:
    """Whether a text has the form of a target: something on both sides of a last colon."""
    return isinstance(text, str) and all(text.rpartition(":"))


def absolute(target: str, folder: Path) -> str:
    """A target with the whole path of its file, where it names one; relative paths begin in a folder."""
    place, _, attribute = target.rpartition(":")
    return f"{(folder / place).resolve()}:{attribute}" if place.endswith(".py") else target


def load_target(target: str, fits: Callable[[Any], bool] = callable, remark: str = "") -> Any:
    """Import what a target names.

    `package.module:Class`, or `folder/file.py:Class`, relative to the working folder; any attribute will do.
    A file's own folder is appended to the import path, so that a file may import its neighbours. What cannot
    be imported is a ValueError of one line that says why.

    Parameters
    ----------
    target : str
    fits : callable, optional
        Whether a value of the module is of the kind that is wanted: others are not offered where the name is
        wrong.
    remark : str, default ""
        What is said besides where functions alone can be offered.
    """
    if not is_target(target):
        raise ValueError(f"{target!r} must read package.module:Class or file.py:Class")
    place, _, attribute = target.rpartition(":")
    try:
        module = _file(Path(place).resolve()) if place.endswith(".py") else import_module(place)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise ValueError(f"{target!r} cannot be imported: {_why(error, place)}") from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        known = {
            name: value
            for name, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__ and fits(value)
        }
        offered = f"; it has {', '.join(known)}" if known else ""
        if known and all(inspect.isfunction(value) for value in known.values()):
            offered += remark
        raise ValueError(f"{target!r}: {place} has no {attribute!r}{offered}") from None


def _file(path: Path) -> ModuleType:
    """Import a file once; a path is always the same module."""
    name = f"policyloop_{path.stem}_{sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = sys.modules[name] = module_from_spec(spec)  # known before it is run, so that it can be pickled
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _why(error: BaseException, place: str) -> str:
    if isinstance(error, FileNotFoundError) and place.endswith(".py"):
        return on_one_line(error)
    reason = failure(error)
    if isinstance(error, ModuleNotFoundError) and error.name and place.split(".")[0] == error.name:
        reason += "; install it into this environment, or name its file, as in folder/file.py:Class"
    return reason
