"""Odd scenario files and station files: each is read, or refused in one line, and nothing else.

Valid files (the catalogue's scenarios; stations as CSV, an IEM export and OpenWeatherMap's JSON lines) are
mutated: bytes flipped, cut, doubled, spliced with another file's, and values replaced by those that parsers
stumble over. A scenario may raise nothing but `UserError`, a station file nothing but `ValueError` itself,
each in one line that begins with the file's name; a warning counts as a failure too.

    nice -n 5 python benchmarks/bench_parsing_fuzz.py [--scenarios 60000] [--stations 40000] [--seed 0]

Prints how many were read and refused, and each kind of failure once, with the seed that repeats it.
"""

import argparse
import gzip
import random
import tempfile
import traceback
import warnings
from collections import Counter
from importlib import resources
from pathlib import Path
from time import perf_counter

from scenarios import load
from scenarios.declaration.catalogue import names
from scenarios.errors import UserError
from simulators.stations import read_stations

STATIONS = Path(__file__).parents[1] / "tests" / "simulators" / "stations" / "data"
ODD_BYTES = [
    b"\x00",
    b"\xff",
    b"\r",
    b"\n",
    b"\r\n",
    b'"',
    b"'",
    b"\\",
    b"[",
    b"]]",
    b"{",
    b"}",
    b"=",
    b",",
    b";",
    b"\t",
]
ODD_BYTES += [
    "\ufeff".encode(),
    "\u2028".encode(),
    b"\xed\xa0\x80",
    b"\x1b[31m",
    b"#",
    b"1e999",
    b"nan",
    b"-",
]
ODD_VALUES = [
    "nan",
    "-inf",
    "0",
    "-1",
    "1e308",
    "1e-320",
    "9" * 30,
    "9" * 400,
    "0x7fffffffffffffffffff",
    "true",
    '""',
]
ODD_VALUES += [
    "[]",
    "[[]]",
    "{}",
    "9" * 5000,
    "[" * 200 + "]" * 200,
    "[" * 5000 + "]" * 5000,
    "1979-05-27T07:32:00Z",
    "07:32:00",
]
ODD_VALUES += [
    '"\\u0000"',
    '"\\u001b[31m"',
    '"x:y"',
    '"../x"',
    "'''a\nb'''",
    '"' + "x" * 5000 + '"',
    "{ a = 1 }",
]
ODD_VALUES += [
    "[1, 'a', nan]",
    "inf",
    "1_000",
    "0.1",
    "2.0",
    '"d-gpucb"',
    "[{}]",
    '[{ name = "ei", label = "" }]',
]
ODD_CELLS = [
    "",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1e308",
    "-1e308",
    "9" * 400,
    "0x10",
    "1_0",
    "M",
    "null",
    "\ud7ff",
]
ODD_CELLS += [
    "true",
    "1,5",
    '"',
    '"a',
    "=1+1",
    "\x00",
    "-9999",
    "999",
    "1e-320",
    "2007-02-30",
    "9999-12-31T23:59:59Z",
]
ODD_CELLS += [
    "0000-01-01",
    "2007-10-14T15:00+99:00",
    "99999999999999999999",
    "-1",
    "360",
    "-180",
    "90.0000001",
    " 5 ",
]
ODD_CELLS += [
    "2262-04-12T00:00",
    "1677-01-01",
    "\u0663",
    "\u00bd",
    "1e5",
    "[1]",
    "{}",
    "None",
    "NaT",
    "T",
    "12:00",
]


def mutated(rng: random.Random, files: list[bytes], values) -> bytes:
    """One of some files with a few things changed; `values` replaces one of its values."""
    data = rng.choice(files)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 1, 2, 5, 20, 200)))
        match rng.randrange(9):
            case 0:
                data = data[:at] + data[to:]
            case 1:
                data = data[:at] + rng.choice(ODD_BYTES) + data[at:]
            case 2:
                data = data[:at] + data[at:to] * 2 + data[to:]
            case 3 if at < len(data):
                data = data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
            case 4:
                other = rng.choice(files)
                begin = rng.randrange(len(other) + 1)
                data = data[:at] + other[begin : begin + 300] + data[to:]
            case 5 if rng.random() < 0.2:
                data = data[:at]
            case _:
                data = values(rng, data)
    if rng.random() < 0.03:
        data = rng.choice((data.decode("utf-8", "replace").encode("utf-16"), data.replace(b"\n", b"\r"), b""))
    if rng.random() < 0.03:
        data = gzip.compress(data)[: None if rng.random() < 0.5 else -5]
    return data


def other_entry(rng: random.Random, data: bytes) -> bytes:
    """A scenario in which a line's value is another, or its key."""
    lines = data.split(b"\n")
    with_value = [i for i, line in enumerate(lines) if b"=" in line] or [0]
    i = rng.choice(with_value)
    key, _, value = lines[i].partition(b"=")
    if rng.random() < 0.2:
        lines[rng.choice(with_value)] = key + b"=" + value
    elif rng.random() < 0.2:
        lines[i] = (
            rng.choice((b"x", b"a.b", b'""', b"name", b"rounds.x", b"[agents", b"environment"))
            + b" ="
            + value
        )
    else:
        lines[i] = key + b"= " + rng.choice(ODD_VALUES).encode()
    return b"\n".join(lines)


def other_cell(rng: random.Random, data: bytes) -> bytes:
    """A table, or lines of JSON, in which cells are others."""
    lines = data.split(b"\n")
    i = rng.randrange(len(lines))
    sign = b":" if lines[i].startswith(b"{") else b","
    for _ in range(rng.choice((1, 1, 4))):
        cells = lines[i].split(sign)
        cells[rng.randrange(len(cells))] = rng.choice(ODD_CELLS + ODD_VALUES[:17]).encode(
            "utf-8", "surrogatepass"
        )
        lines[i] = sign.join(cells)
    if rng.random() < 0.1:  # of all rows the same cell
        k = rng.randrange(len(cells))
        cell = rng.choice(ODD_CELLS).encode("utf-8", "surrogatepass")
        lines = [
            sign.join([cell if n == k else one for n, one in enumerate(line.split(sign))]) for line in lines
        ]
    return b"\n".join(lines)


def scenario_files() -> list[bytes]:
    folder = resources.files("scenarios") / "catalogue"
    return [(folder / f"{name}.toml").read_bytes() for name in names()]


def station_files() -> list[bytes]:
    """Valid files, of a dozen rows at most, so that a change is seen."""
    files = [path.read_bytes() for path in sorted(STATIONS.iterdir()) if path.suffix in (".csv", ".json")]
    snapshot = resources.files("simulators") / "data" / "noaa_metar_conus_20071014T1450Z.csv"
    return [b"\n".join(one.split(b"\n")[:13]) for one in [*files, snapshot.read_bytes()]]


COLUMNS = {"id": "station", "name": "label", "lon": "east", "lat": "north", "time": "when"}
COLUMNS |= {"temperature": "celsius", "humidity": "rh", "dew_point": "dew", "wind": "kmh"}
UNITS = {"temperature": "degC", "humidity": "percent", "dew_point": "degC", "wind": "km/h"}


def stations_of(path: Path):
    """Read as `weather` does; a file with the columns of `stations_faults.csv` by their names."""
    known = b"celsius" in path.read_bytes()
    return read_stations(path, columns=COLUMNS, units=UNITS) if known else read_stations(path)


def outcome(read, path: Path, accepted: type[Exception]) -> str:
    """What becomes of a file: "read", "refused", or what was wrong with how it was refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(path)
    except Exception as error:
        words = str(error)
        if type(error) is not accepted:
            where = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {words[:80]!r} in {Path(where.filename).name}:{where.lineno}"
        if len(words.splitlines()) != 1 or not words.startswith(str(path)):
            return f"no line that begins with the file's name: {words[:200]!r}"
        if len(words) > 2000:
            return f"a line of over 2,000 characters: {words[:200]!r}"
        return "refused"
    return "read"


KINDS = {
    "scenarios": (scenario_files, other_entry, load, UserError, "s.toml"),
    "stations": (station_files, other_cell, stations_of, ValueError, "stations.csv"),
}


def fuzz(kind: str, count: int, seed: int, folder: Path) -> tuple[Counter, dict[str, int]]:
    """How often each outcome came, and the seed of the first file of each."""
    files, values, read, accepted, name = KINDS[kind]
    valid, path = files(), folder / name
    found, first = Counter(), {}
    for i in range(seed, seed + count):
        path.write_bytes(mutated(random.Random(i), valid, values))
        what = outcome(read, path, accepted)
        found[what] += 1
        first.setdefault(what, i)
    return found, first


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenarios", type=int, default=60_000)
    parser.add_argument("--stations", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            began = perf_counter()
            found, first = fuzz(kind, getattr(given, kind), given.seed, Path(folder))
            good = {what: found.pop(what, 0) for what in ("read", "refused")}
            print(
                f"{kind}: {good}, {sum(found.values())} failures, {perf_counter() - began:.0f} s", flush=True
            )
            for what, times in found.most_common():
                print(f"  {times} x {what} (first seed {first[what]})", flush=True)


if __name__ == "__main__":
    main()
