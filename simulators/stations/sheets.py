"""Tables in workbooks (XLSX) and in Parquet, read by openpyxl and pyarrow."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd


def read_workbook(path: str | os.PathLike[str]) -> tuple[pd.DataFrame, int]:
    """The first sheet of a workbook, and the row from 1 that names its columns.

    It is the first with cells in more than half of the columns; titles and notes above it are left out.
    """
    if find_spec("openpyxl") is None:
        raise ValueError(f"{path}: a workbook needs openpyxl (pip install openpyxl); or save it as CSV")
    header = 0

    def read() -> pd.DataFrame:
        nonlocal header
        cells = pd.read_excel(path, dtype=object, engine="openpyxl", header=None)
        filled = cells.notna().sum(axis=1).to_numpy()
        header = int(np.argmax(filled > len(cells.columns) / 2)) if len(cells) else 0
        rows = cells.iloc[header + 1 :].reset_index(drop=True)
        rows.columns = pd.Index(cells.iloc[header].astype("string").fillna("") if len(cells) else [])
        return rows

    return _read(path, "workbook", read), header + 1


def read_parquet(path: str | os.PathLike[str]) -> pd.DataFrame:
    """The table of a Parquet file."""
    return _read(path, "Parquet file", lambda: pd.read_parquet(path).reset_index(drop=True))


def _read(path: str | os.PathLike[str], what: str, read: Callable[[], Any]) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = read()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or str(error).splitlines()[0]}") from None
    except Exception as error:  # of a damaged file the libraries raise whatever they stumble over
        first = (str(error).splitlines() or [""])[0]
        raise ValueError(f"{path}: row 1: not a readable {what} ({type(error).__name__}: {first})") from None
    if not len(frame):
        raise ValueError(f"{path}: row 1: there are no rows below the header")
    frame.columns = pd.Index([str(name).strip() for name in frame.columns])
    return frame
