"""Pack coastlines and borders for the maps: `simulators/data/outline.npz`, from two packages of npm.

    npm pack world-atlas@2.0.2 us-atlas@3.0.1      (and unpack both here)
    python benchmarks/pack_outline.py world-atlas/countries-50m.json us-atlas/states-10m.json

They hold Natural Earth 1:50m and the states of the US Census Bureau as TopoJSON, whose arcs are shared: an
arc of one country is a coast, one of two is a border. Kept are hundredths of a degree, about a kilometre.
"""

import json
import sys
from collections import Counter

import numpy as np

TARGET = "simulators/data/outline.npz"
COAST, BORDER, STATE = range(3)


def arcs(path, name):
    """The arcs of an object in hundredths of a degree, and how many shapes use each."""
    with open(path) as file:
        topology = json.load(file)
    scale, shift = topology["transform"]["scale"], topology["transform"]["translate"]
    uses = Counter()

    def count(entry):
        if isinstance(entry, list):
            for one in entry:
                count(one)
        else:
            uses[entry if entry >= 0 else ~entry] += 1

    for shape in topology["objects"][name]["geometries"]:
        count(shape.get("arcs", []))
    for i, arc in enumerate(topology["arcs"]):
        if uses[i]:
            yield np.round(100.0 * (np.cumsum(arc, axis=0) * scale + shift)).astype(int), uses[i]


def parts(line):
    """A line without repeated points, cut at the edge of the flat world."""
    line = line[np.r_[True, (np.diff(line, axis=0) != 0).any(axis=1)]]
    edge = (np.abs(line[:, 0]) >= 17999) | (line[:, 1] <= -8999)
    jumps = np.abs(np.diff(line[:, 0])) > 18000
    cuts = np.flatnonzero(edge[1:] & edge[:-1] | jumps) + 1
    return [part for part in np.split(line, cuts) if len(part) > 1]


def main():
    world, states = sys.argv[1:]
    found = [
        (part, COAST if uses == 1 else BORDER)
        for line, uses in arcs(world, "countries")
        for part in parts(line)
    ]
    found += [(part, STATE) for line, uses in arcs(states, "states") if uses > 1 for part in parts(line)]
    lines, kinds = zip(*found, strict=True)
    np.savez_compressed(
        TARGET,
        # The first point of a line is its distance from 0/0, the next ones from the one before.
        steps=np.concatenate([np.diff(line, axis=0, prepend=[[0, 0]]) for line in lines]).astype(np.int16),
        lengths=np.array([len(line) for line in lines], dtype=np.uint16),
        kinds=np.array(kinds, dtype=np.uint8),
    )
    print(len(lines), "lines,", sum(map(len, lines)), "points")


if __name__ == "__main__":
    main()
