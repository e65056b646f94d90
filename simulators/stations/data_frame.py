"""Stations from a pandas DataFrame, by a map of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simulators.arrays import Mask
from simulators.stations.columns import check_map, drop_elsewhere
from simulators.stations.gather import TableOptions, gather
from simulators.stations.import_report import ImportReport, Journal
from simulators.stations.station_set import Stations


def from_dataframe(
    frame: pd.DataFrame,
    columns: Mapping[str, str],
    units: Mapping[str, str],
    *,
    source: str = "DataFrame",
    country: str | None = None,
    **options: Unpack[TableOptions],
) -> tuple[Stations, ImportReport]:
    """The stations that a DataFrame holds.

    Parameters
    ----------
    frame : pandas.DataFrame
        Numbers, text, or times with or without a time zone. Its index does not count.
    source : str
        What messages and the report call the table. Rows are counted from 1.
    columns, units, country, **options
        As for `simulators.stations.read_csv`, and so are the results and the errors.
    """
    return from_rows(
        frame, np.arange(1, len(frame) + 1), columns, units, source=source, country=country, **options
    )


def from_rows(
    frame: pd.DataFrame,
    rows: NDArray[np.int64],
    columns: Mapping[str, str],
    units: Mapping[str, str],
    *,
    source: str,
    country: str | None = None,
    broken: Mask | None = None,
    **options: Unpack[TableOptions],
) -> tuple[Stations, ImportReport]:
    """As `from_dataframe`, of rows (n,) with numbers of their own, of which some are `broken`."""
    names = [str(name) for name in frame.columns]
    check_map(columns, units, names, source)
    cells = pd.DataFrame(
        {
            quantity: _plain(frame.iloc[:, names.index(column)]).to_numpy()
            for quantity, column in columns.items()
        }
    )
    journal = Journal(rows)
    if broken is not None:
        journal.note("dropped", broken, "line is not a JSON object")
    drop_elsewhere(cells, country, journal, source)
    return gather(cells, journal, source=source, units=units, **options)


def _plain(column: pd.Series) -> pd.Series:
    """A column as text, whole numbers without a decimal point (an id with gaps is stored as float)."""
    if pd.api.types.is_float_dtype(column):
        whole = column.dropna()
        if len(whole) and (np.isfinite(whole) & (whole == whole.round()) & (whole.abs() < 2**53)).all():
            return column.astype("Int64").astype("string")
    return column.astype("string")
