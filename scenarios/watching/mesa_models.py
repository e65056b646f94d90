"""A Mesa model of somebody's own as its page sees it: its agents where they are, and what it reports.

Mesa's own pages ask for a portrayal, written in Python. Here agents stand where their space has them, or on a
drawing of their network, and are coloured by whichever of their attributes is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any

import networkx as nx
import numpy as np

from bridges.environments.declared import SEEDS
from bridges.environments.mesa_environment import MesaEnvironment
from bridges.environments.mesa_run import MesaRun, read
from policyloop.messages import failure
from scenarios.errors import UserError
from scenarios.numbers import significant
from scenarios.watching.models import WithLevers
from simulators import SimulationError
from simulators.contract.process_state import RandomNumbers, kept_process_state

MOST_AGENTS = 4_000
"""Agents that a page shows; of more, every second one, or every third .."""
MOST_EDGES = 4_000
MOST_NODES = 600
"""Nodes of a network up to which it is drawn by the forces of its edges; larger ones are drawn as a ring."""
RING = 1.15
"""Where nodes stand that do not hang together with most others; the others are within 1."""
MOST_FIELDS, MOST_NAMES, MOST_SERIES = 8, 8, 8


class Agents(WithLevers):
    """A model of a `MesaEnvironment`, the same as a round with that policy and seed would run."""

    environment: MesaEnvironment
    fields: list[str]
    reported: list[str]

    def __init__(self, environment: MesaEnvironment) -> None:
        self.environment = environment
        self.numbers: RandomNumbers = RandomNumbers()
        self.run: MesaRun | None = None
        self.begin(self.levers()["start"], 0)
        assert self.run is not None
        model = self.run.model
        reported = [name for name in getattr(_collector(model), "model_vars", {}) if name not in self._own()]
        self.reported = reported[: max(0, MOST_SERIES - len(environment.groups))]
        others = [f"{name} (collected)" if name in environment.groups else name for name in self.reported]
        self.series: list[str] = [*environment.groups, *others]
        self.fields = fields_of(list(model.agents))

    def _own(self) -> list[Any]:
        """The reporters that are outcomes already, by name."""
        return list(self.environment.reporters.values())

    def about(self) -> dict[str, Any]:
        """Levers, what is reported, and what agents can be coloured by."""
        environment = self.environment
        units = dict(zip(environment.groups, environment.group_units, strict=True))
        return {
            "kind": "mesa",
            "what": "what the model reports",
            "step": "step",
            "series": self.series,
            "units": [units.get(name, "") for name in self.series],
            "fields": self.fields,
            **self.levers(),
        }

    def begin(self, policy: Any, seed: int) -> Any:
        """A new model, before its first step."""
        x = self.checked(policy)
        environment = self.environment
        environment.reset(seed)  # a step draws the model's seed from this one
        drawn = int(environment.rng.integers(SEEDS))
        with self._apart(drawn):
            made = environment.run(environment.levers.entries(x), drawn)
        if self.run is not None:
            self.run.close()
        self.run = made
        self.layout: Layout = layout_of(self.run.model)
        self.names: dict[str, list[str]] = {}
        return x.tolist()

    @contextmanager
    def _apart(self, seed: int | None = None) -> Iterator[None]:
        """As a step runs its model: global random numbers are its own, and what it changes is put back."""
        try:
            with kept_process_state(), self.numbers.used(seed):
                yield
        except (KeyboardInterrupt, UserError):
            raise
        except BaseException as error:
            raise UserError(f"the model raised {failure(error)}") from error

    def step(self) -> None:
        """A step of the model."""
        assert self.run is not None
        with self._apart():
            self.run.step()

    @property
    def over(self) -> bool:
        """Whether it has made all its steps, or stopped itself."""
        return self.run is not None and self.run.over

    def point(self) -> list[float | None]:
        """The step, the outcomes as they are now, and what else was collected."""
        assert self.run is not None
        run, found = self.run, []
        with self._apart(), _untouched(run.model):
            for reporter in [*run.reporters.values(), *self.reported]:
                value = None
                with suppress(SimulationError, TypeError, ValueError):  # not collected in this step
                    value = float(read(run.model, reporter, None))
                found.append(value if value is not None and math.isfinite(value) else None)
        return [run.done, *found]

    def picture(self) -> dict[str, Any]:
        """Where agents are and what they are like, and the numbers of this moment."""
        assert self.run is not None
        model = self.run.model
        agents = sorted(model.agents, key=lambda agent: agent.unique_id)
        shown = agents[:: -(-len(agents) // MOST_AGENTS) or 1]
        places = [self.layout.place(agent) for agent in shown]
        values = [self._values(field, shown) for field in self.fields]
        rows = [[name, _shown(value)] for name, value in zip(self.series, self.point()[1:], strict=True)]
        return {
            "places": places if any(place is not None for place in places) else [],
            "edges": self.layout.edges,
            "extent": self.layout.extent,
            "grid": self.layout.grid,
            "values": values,
            "names": [self.names.get(field, []) for field in self.fields],
            "heads": ["", "now"],
            "rows": rows,
            "said": f"{len(agents)} agents"
            + (f", of which {len(shown)} are shown" if len(shown) < len(agents) else ""),
        }

    def _values(self, field: str, agents: Sequence[Any]) -> list[float | None]:
        """What a field of the agents is: numbers, or places among the names seen so far."""
        found: list[float | None] = []
        names = self.names.setdefault(field, [])
        for agent in agents:
            value = type(agent).__name__ if field == KIND else getattr(agent, field, None)
            text = value.name if isinstance(value, Enum) else value
            if isinstance(text, bool | str | np.bool_):
                text = str(text)
                if text not in names:
                    names.append(text)
                found.append(min(names.index(text), MOST_NAMES - 1))
            else:
                found.append(_number(text))
        return found


KIND = "kind of agent"
WHOLE = 1e7
"""Whole numbers below this are told to the last one."""


def fields_of(agents: Sequence[Any]) -> list[str]:
    """What agents can be coloured by: their kind where there are several, texts and truths, then numbers."""
    first = {type(agent): agent for agent in reversed(agents)}
    texts: list[str] = []
    numbers: list[str] = []
    for agent in first.values():
        for name, value in vars(agent).items():
            if name.startswith("_") or name in ("model", "unique_id", "pos", *texts, *numbers):
                continue
            if isinstance(value, bool | str | Enum | np.bool_):
                texts.append(name)
            elif _number(value) is not None and not _constant(name, value, agents):
                numbers.append(name)
    kinds = [KIND] if len(first) > 1 or not (texts or numbers) else []
    return [*kinds, *texts, *numbers][:MOST_FIELDS]


def _constant(name: str, value: Any, agents: Sequence[Any]) -> bool:
    """Whether a number is a parameter rather than a state: not whole, and the same of all."""
    return isinstance(value, float) and all(getattr(one, name, value) == value for one in agents)


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value == round(value) and abs(value) < WHOLE else significant(value)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    return float(value) if math.isfinite(value) else None


class Layout:
    """Where agents of a model are.

    Attributes
    ----------
    grid : bool
        Whether they stand in cells.
    extent : list of float or None
        x from and to, y from and to; None where they are spread as they happen to be.
    edges : list of [x, y, x, y]
        Of a network.
    """

    def __init__(self, graph: Any, extent: list[float] | None, grid: bool) -> None:
        self.grid: bool
        self.extent, self.grid = extent, grid
        self._at: dict[Any, list[float]] = {}
        self.edges: list[list[float]] = []
        if graph is None:
            return
        small = graph.number_of_nodes() <= MOST_NODES
        at = _drawn(graph) if small else nx.circular_layout(graph)
        self._at = {node: np.round(np.asarray(place), 3).tolist() for node, place in at.items()}
        self.edges = [[*self._at[a], *self._at[b]] for a, b in list(graph.edges())[:MOST_EDGES]]
        self.extent = [-RING, RING, -RING, RING] if small else [-1.0, 1.0, -1.0, 1.0]

    def place(self, agent: Any) -> list[float] | None:
        """Of one agent; None of one that is nowhere."""
        cell = getattr(agent, "cell", None)
        where = getattr(agent, "pos", None) if cell is None else cell.coordinate
        if self._at:
            return self._at.get(where) if isinstance(where, int | str | tuple) else None
        try:
            x, y = (float(one) for one in where)  # type: ignore[union-attr]
        except (TypeError, ValueError):
            return None
        return [round(x, 3), round(y, 3)] if math.isfinite(x) and math.isfinite(y) else None


def _drawn(graph: Any) -> dict[Any, Any]:
    """The largest part of a network by the forces of its edges, the rest on a ring."""
    parts = sorted(nx.connected_components(graph.to_undirected()), key=len, reverse=True)
    if not parts:
        return {}
    at: dict[Any, Any] = dict(nx.spring_layout(graph.subgraph(parts[0]), seed=0))
    others = [node for part in parts[1:] for node in part]
    for i, node in enumerate(others):
        angle = 2 * math.pi * i / len(others)
        at[node] = np.array([RING * math.cos(angle), RING * math.sin(angle)])
    return at


def layout_of(model: Any) -> Layout:
    """Of the first space that a model has: a network, cells, or a plane."""
    for space in vars(model).values():
        graph = getattr(space, "G", None)
        if isinstance(graph, nx.Graph):
            return Layout(graph, None, False)
        width, height = getattr(space, "width", None), getattr(space, "height", None)
        if isinstance(width, int) and isinstance(height, int) and hasattr(space, "torus"):
            return Layout(None, [-0.5, width - 0.5, -0.5, height - 0.5], True)
        ends: Any = getattr(space, "dimensions", None)
        if isinstance(ends, np.ndarray) and ends.shape == (2, 2):
            return Layout(None, np.asarray(ends, dtype=float).ravel().tolist(), False)
        ends = [getattr(space, name, None) for name in ("x_min", "x_max", "y_min", "y_max")]
        if all(_number(one) is not None for one in ends):
            return Layout(None, [float(one) for one in ends], False)
    return Layout(None, None, False)


def _collector(model: Any) -> Any:
    return getattr(model, "datacollector", None)


@contextmanager
def _untouched(model: Any) -> Iterator[None]:
    """Let reporters draw random numbers of the model, and take none from its steps."""
    random: Any = getattr(model, "random", None)
    bits: Any = getattr(getattr(model, "rng", None), "bit_generator", None)
    drawn = random.getstate() if hasattr(random, "getstate") else None
    state = None if bits is None else bits.state
    try:
        yield
    finally:
        if drawn is not None:
            random.setstate(drawn)
        if bits is not None:
            bits.state = state
