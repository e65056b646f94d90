"""A study, read: what was run, its table of rounds, its recommendations."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policyloop.messages import on_one_line
from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.study.file import connect, damage, refusal, refuse_folder
from scenarios.study.reading import (
    read_meta,
    read_recommendations,
    read_rounds,
    read_runs,
    read_worlds,
    salvage,
)

if TYPE_CHECKING:
    import pandas as pd


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
        What is wrong with the file, where it is damaged: some rounds are lost then, and others may have
        changed. "" where nothing is.
    scenario : Scenario
        As run.
    meta : dict
        `created`, `versions`, `environment` (labels, units, groups, sense) and more.
    worlds : dict
        By world ("all", or a trial): seed, priors, optimum (None where unknown).
    runs : list of dict
        The runs that wrote to the study, in order: when each `began`, and its packages' `versions`.

    Raises
    ------
    UserError
        There is no such file, or it is not a study, or it is damaged.
    """

    def __init__(self, path: str | Path, *, damaged: bool = False) -> None:
        self.path = Path(path)
        with contextlib.closing(connect(self.path, write=False)) as connection:
            try:
                connection.execute("BEGIN")
                self.damage = damage(connection)
                self.meta: dict[str, Any] = read_meta(connection)
                self.runs: list[dict[str, Any]] = read_runs(connection)
                self.worlds: dict[str, dict[str, Any]] = read_worlds(connection)
            except (sqlite3.Error, ValueError) as error:
                raise UserError(
                    f"{self.path}: the study is damaged at its beginning, and cannot be read: "
                    f"{on_one_line(error)}; run it anew with --force or another --out"
                ) from error
            if "scenario" not in self.meta:
                raise UserError(
                    f"{self.path}: the study is empty; its run stopped before it began: start it again with "
                    "policyloop run and --resume"
                )
            self.scenario = Scenario.model_validate(self.meta["scenario"])
            if not self.damage:
                try:
                    self._rounds = read_rounds(connection)
                    self._recommendations = read_recommendations(connection)
                except (sqlite3.Error, ValueError) as error:
                    self.damage = on_one_line(error)
            if self.damage:
                if not damaged:
                    raise refusal(self.path, self.damage)
                self._rounds = salvage(connection, "rounds", self._plausible)
                self._recommendations = salvage(connection, "recommendations", self._plausible)

    def _plausible(self, record: dict[str, Any]) -> bool:
        """Tell whether a row of a damaged file may be one of this study's."""
        scenario, facts = self.scenario, self.environment
        return (
            record["agent"] in scenario.labels
            and record["trial"] in range(1, scenario.trials + 1)
            and record.get("round", 1) in range(1, scenario.rounds + 1)
            and len(record.get("policy", facts["labels"])) == len(facts["labels"])
            and len(record.get("outcomes", facts["groups"])) == len(facts["groups"])
        )

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r})"

    @property
    def environment(self) -> dict[str, Any]:
        """The environment's facts: `labels`, `units`, `groups`, `group_units`, `objective_unit`, `sense`."""
        facts: dict[str, Any] = self.meta["environment"]
        return facts

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The rounds whose simulation failed, as stored: policy, trial, agent, round, error."""
        return [record for record in self._rounds if record["status"] == "failed"]

    def rounds(self) -> list[dict[str, Any]]:
        """Every stored round, in order of trial, agent and round, as stored."""
        return [dict(record) for record in self._rounds]

    def optimum(self, trial: int) -> dict[str, Any] | None:
        """The true optimum of a trial's world (policy, value, outcomes), `None` where unknown."""
        world = self.world(trial)
        return None if world is None else world["optimum"]

    def world(self, trial: int) -> dict[str, Any] | None:
        """What is known of a trial's world: seed, priors and optimum; `None` before it is learned."""
        return self.worlds.get(str(trial)) or self.worlds.get("all")

    def history(self, trial: int, agent: str) -> list[dict[str, Any]]:
        """The stored rounds of an agent's trial, in order, as `trial.replay` takes them."""
        own = [one for one in self._rounds if one["trial"] == trial and one["agent"] == agent]
        return sorted(own, key=lambda one: int(one["round"]))

    def to_dataframe(self) -> pd.DataFrame:
        """One row a (trial, agent, round).

        Returns
        -------
        pandas.DataFrame
            Columns `trial, agent, round, x_<label>.., y_<group>.., objective, expected, regret,
            cumulative_regret, seconds, status`; nan where a value is missing or unknown. Trials and rounds
            count from 1. `objective` is observed, `expected` and `regret` are noise-free.
        """
        return self._frame.copy()

    @functools.cached_property
    def _frame(self) -> pd.DataFrame:
        import numpy as np
        import pandas as pd

        labels, groups = self.environment["labels"], self.environment["groups"]
        order = {label: position for position, label in enumerate(self.scenario.labels)}
        records = sorted(
            self._rounds, key=lambda one: (one["trial"], order.get(one["agent"], len(order)), one["round"])
        )

        def matrix(name: str, width: int) -> np.ndarray[Any, np.dtype[np.float64]]:
            return np.array([one[name] for one in records], dtype=np.float64).reshape(len(records), width)

        def column(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
            return np.array([one[name] for one in records], dtype=np.float64)

        policies, outcomes = matrix("policy", len(labels)), matrix("outcomes", len(groups))
        data: dict[str, Any] = {
            "trial": np.array([one["trial"] for one in records], dtype=np.int64),
            "agent": [one["agent"] for one in records],
            "round": np.array([one["round"] for one in records], dtype=np.int64),
        }
        data |= {f"x_{label}": policies[:, i] for i, label in enumerate(labels)}
        data |= {f"y_{group}": outcomes[:, j] for j, group in enumerate(groups)}
        for name in ("objective", "expected", "regret"):
            data[name] = column(name)
        frame = pd.DataFrame(data)
        frame["cumulative_regret"] = frame.groupby(["trial", "agent"], sort=False)["regret"].cumsum()
        frame["seconds"] = column("seconds")
        frame["status"] = [one["status"] for one in records]
        return frame

    def recommendations(self) -> list[dict[str, Any]]:
        """Every agent's recommendation at the end of every trial.

        Returns
        -------
        list of dict
            `trial, agent, rounds` (known when it was made), `expected` (noise-free value of the policy, None
            where unknown), `simple_regret`, and `value`: `policy`, `mean`, `low`, `high`, `group_means`,
            `group_low`, `group_high`, `best_observed`, `best_observed_value`, `expected_outcomes`.
        """
        return [dict(one) for one in self._recommendations]

    def export(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the table of rounds to a CSV or Parquet file; floats keep every bit in both.

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
        # Written beside and renamed: a reader never meets half a file.
        partial = target.with_name(f".{target.name}.partial")
        frame = self._frame
        try:
            if target.suffix == ".csv":
                frame.to_csv(partial, index=False)
            else:
                frame.to_parquet(partial, index=False)
            partial.replace(target)
        except OSError as error:
            raise UserError(f"{target}: cannot be written ({on_one_line(error)})") from error
        finally:
            partial.unlink(missing_ok=True)
        return target


def check_target(target: Path, force: bool) -> None:
    """Check that an output file may be written.

    Raises
    ------
    UserError
        It exists (without `force`), is a folder, or there is no folder for it.
    """
    refuse_folder(target)
    if target.exists() and not force:
        raise UserError(f"{target}: exists; give --force to replace it, or another --out")
    if not target.parent.is_dir():
        raise UserError(f"{target}: there is no folder {target.parent}")
