"""Studies with flipped bits, zeroed sectors, swapped pages and cut ends: is anything read that was not there?

    python benchmarks/bench_damage.py [FLIPS] [SECTORS] [SEED]

Every damaged copy of one study is opened as sound and as damaged, and its details are read. Printed by kind
of damage: how many were noticed (an error in words), were harmless (all that is read is the original's),
looked like a study that had been stopped earlier (only where its log is damaged or cut: whole transactions
are gone from its end), gave something else without a word (silent wrong), or ended in a traceback; and which
part of the rounds a damaged opening kept. The study: two agents that learn, one that does not, three trials.
"""

import itertools
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scenarios import UserError, load, run
from scenarios.study.records import DETAILS
from scenarios.study.store import Store
from scenarios.study.study import Study

SCENARIO = """
name = "damage"
rounds = {rounds}
trials = 3
seed = 5
keep_info = false
agents = ["d-gpucb", "gp-ucb", "random"]
[environment]
name = "{environment}"
[prior]
samples = 0
"""
PAGE, SECTOR = 4096, 512

Files = dict[str, bytes]  # by what is added to the study's name: "", "-wal"


class Contents(NamedTuple):
    """All that can be read of a study."""

    meta: dict[str, Any]
    runs: list[Any]
    worlds: dict[str, Any]
    rounds: list[Any]
    recommendations: list[Any]
    details: list[Any]


def contents(study: Study) -> Contents:
    """Read all of a study."""
    details = [one for kind in DETAILS for one in study.details(kind)]
    return Contents(
        study.meta, study.runs, study.worlds, study.rounds(), study.recommendations(), sorted(details)
    )


def make(folder: Path, environment: str, rounds: int) -> Study:
    """Make the study of which damaged copies are made."""
    (folder / "s.toml").write_text(SCENARIO.format(environment=environment, rounds=rounds))
    return run(load(folder / "s.toml"), out=folder / "s.sqlite")


def with_log(whole: Contents, folder: Path) -> tuple[Files, list[Contents]]:
    """The same study with its second half in the log, as a kill leaves it; and what it has held, by time."""
    path = folder / "log.sqlite"
    half = len(whole.rounds) // 2
    with Store(path) as store:
        store.set_meta(whole.meta)
        for one in whole.runs:
            store.log_run(one)
        for key, world in whole.worlds.items():
            store.set_world(key, world)
        store.add(whole.rounds[:half])
    states = [contents(Study(path))]
    with Store(path, resume=True) as store:
        for start in range(half, len(whole.rounds), 5):
            store.add(whole.rounds[start : start + 5])
            states.append(contents(Study(path)))
        return {end: path.with_name(path.name + end).read_bytes() for end in ("", "-wal")}, states


def flipped(files: Files, end: str, bits: Any) -> Iterator[Files]:
    """Copies in which one bit is another."""
    for position in bits:
        data = bytearray(files[end])
        data[position // 8] ^= 1 << position % 8
        yield {**files, end: bytes(data)}


def zeroed(files: Files, end: str, count: int, rng: np.random.Generator) -> Iterator[Files]:
    """Copies with a sector of zeros, which the original does not have there."""
    data = files[end]
    for start in SECTOR * rng.integers(len(data) // SECTOR, size=count):
        yield {**files, end: data[:start] + bytes(SECTOR) + data[start + SECTOR :]}


def swapped(files: Files, pairs: list[tuple[int, int]]) -> Iterator[Files]:
    """Copies in which two pages stand in each other's place."""
    pages = [files[""][start : start + PAGE] for start in range(0, len(files[""]), PAGE)]
    for one, other in pairs:
        mixed = [*pages]
        mixed[one], mixed[other] = pages[other], pages[one]
        yield {**files, "": b"".join(mixed)}


def cut(files: Files, end: str, lengths: Any) -> Iterator[Files]:
    """Copies that end early."""
    for length in lengths:
        yield {**files, end: files[end][:length]}


def outcome(path: Path, files: Files, states: list[Contents]) -> tuple[str, float]:
    """What becomes of a damaged copy, and which part of the rounds is kept where it is noticed."""
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
        if end in files:
            path.with_name(path.name + end).write_bytes(files[end])
    whole = states[-1]
    try:
        found = contents(Study(path))
        if found == whole:
            return "harmless", 1.0
        return ("earlier" if found in states else "SILENT WRONG"), 0.0
    except UserError as error:
        if str(path) not in str(error) or "\n" in str(error):
            return f"UNCLEAR ERROR: {error}", 0.0
    except Exception as error:
        return f"TRACEBACK: {type(error).__name__}: {error}", 0.0
    try:
        study = Study(path, damaged=True)
        found = contents(study)
    except UserError:
        return "noticed", 0.0
    except Exception as error:
        return f"TRACEBACK WHERE DAMAGED: {type(error).__name__}: {error}", 0.0
    kept = [one for one in found.rounds if one in whole.rounds]
    false = (
        len(kept) < len(found.rounds)
        or any(one not in whole.recommendations for one in found.recommendations)
        or any(one not in whole.details for one in found.details)
        or any(one not in whole.runs for one in found.runs)
        or any(whole.meta[key] != value for key, value in found.meta.items())
        or any(not is_part(world, whole.worlds[key]) for key, world in found.worlds.items())
    )
    return "SILENT WRONG WHERE DAMAGED" if false else "noticed", len(kept) / len(whole.rounds)


def is_part(world: Any, whole: Any) -> bool:
    """Whether what is kept of a world is what was written; a prior may be lost."""
    return world._replace(priors={}) == whole._replace(priors={}) and all(
        whole.priors[name] == prior for name, prior in world.priors.items()
    )


def tally(kind: str, path: Path, copies: Iterator[Files], states: list[Contents]) -> Counter[str]:
    """Print and return the outcomes of copies; of what must not be, the first of each kind is shown."""
    found, parts = Counter(), []
    for number, files in enumerate(copies):
        word, part = outcome(path, files, states)
        name = word.split(":")[0]
        if name.isupper() and found[name] < 3:
            print(f"  {kind} {number}: {word}", flush=True)
        if name == "noticed":
            parts.append(part)
        found[name] += 1
    kept = f"; kept of the rounds: mean {np.mean(parts):.1%}, none in {parts.count(0.0)}" if parts else ""
    print(f"{kind}: {sum(found.values()):,}: {dict(found)}{kept}", flush=True)
    return found


def main() -> None:
    """Measure."""
    flips, sectors, seed = (int(word) for word in (sys.argv[1:] + ["5000", "2000", "1"][len(sys.argv) - 1 :]))
    rng = np.random.default_rng(seed)
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as name:
        folder = Path(name)
        whole = contents(make(folder, "flu-ode", 24))
        one = {"": (folder / "s.sqlite").read_bytes()}
        pages = len(one[""]) // PAGE
        print(f"{pages} pages, {len(whole.rounds)} rounds, {len(whole.details)} details")
        log, states = with_log(whole, folder)
        path = folder / "damaged.sqlite"
        tally("flipped bits", path, flipped(one, "", rng.integers(8 * len(one[""]), size=flips)), [whole])
        tally("every bit of the header", path, flipped(one, "", range(8 * 100)), [whole])
        tally("zeroed sectors", path, zeroed(one, "", sectors, rng), [whole])
        tally("swapped pages", path, swapped(one, list(itertools.combinations(range(pages), 2))), [whole])
        tally("cut", path, cut(one, "", rng.integers(len(one[""]), size=sectors // 4)), [whole])
        tally("cut at pages", path, cut(one, "", range(0, len(one[""]), PAGE)), [whole])
        tally(
            "flipped bits of the log",
            path,
            flipped(log, "-wal", rng.integers(8 * len(log["-wal"]), size=flips // 5)),
            states,
        )
        tally("zeroed sectors of the log", path, zeroed(log, "-wal", sectors // 5, rng), states)
        tally("cut log", path, cut(log, "-wal", rng.integers(len(log["-wal"]), size=sectors // 4)), states)
        tally(
            "flipped bits beside a log",
            path,
            flipped(log, "", rng.integers(8 * len(log[""]), size=flips // 5)),
            states,
        )


if __name__ == "__main__":
    main()
