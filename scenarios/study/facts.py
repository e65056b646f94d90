"""What readers have to know of a study's environment, stored as data when it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

import bridges
from scenarios.study.levers import Entry, read_levers, spelled
from scenarios.study.records import plain
from simulators.contract.levers import Lever

if TYPE_CHECKING:
    from simulators import Environment


class Facts(NamedTuple):
    """What readers of a study must know about its environment; see `simulators.Environment`.

    Attributes
    ----------
    levers : list, or None
        What each entry of a policy may be, as a scenario file spells it. None where policies are candidates,
        and in studies made before levers had kinds: real numbers.
    space, composition : dict, or None
        What else readers need of the policy space and of a linear composition, see
        `scenarios.study.stored_environment`. None in studies made before they were stored, and
        `composition` where it is not linear.
    outcome_range : list of J pairs, or None
        What a group's noise-free outcomes cannot lie below or above, None for no limit.
    limits : list of dict, or None
        The limits on outcomes as `[[limits]]` of a scenario spells them; of a function its name alone. None
        in studies made before they were stored.
    group_sense : {"minimize", "maximize"}, or None
        What is to be done with the groups' outcomes, where the objective is another's than the environment's.
    info_units : dict of str, or None
        Units of what steps say besides, by the names of its entries.
    persons : list of J numbers, or None
        How many persons each group has, where groups are people.
    objectives : list of dict, or None
        Of several objectives each one's `name`, `unit`, `sense` and `reference`, see
        `scenarios.study.several`; None where there is one.
    findings : list of str or None
        What the environment says was read, assumed and fitted when it was made.
    data_report : dict or None
        What the import of the environment's data read, dropped and found, where it says so: `lines` in words,
        and the rest as `simulators.stations.ImportReport.to_dict`. None in studies made before it was stored.
    stations : list of [float, float, str, str], or None
        Longitude, latitude, id and name of every station, where policies are the places of stations.
    """

    name: str
    labels: list[str]
    units: list[str]
    groups: list[str]
    group_units: list[str]
    objective_unit: str
    sense: Literal["minimize", "maximize"]
    finite: bool
    lives: bool = False
    current_policy: list[float] | None = None
    current_policy_label: str = ""
    levers: list[Any] | None = None
    space: dict[str, Any] | None = None
    composition: dict[str, Any] | None = None
    outcome_range: list[list[float | None]] | None = None
    limits: list[dict[str, Any]] | None = None
    group_sense: Literal["minimize", "maximize"] | None = None
    persons: list[float] | None = None
    objectives: list[dict[str, Any]] | None = None
    info_units: dict[str, str] | None = None
    findings: list[str] | None = None
    data_report: dict[str, Any] | None = None
    stations: list[list[Any]] | None = None

    @classmethod
    def of(cls, environment: Environment) -> Facts:
        """Those of an environment."""
        space, current = environment.policy_space, bridges.current_policy(environment)
        return cls(
            name=environment.name,
            labels=list(space.labels),
            units=list(space.units),
            groups=list(environment.groups),
            group_units=list(environment.group_units),
            objective_unit=environment.objective_unit,
            sense=environment.sense,
            finite=bool(space.finite),
            lives=environment.lives,
            current_policy=None if current is None else space.resolve(np.asarray(current)[None])[0].tolist(),
            current_policy_label=environment.current_policy_label,
            levers=None if space.finite else [spelled(lever) for lever in space.levers],
            group_sense=getattr(environment, "group_sense", None),
            info_units={str(name): str(unit) for name, unit in environment.info_units.items()}
            if isinstance(environment.info_units, Mapping)
            else {},
            findings=list(environment.findings) or None,
            persons=None
            if environment.group_persons is None
            else plain(np.asarray(environment.group_persons)),
            data_report=report_of(environment),
            stations=getattr(environment, "station_names", None),
        )

    @classmethod
    def stored(cls, values: Mapping[str, Any]) -> Facts:
        """Those of a study file, of which an old one may lack some."""
        return cls(**{name: values[name] for name in cls._fields if name in values})

    @property
    def sign(self) -> float:
        """1.0 where the objective is to be maximised, -1.0 where minimised."""
        return 1.0 if self.sense == "maximize" else -1.0

    @property
    def kinds(self) -> list[Lever]:
        """What each entry of a policy may be."""
        return read_levers(self.labels, self.levers)

    def entries(self, policy: Sequence[float]) -> list[Entry]:
        """A stored policy as people read it: floats, ints, and the names of categories."""
        return [lever.value(x) for lever, x in zip(self.kinds, policy, strict=True)]

    def named(self, policy: Sequence[float]) -> dict[str, Entry]:
        """The same by label."""
        return dict(zip(self.labels, self.entries(policy), strict=True))

    def by_place(self) -> dict[tuple[float, ...], Station]:
        """What the stations are called, by longitude and latitude; empty where policies are no stations.

        Stations at one place cannot be told by it: their ids and names are joined by "/".
        """
        found: dict[tuple[float, ...], list[tuple[str, str]]] = {}
        for lon, lat, name, title in self.stations or ():
            found.setdefault((float(lon), float(lat)), []).append((str(name), str(title)))
        return {
            place: Station(
                *("/".join(dict.fromkeys(filter(None, texts))) for texts in zip(*pairs, strict=True))
            )
            for place, pairs in found.items()
        }

    def station(self, policy: Sequence[float]) -> Station | None:
        """The station at a policy, None where policies are no stations."""
        return self.by_place().get(tuple(policy))

    def titled(self, policy: Sequence[float]) -> dict[str, Entry]:
        """`named`, for people: where policies are stations, the id and the name of the station first."""
        station = self.station(policy)
        first: dict[str, Entry] = {} if station is None else {"station": str(station)}
        return first | self.named(policy)


class Station(NamedTuple):
    """What a station is called; the name is "" where it is unknown."""

    id: str
    name: str

    def __str__(self) -> str:
        return f"{self.id} {self.name}".strip()


def report_of(environment: Environment) -> dict[str, Any] | None:
    """What the import of an environment's data reports, as plain data; None where there is no report."""
    report: Any = getattr(environment, "report", None)
    if not (hasattr(report, "summary") and hasattr(report, "to_dict")):
        return None
    return {**report.to_dict(), "lines": report.summary()}
