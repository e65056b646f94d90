"""A study, read: what was run, its table of rounds, its recommendations."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policyloop.messages import on_one_line
from policyloop.plain_text import for_spreadsheet
from scenarios.declaration.schema import LimitSpec, Scenario
from scenarios.errors import UserError
from scenarios.outputs import whole_file
from scenarios.study.checksums import UNREADABLE
from scenarios.study.facts import Facts
from scenarios.study.file import connect, refusal, refuse_folder
from scenarios.study.reading import read_details, salvage, salvage_details
from scenarios.study.records import (
    ALL_TRIALS,
    NOTHING,
    Advice,
    Detail,
    StoredOptimum,
    StoredRound,
    WorldRecord,
)
from scenarios.study.soundness import Rules, examine
from simulators.contract.levers import Real

if TYPE_CHECKING:
    import pandas as pd


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Without the search for garbage, which finds none among new rows and takes a third of their reading."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Study:
    """A study file opened for reading; it may be read while a run still writes it.

    All is read in one transaction, at first use, so that rounds and recommendations belong together;
    open the study again to see newer rounds.

    Parameters
    ----------
    path : str or Path
        The study file.
    damaged : bool, default False
        Go on with what can be read of a damaged file.

    Attributes
    ----------
    path : Path
    damage : str
        What is wrong with the file, where it is damaged: some rounds are lost then; those that are read are
        what was written. "" where nothing is.
    scenario : Scenario
        As run.
    meta : dict
        `created`, `versions`, `environment` (labels, units, groups, sense) and more.
    worlds : dict of WorldRecord
        By world ("all", or a trial): seed, priors, optimum (None where unknown).
    runs : list of dict
        The runs that wrote to the study, in order: when each `began`, its packages' `versions`, the `inputs`
        that it depended on, and the changes of them that were `accepted`.
    lost : dict of int
        Of a damaged file: how many rows of each table were found that are not what was written.

    Raises
    ------
    UserError
        There is no such file, or it is not a study, or it is damaged.
    """

    def __init__(self, path: str | Path, *, damaged: bool = False) -> None:
        self.path: Path
        self.path, self._may_be_damaged = Path(path), damaged
        with _without_collection(), contextlib.closing(connect(self.path, write=False)) as connection:
            connection.execute("BEGIN")
            self.damage: str
            self.damage, contents = examine(connection)
            if self.damage and not damaged:
                raise refusal(self.path, self.damage)
            self.lost: dict[str, int] = {}
            if self.damage or contents is None:
                contents, self.lost = salvage(connection)
        self.meta: dict[str, Any]
        self.runs: list[dict[str, Any]]
        self.worlds: dict[str, WorldRecord]
        self.meta, self.runs, self.worlds, self._rounds, self._recommendations = contents
        if "scenario" not in self.meta and not self.damage:
            raise UserError(
                f"{self.path}: the study is empty; its run stopped before it began: start it again with "
                "policyloop run and --resume"
            )
        try:
            self.scenario: Scenario = Scenario.model_validate(self.meta["scenario"])
            facts, _ = self.environment, self.limits
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(
                f"{self.path}: the study is damaged ({self.damage}), and what it is about is lost in both of "
                "its copies: its rounds cannot be read; run it anew with --force or another --out"
            ) from error
        if self.damage:
            rules = Rules(self.scenario, facts)
            self._rounds = [one for one in self._rounds if not rules.round_fault(one)]
            self._recommendations = [one for one in self._recommendations if not rules.advice_fault(one)]

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r})"

    @functools.cached_property
    def environment(self) -> Facts:
        """What has to be known of the environment: labels, units, groups, sense and more."""
        return Facts.stored(self.meta["environment"])

    @functools.cached_property
    def limits(self) -> list[LimitSpec]:
        """The limits on outcomes: its environment's own, and those that its scenario names."""
        stored = self.environment.limits
        if stored is None:  # the study is from before they were stored
            return self.scenario.limits
        return [LimitSpec.model_validate(one) for one in stored]

    @property
    def failures(self) -> list[StoredRound]:
        """The rounds whose simulation failed."""
        return [record for record in self._rounds if record.status in NOTHING]

    def rounds(self) -> list[StoredRound]:
        """Every stored round, in order of trial, agent and round."""
        return list(self._rounds)

    def optimum(self, trial: int) -> StoredOptimum | None:
        """The true optimum of a trial's world (policy, value, outcomes), `None` where unknown."""
        world = self.world(trial)
        return None if world is None else world.optimum

    def world(self, trial: int) -> WorldRecord | None:
        """What is known of a trial's world; `None` before it is learned."""
        return self.worlds.get(str(trial)) or self.worlds.get(ALL_TRIALS)

    def history(self, trial: int, agent: str) -> list[StoredRound]:
        """The stored rounds of an agent's trial, in order, as `trial.replay` takes them."""
        own = [one for one in self._rounds if (one.trial, one.agent) == (trial, agent)]
        return sorted(own, key=lambda one: one.round)

    def details(self, kind: str) -> list[Detail]:
        """What rounds left beside their numbers, read anew from the file, of one of the kinds of `Detail`.

        Raises
        ------
        UserError
            They are not what was written, which is looked at only here. Of a study opened as `damaged`, what
            is whole of them is given, and `damage` says what is wrong.
        """
        with contextlib.closing(connect(self.path, write=False)) as connection:
            try:
                if not self.damage:
                    return read_details(connection, kind)
            except (*UNREADABLE, ValueError) as error:
                self.damage = on_one_line(error)
                if not self._may_be_damaged:
                    raise refusal(self.path, self.damage) from error
            found, lost = salvage_details(connection)
            self.lost |= {"details": lost} if lost else {}
            return [one for one in found if one.kind == kind]

    def detail(self, kind: str, trial: int, agent: str, number: int) -> Any:
        """What one round left beside its numbers, of a kind of `Detail`; None where it left nothing."""
        if self.damage:
            kept = [one for one in self.details(kind) if one[:3] == (trial, agent, number)]
            return kept[0].value if kept else None
        with contextlib.closing(connect(self.path, write=False)) as connection:
            found = read_details(connection, kind, trial, agent, number)
        return found[0].value if found else None

    def to_dataframe(self) -> pd.DataFrame:
        """One row a (trial, agent, round).

        Returns
        -------
        pandas.DataFrame
            Columns `trial, agent, round, x_<label>.., y_<group>.., objective, expected, regret,
            cumulative_regret, seconds, status`; nan where a value is missing or unknown. Trials and rounds
            count from 1. Of a policy, real numbers are float, whole numbers int, and categories their names.
            `objective` is observed, `expected` and `regret` are noise-free. Where policies are stations,
            their ids and names follow as `station` and `station_name`.
        """
        return self._frame.copy()

    @functools.cached_property
    def _frame(self) -> pd.DataFrame:
        return self.table_of(self._rounds)

    def table_of(self, rounds: list[StoredRound]) -> pd.DataFrame:
        """Some rounds as the table of `to_dataframe`."""
        import numpy as np
        import pandas as pd

        labels, groups = self.environment.labels, self.environment.groups
        order = {label: position for position, label in enumerate(self.scenario.labels)}
        records = sorted(rounds, key=lambda one: (one.trial, order.get(one.agent, len(order)), one.round))

        def column(name: str, *width: int) -> np.ndarray[Any, np.dtype[np.float64]]:
            found = np.array([getattr(one, name) for one in records], dtype=np.float64)
            return found.reshape(len(records), *width)

        policies, outcomes = column("policy", len(labels)), column("outcomes", len(groups))
        data: dict[str, Any] = {
            "trial": np.array([one.trial for one in records], dtype=np.int64),
            "agent": [one.agent for one in records],
            "round": np.array([one.round for one in records], dtype=np.int64),
        }
        for i, (label, lever) in enumerate(zip(labels, self.environment.kinds, strict=True)):
            data[f"x_{label}"] = policies[:, i]
            if not isinstance(lever, Real):
                data[f"x_{label}"] = [lever.value(x) for x in policies[:, i]]
        data |= {f"y_{group}": outcomes[:, j] for j, group in enumerate(groups)}
        for name in ("objective", "expected", "regret"):
            data[name] = column(name)
        frame = pd.DataFrame(data)
        frame["cumulative_regret"] = frame.groupby(["trial", "agent"], sort=False)["regret"].cumsum()
        frame["seconds"] = column("seconds")
        frame["status"] = [one.status for one in records]
        if self.environment.stations:
            names = self.environment.by_place()
            called = [names.get(tuple(one.policy), ("", "")) for one in records]
            frame["station"], frame["station_name"] = ([one[i] for one in called] for i in range(2))
        return frame

    def recommendations(self) -> list[Advice]:
        """Every agent's recommendation at the end of every trial, in order of trial and agent."""
        return list(self._recommendations)

    def export(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the table of rounds to a CSV or Parquet file; floats keep every bit in both.

        In CSV a text that a spreadsheet would run, such as =A1, has an apostrophe before it.

        Parameters
        ----------
        path : str or Path
            Ends in `.csv` or `.parquet`.
        force : bool, default False
            Replace the file if it exists.

        Raises
        ------
        UserError
            Another ending, the file exists, or its folder cannot be written to. Nothing is written then.
        """
        target = Path(path)
        if target.suffix not in (".csv", ".parquet"):
            raise UserError(f"{target}: the name must end in .csv or .parquet")
        check_target(target, force)
        with whole_file(target) as partial:
            if target.suffix == ".csv":
                for_spreadsheets(self._frame).to_csv(partial, index=False)
            else:
                self._frame.to_parquet(partial, index=False)
        return target


def for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
    """A table in which no text is run as a formula: the labels of agents, names of categories and titles."""
    texts = frame.select_dtypes(exclude="number").columns
    return frame.assign(**{name: frame[name].map(for_spreadsheet) for name in texts}).rename(
        columns=for_spreadsheet
    )


def check_target(target: Path, force: bool) -> None:
    """Raise UserError where an output file may not be written: it exists, say, and there is no `force`."""
    refuse_folder(target)
    if target.exists() and not force:
        raise UserError(f"{target}: exists; give --force to replace it, or another --out")
    if not target.parent.is_dir():
        raise UserError(f"{target}: there is no folder {target.parent}")
