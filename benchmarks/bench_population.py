"""A synthetic population built to a contact matrix: time, peak memory, contacts achieved against asked.

    python benchmarks/bench_population.py [--persons 1600000] [--seed 1] [--groups 5] [--contacts NAME]

Prints Markdown tables. The peak is that of the whole process, the interpreter and its libraries included.
"""

import argparse
import resource
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from simulators.population.network import pairs
from simulators.population.population import build_population


def peak_mb():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def table(head, rows):
    print("|", " | ".join(head), "|")
    print("|", " | ".join("---" for _ in head), "|")
    for row in rows:
        print("|", " | ".join(f"{x:.3f}" if isinstance(x, float) else str(x) for x in row), "|")
    print()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--persons", type=int, default=1_600_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--groups", type=int, default=5, choices=(5, 9))
    parser.add_argument("--contacts", default="mistry-2021-oregon")
    arguments = parser.parse_args()
    before = peak_mb()
    start = time.perf_counter()
    people = build_population(
        arguments.persons, seed=arguments.seed, groups=arguments.groups, contacts=arguments.contacts
    )
    seconds = time.perf_counter() - start
    peak = peak_mb()
    network = people.network
    held = sum(x.nbytes for m in network.layers.values() for x in (m.data, m.indices, m.indptr))
    print(
        f"{people.persons:,} persons, {arguments.contacts}, {arguments.groups} groups, "
        f"seed {arguments.seed}: {seconds:.2f} s, mean degree {network.degrees().mean():.2f}, "
        f"peak {peak:.0f} MB ({before:.0f} MB before), contacts held in {held / 2**20:.0f} MB\n"
    )

    change = network.asked.reciprocity()
    names = network.asked.groups
    largest = (change.reciprocal - change.given).abs().max()
    print(f"Contacts given -> made reciprocal (largest change {largest:.3f}):\n")
    cells = [f"{g:.3f} -> {r:.3f}" for g, r in zip(change.given, change.reciprocal, strict=True)]
    table(("", *names), [(g, *cells[i * len(names) : (i + 1) * len(names)]) for i, g in enumerate(names)])

    off, where = network.asked.distance(network)
    print(f"Asked / achieved; off by {100 * off:.4f} % of the contacts asked, most in {where}:\n")
    achieved = network.achieved().set_index(["setting", "group", "met"])
    for setting in achieved.index.unique("setting"):
        here = achieved.loc[setting]
        cell = {key: f"{row.asked:.3f} / {row.achieved:.3f}" for key, row in here.iterrows()}
        table(
            (setting, *names, "all"), [(g, *(cell[g, m] for m in (*names, "all"))) for g in (*names, "all")]
        )

    print("Contacts a day within the structure of their setting:\n")
    places = {"household": people.household, "school": people.school_class, "work": people.workplace}
    rows = []
    for setting, place in places.items():
        low, high = pairs(network.layers[setting])
        share = float(np.mean(place[low] == place[high]))
        rows.append((setting, 2 * len(low) / people.persons, share))
    table(("setting", "contacts a day", "share within"), rows)

    sizes = np.bincount(people.household)
    print("Households by size:", np.round(np.bincount(sizes)[1:] / len(sizes), 3).tolist())
    print("Living alone by group:", [
        f"{name} {np.mean(sizes[people.household[people.group == g]] == 1):.3f}"
        for g, name in enumerate(people.groups)
    ])  # fmt: skip
    work = np.bincount(people.workplace[people.workplace >= 0])
    print(f"Workplaces: median {np.median(work):.0f}, mean {work.mean():.1f}, largest {work.max()} persons")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
