"""How many injected faults the quality control of stations finds, and how long an import takes.

In each draw 1 % of the stations get a fault of one kind: another unit, a turned sign, a value from another
day (stuck), a spike, or a place with longitude's sign turned (swap). Counted are those that move the
temperature by more than 4 local standard deviations, as the buddy check measures them on the data without
faults, and every place that is moved.

Run: python benchmarks/bench_stations.py [--data FILE] [--seeds 20] [--large 30000]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from simulators.stations import Stations, read_stations
from simulators.stations.buddy_check import TOLERANCE, differing_stations
from simulators.stations.local_kriging import Neighbourhoods

FAULTS = ("unit", "sign", "stuck", "spike", "swap")


def faulty(stations: Stations, kind: str, rng: np.random.Generator):
    """The table of the stations, declared in degC, with faults, and the rows that have one."""
    table = stations.to_dataframe()
    celsius = table["temperature"].to_numpy() - 273.15
    rows = rng.choice(len(table), max(1, len(table) // 100), replace=False)
    value = {
        "unit": 1.8 * celsius[rows] + 32,
        "sign": -celsius[rows],
        "stuck": np.full(len(rows), float(np.median(celsius)) - 18.0),
        "spike": celsius[rows] + rng.choice([-20.0, 20.0], len(rows)),
        "swap": celsius[rows],
    }[kind]
    table["temperature"] = celsius
    table.loc[rows, "temperature"] = value
    if kind == "swap":
        table.loc[rows, "lon"] = -table.loc[rows, "lon"]
    return table, rows


def measure(data: str | None, seeds: int) -> None:
    """Print the share of large faults that is found, by kind, and how many more stations are flagged."""
    stations, _ = read_stations(data, quality="off")
    around = Neighbourhoods(stations.lon, stations.lat, 16)
    _, mean, deviation = differing_stations(around, stations.temperature, TOLERANCE["temperature"], 4.0)
    names = {name: name for name in ("lon", "lat", "temperature", "humidity", "wind", "time")}
    names |= {"id": "ids", "name": "names"}
    options = {"columns": names, "units": {"temperature": "degC", "humidity": "percent", "wind": "m/s"}}
    clean = stations.to_dataframe().assign(temperature=stations.temperature - 273.15)
    before = {flag.station for flag in read_stations(clean, **options)[1].flags}
    print(
        f"{data or 'the default snapshot'}: {len(stations)} stations, {len(before)} flagged without a fault"
    )
    for kind in FAULTS:
        found, large, more = 0, 0, []
        for seed in range(seeds):
            table, rows = faulty(stations, kind, np.random.default_rng([seed, FAULTS.index(kind)]))
            kept, _ = read_stations(table, **options)
            gone = set(stations.ids) - set(kept.ids)
            off = np.abs(table["temperature"].to_numpy() + 273.15 - mean) / deviation
            beyond = rows if kind == "swap" else rows[off[rows] > 4.0]
            large += len(beyond)
            found += len(gone & set(stations.ids[beyond]))
            more.append(len(gone - before - set(stations.ids[rows])) / len(stations))
        print(
            f"  {kind:6} {found} of {large} found ({100 * found / max(large, 1):.1f} %), "
            f"{100 * np.mean(more):.2f} % more good stations flagged"
        )


def large(n: int) -> None:
    """Print the time of an import of made-up stations."""
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(-125, -70, n), rng.uniform(25, 49, n)
    table = pd.DataFrame({"id": [f"X{i}" for i in range(n)], "lon": lon, "lat": lat})
    table["t"] = 20 - 0.6 * (lat - 37) + 3 * np.sin(lon / 4) + rng.normal(0, 0.8, n)
    table["h"] = np.clip(60 + 15 * np.sin(lat / 2) + rng.normal(0, 5, n), 0, 100)
    table["w"] = np.maximum(4 + np.sin(lon / 3) + rng.normal(0, 1, n), 0)
    columns = {"id": "id", "lon": "lon", "lat": "lat", "temperature": "t", "humidity": "h", "wind": "w"}
    units = {"temperature": "degC", "humidity": "percent", "wind": "m/s"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stations.csv"
        table.to_csv(path, index=False)
        began = perf_counter()
        _, report = read_stations(path, columns=columns, units=units)
    print(f"{n} stations: imported in {perf_counter() - began:.1f} s, {len(report.flags)} flagged")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="another file than the default snapshot")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--large", type=int, default=30_000)
    given = parser.parse_args()
    measure(given.data, given.seeds)
    large(given.large)
