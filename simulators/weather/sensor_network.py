"""Where does it feel warmest? Weather stations that read temperature, humidity and wind, one a round.

The paper's weather sensors, section 8.2.3: every station is a policy, its three readings are the groups, and
the objective is the perceived temperature, or another index of what is felt: a general composition
(Definition 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from simulators.arrays import Array, Rows
from simulators.contract.environment import Environment, Outcomes
from simulators.contract.policy_space import FinitePolicySpace
from simulators.contract.seeds import as_sequence, child
from simulators.contract.validation import choice, number, per_group, whole
from simulators.stations import Stations, read_stations
from simulators.stations.any_source import Source, StationOptions
from simulators.stations.coast import coast_distance
from simulators.stations.sphere import points_on_sphere
from simulators.weather.calm import Calm
from simulators.weather.energy import Energy, EnergyOptions
from simulators.weather.indices import IndexName, make_index, outside
from simulators.weather.options import split_options
from simulators.weather.perceived_temperature import Rule
from simulators.weather.sensor_graph import connected_neighbours, graph_of

if TYPE_CHECKING:
    import networkx as nx


Features = Literal["sphere", "degrees", "graph"]

FEATURES = ("sphere", "degrees", "graph")
BESIDE = ("elevation", "coast")
"""What kernels can see beside a place: its elevation in km, the logarithm of its distance to the coast."""
CALM = ("zero", "latent")
GROUPS = ("temperature", "humidity", "wind")

NOISE_VARIANCE = (0.04, 0.03, 0.005)
"""Of the paper's authors: K^2, percent^2, (m/s)^2."""


COAST_UNIT = 30.0
"""km from the sea, within which it matters most: the land breeze and the fog of a shore."""


class NetworkOptions(StationOptions, EnergyOptions, total=False):
    """Options that `SensorNetwork` shares with networks of other kinds; each is documented there."""

    data: Source
    index: IndexName
    rule: Rule
    radiant_excess: float
    features: Features | Sequence[str]
    neighbours: int | None
    noise_variance: ArrayLike
    calm: Literal["zero", "latent"]


class _Others(StationOptions, EnergyOptions, total=False):
    """What `SensorNetwork` hands on."""


class SensorNetwork(Environment):
    """Weather stations, read one a round; a random third is set aside to learn kernels from.

    What the stations read is taken for the truth, to which a step adds noise. Under the rules of both kinds
    the objective jumps between its pieces (see `simulators.weather.perceived_temperature`), which
    `bounds` cannot cover.

    Parameters
    ----------
    data : path, Stations, pandas.DataFrame or None, default None
        Whose readings; None is the snapshot that comes with the package.
    index : {"perceived-temperature", "utci", "wbgt-simplified", "humidex"}, default "perceived-temperature"
        What is felt: see `simulators.weather.indices`. The objective is in its unit; `findings` tell which
        stations it is not meant for.
    rule : {"nws", "paper"}, default "nws"
        Of the perceived temperature.
    radiant_excess : float, default 0
        Mean radiant temperature less air temperature, K, of all stations, for the UTCI: 0 in the shade.
    features : {"sphere", "degrees", "graph"} or a list, default "sphere"
        What kernels see of a sensor: its point on the sphere in units of 1,000 km, its longitude and
        latitude in degrees, or its node's number in the graph. In a list, with the sphere or degrees, also
        its "elevation", in km, and "coast", log(1 + distance to the sea / 30 km), each with a length scale of
        its own; ["elevation"] is ["sphere", "elevation"].
    neighbours : int, optional
        Nearest sensors on the sphere to which each is joined in the graph, which must hang together; left
        out, 8, or as many more as that takes.
    noise_variance : float or (3,) array-like, default (0.04, 0.03, 0.005)
        Of an observation, K^2, percent^2 and (m/s)^2.
    calm : {"zero", "latent"}, default "zero"
        What a calm is told as: a wind of 0; or what a wind below 0 would be on average, with the variance of
        that, for a process whose part below 0 is calm (`simulators.weather.calm`).
    set_aside_share : float, default 1/3
        Share of the sensors, drawn from the seed, from which kernels are learned and which are no
        candidates.
    sensors : int, optional
        As many stations, drawn from the seed, make up the network; left out, all.
    seed : int or numpy.random.SeedSequence, default 0
        Of the draws above.
    **others
        How to read `data`, and the quality control: see `simulators.stations.StationOptions`. And what
        readings cost: see `simulators.weather.energy.EnergyOptions`.

    Raises
    ------
    ValueError
        One line: a parameter with its value and what is accepted, or the file and the row of what cannot be
        used, as two stations at one place that differ where there is no noise.

    Attributes
    ----------
    stations : Stations
        Those of the network, the graph's nodes.
    report : ImportReport
        What the import read, dropped or clipped, and what the quality control found.
    left_out : Stations or None
        The stations that the quality control left out of the network.
    station_names : list of [float, float, str, str]
        Longitude, latitude, id and name of all stations that were read, also of those that are not drawn.
    nodes : (n,) array of int
        The node of each candidate row.
    noise_variances : (3,) array
    energy : Energy or None
        What readings cost, and how they travel; None where they cost nothing.
    query_budget : float or None
        Joules that the readings of one round of a batch may cost together.
    """

    groups = GROUPS
    group_units = ("K", "percent", "m/s")
    objective_unit = "degF"
    sense: Literal["minimize", "maximize"] = "maximize"
    policy_space: FinitePolicySpace

    def __init__(
        self,
        *,
        data: Source = None,
        index: IndexName = "perceived-temperature",
        rule: Rule = "nws",
        radiant_excess: float = 0.0,
        features: Features | Sequence[str] = "sphere",
        neighbours: int | None = None,
        noise_variance: ArrayLike = NOISE_VARIANCE,
        calm: Literal["zero", "latent"] = "zero",
        set_aside_share: float = 1.0 / 3.0,
        sensors: int | None = None,
        seed: int | np.random.SeedSequence = 0,
        **others: Unpack[_Others],
    ) -> None:
        costs, stations = split_options(others, EnergyOptions)
        self.index: IndexName = index
        self.perceived = make_index(index, rule, radiant_excess)
        self.objective_unit = self.perceived.unit
        self.features, self.beside = _seen(features)
        self.noise_variances: Array = per_group("noise_variance", noise_variance, self.groups, least=0)
        share = number("set_aside_share", set_aside_share, least=0)
        if share >= 1:
            raise ValueError(f"set_aside_share={set_aside_share!r} must be >= 0 and < 1")
        self.seed = as_sequence(seed)
        found, self.report = read_stations(data, **stations)
        self.station_names: list[list[Any]] = found.named_places()
        self.left_out: Stations | None = self.report.left_out
        self._refuse_contradictions(found)
        chosen = len(found) if sensors is None else whole("sensors", sensors, least=2)
        self.stations: Stations = (
            found.take(self._drawn(0, len(found), chosen)) if chosen < len(found) else found
        )
        N = len(self.stations)
        self._refuse_unknown_elevations()
        self.findings: tuple[str, ...] = tuple(filter(None, [outside(index, self.perceived, self.stations)]))
        self.calm = Calm.of(self.stations.wind) if choice("calm", calm, CALM) == "latent" else Calm(0.0, 0.0)
        self.points: Array = points_on_sphere(self.stations.lon, self.stations.lat)
        k = None if neighbours is None else whole("neighbours", neighbours)
        self.edges = connected_neighbours(self.points, k, self.stations.ids.tolist(), self.report.source)
        self.energy: Energy | None = Energy.of(costs, self.points, self.edges, self.groups)
        self.query_budget: float | None = None if self.energy is None else self.energy.budget
        self.info_units: dict[str, str] = {} if self.energy is None else {"cost": "J"}
        self._aside = self._drawn(1, N, int(share * N))
        self.nodes = np.setdiff1d(np.arange(N), self._aside)
        degrees = np.stack([self.stations.lon, self.stations.lat], axis=1)
        self.policy_space = FinitePolicySpace(
            ("lon", "lat"),
            ("degrees", "degrees"),
            candidates=degrees[self.nodes],
            features=self._features(self.nodes),
        )

    @cached_property
    def graph(self) -> nx.Graph[Any]:
        """The sensors, set aside or not, as nodes 0..N-1; edges have their `distance` in km."""
        return graph_of(self.points, self.edges)

    @property
    def set_aside(self) -> tuple[Array, Array] | None:
        """Features (m, p) and readings (m, 3) of the sensors set aside; None if there are none."""
        if not len(self._aside):
            return None
        readings = self.stations.readings[self._aside].copy()
        readings[:, 2] = self.calm.told(readings[:, 2])
        return self._features(self._aside), readings

    @cached_property
    def bounds(self) -> Array:
        """The B_j of Definition 2 over the stations' readings: per K, per percent, per m/s."""
        return self.perceived.bounds(*self.stations.readings.T)

    def step(self, policy: Any) -> Outcomes:
        """Read the sensor of a candidate row, with Gaussian noise.

        `info` has the station's `id` and, where readings cost energy, their `cost` in joules.
        """
        return self.step_groups(policy, range(len(self.groups)))

    def step_groups(self, policy: Any, groups: Sequence[int]) -> Outcomes:
        """Read some channels of a sensor, and pay for these alone; the others are nan. See `step`."""
        row, asked = self.policy_space.check(policy), sorted(set(groups))
        noise = np.sqrt(self.noise_variances) * self.rng.standard_normal(3)
        reading, variances = self.stations.readings[self.nodes[row]] + noise, self.noise_variances
        if self.stations.wind[self.nodes[row]] == 0.0:
            reading[2] += self.calm.value
            variances = variances + [0.0, 0.0, self.calm.variance]
        values = np.where(np.isin(np.arange(3), asked), reading, np.nan)
        info = self._info(row)
        if self.energy is not None:
            sending, *each = self.energy.costs(self.nodes[[row]])[0]
            info["cost"] = float(sending + sum(each[j] for j in asked))
        return Outcomes(values, variances, info)

    @property
    def query_costs(self) -> Callable[[ArrayLike], Array] | None:
        """What readings at candidate rows (n,) cost, joules (n, 4): sending any, then each channel.

        None where they cost nothing.
        """
        return None if self.energy is None else self._query_costs

    def _query_costs(self, policies: ArrayLike) -> Array:
        assert self.energy is not None
        return self.energy.costs(self.nodes[self.policy_space.rows(policies)])

    def expected(self, policies: ArrayLike) -> Array:
        """What the sensors of candidate rows (n,) read without noise, (n, 3)."""
        return self.stations.readings[self.nodes[self.policy_space.rows(policies)]]

    def compose(self, outcomes: ArrayLike, policies: ArrayLike) -> Array:
        """The index, in `objective_unit`, of outcomes (..., 3) that a model may have predicted.

        Wind below 0 counts as 0 and humidity is clipped to 0..100; nan where a group is missing.
        """
        y = np.asarray(outcomes, dtype=float)
        felt = self.perceived(*np.moveaxis(y, -1, 0))
        return np.where(np.isnan(y).any(axis=-1), np.nan, felt)

    def gradient(self, outcomes: ArrayLike, policies: ArrayLike) -> Array:
        """The slopes dg/df_j of `compose` at outcomes (..., 3), exact within each piece.

        Per K, per percent and per m/s, shape (..., 3); nan where a group is missing.
        """
        y = np.asarray(outcomes, dtype=float)
        slopes = self.perceived.gradient(*np.moveaxis(y, -1, 0))
        return np.where(np.isnan(y).any(axis=-1, keepdims=True), np.nan, slopes)

    def _info(self, row: int) -> dict[str, Any]:
        return {"id": str(self.stations.ids[self.nodes[row]])}

    def _features(self, nodes: Rows) -> Array:
        """What kernels see of some nodes, (m, p)."""
        if self.features == "graph":
            return nodes[:, None].astype(float)
        lon, lat = self.stations.lon[nodes], self.stations.lat[nodes]
        seen = [self.points[nodes] / 1000.0 if self.features == "sphere" else np.stack([lon, lat], axis=1)]
        if "elevation" in self.beside:
            seen.append(self.stations.elevation[nodes, None] / 1000.0)
        if "coast" in self.beside:
            seen.append(np.log1p(coast_distance(lon, lat)[:, None] / COAST_UNIT))
        return np.concatenate(seen, axis=1)

    def _refuse_unknown_elevations(self) -> None:
        unknown = np.flatnonzero(np.isnan(self.stations.elevation))
        if "elevation" in self.beside and len(unknown):
            ids = ", ".join(self.stations.ids[unknown[:5]].tolist()) + (", .." if len(unknown) > 5 else "")
            raise ValueError(
                f"{self.report.source}: features with 'elevation': {len(unknown)} of {len(self.stations)} "
                f"stations tell none ({ids}); accepted: stations with an elevation, in a column of their own"
            )

    def _drawn(self, purpose: int, n: int, size: int) -> Rows:
        """`size` of n rows, drawn without replacement, in rising order."""
        return np.sort(np.random.default_rng(child(self.seed, purpose)).permutation(n)[:size])

    def _refuse_contradictions(self, stations: Stations) -> None:
        """Refuse what no noise can explain: fewer than two stations, or one place that reads two values."""
        source, rows = self.report.source, self.report.station_rows
        if len(stations) < 2:
            raise ValueError(f"{source}: row {rows[0]}: only one station; a network needs two or more")
        place = np.stack([stations.lon % 360.0, stations.lat], axis=1)
        _, first, again = np.unique(place, axis=0, return_index=True, return_inverse=True)
        earlier = first[np.ravel(again)]
        differ = (stations.readings != stations.readings[earlier]) & (self.noise_variances == 0)
        for i, j in np.argwhere(differ)[:1]:
            ids = (str(stations.ids[k]) for k in (i, earlier[i]))
            raise ValueError(
                "{}: row {}: station {!r} has the place of {!r} in row {} but another {}, and "
                "noise_variance of {!r} is 0".format(
                    source, rows[i], *ids, rows[earlier[i]], self.groups[j], self.groups[j]
                )
            )


def _seen(features: Features | Sequence[str]) -> tuple[Features, tuple[str, ...]]:
    """The places that kernels see, and what they see beside, of the option."""
    names = [features] if isinstance(features, str) else list(features)
    beside = tuple(name for name in BESIDE if name in names)
    places = [name for name in names if name not in BESIDE] or ["sphere"]
    if len(places) > 1 or len(set(names)) < len(names):
        raise ValueError(f"features={features!r} must name one of {', '.join(FEATURES)}, and each name once")
    place: Features = choice("features", places[0], FEATURES)
    if place == "graph" and beside:
        raise ValueError(f"features={features!r}: nodes of a graph have no {beside[0]} beside them")
    return place, beside
