"""Figures 2a to 2d: how much smaller the error of decomposed regression is, by observations and groups.

Every run is written as it ends, so that a stopped study goes on where it was.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from optimizer.arrays import Array
from policyloop.messages import on_one_line
from scenarios.errors import UserError
from scenarios.figures.drawing import new_figure
from scenarios.outputs import cannot_write, write_whole
from scenarios.reproduction.claims import Claim
from scenarios.reproduction.regression_run import WORLD, RegressionSetting, regression_run, shared_priors
from scenarios.reproduction.regression_study import RegressionStudy
from scenarios.reproduction.settings import Settings
from scenarios.results.intervals import jackknife_ends, mean_interval
from scenarios.running.local_workers import call, spread
from scenarios.running.progress import Progress, Say

TITLES = {
    "rbf": "squared-exponential kernels",
    "matern": "Matern kernels",
    "rq": "rational quadratic kernels",
    "flu": "flu, kernels learned",
}
CLAIMED = 10.0, 15.0
"""Percent by which the paper's decomposed regression lowers the RMSE."""

_HEAD = "run,groups,observations,rmse_decomposed,rmse_entire\n"
_COLOURS = ("#0072B2", "#009E73", "#E69F00", "#D55E00")


def setting_of(domain: str, settings: Settings) -> RegressionSetting:
    """What is compared in a panel of figure 2."""
    groups = settings.flu_groups if domain == "flu" else ()
    return RegressionSetting(domain, groups, settings.observations, settings.samples, settings.seed)


def run_panel(
    setting: RegressionSetting, runs: int, path: Path, *, jobs: int, progress: Progress
) -> RegressionStudy:
    """Do the runs that are not stored yet, store each as it ends, and return all.

    `path` is the CSV file of the runs; beside it, as `.json`, are the setting and the learned kernels.
    """
    priors = _priors(setting, path.with_suffix(".json"), jobs, progress)
    done = _stored(setting, path)
    todo = [run for run in range(runs) if run not in done]
    if todo:
        calls = [call(_numbered_run, setting, run, priors) for run in todo]
        words = f"figure 2, {TITLES[setting.domain]}: {runs} runs"
        with progress.stage(words) as say:
            for run, errors in spread(calls, jobs):
                _append(path, _lines(setting, run, errors))
                done[run] = errors
                say(f"{len(done)} done")
    decomposed, entire = np.stack([done[run] for run in range(runs)], axis=-1)
    return RegressionStudy(setting, decomposed, entire)


def _append(path: Path, lines: str) -> None:
    """Add a run to a file; `_stored` takes away again what a stop, or a full disk, cuts short."""
    try:
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(lines)
    except OSError as error:
        raise cannot_write(path, error) from error


def _numbered_run(
    setting: RegressionSetting, run: int, priors: Mapping[int, Mapping[str, Any]]
) -> tuple[int, Array]:
    return run, regression_run(setting, run, priors)


def _priors(
    setting: RegressionSetting, path: Path, jobs: int, progress: Progress
) -> dict[int, dict[str, Any]]:
    """The kernels that all runs share, from the file if they are stored there."""
    wanted = json.loads(json.dumps(asdict(setting)))
    if path.is_file():
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            same = stored["setting"] == wanted
            priors = {int(J): prior for J, prior in stored["priors"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path}: cannot be read ({on_one_line(error)}); --force starts again") from error
        if not same:
            raise UserError(f"{path}: holds a regression study of another setting; --force starts again")
        return priors
    with progress.stage(f"figure 2, {TITLES[setting.domain]}: learning kernels") as say:
        priors = shared_priors(setting, jobs=jobs, on_group=_counter(say))
    write_whole(path, json.dumps({"setting": wanted, "priors": priors}))
    return priors


def _counter(say: Say) -> Callable[[int], None]:
    learned = 0

    def one_more(_: int) -> None:
        nonlocal learned
        learned += 1
        say(f"{learned} groups done")

    return one_more


def _lines(setting: RegressionSetting, run: int, errors: Array) -> str:
    return "".join(
        f"{run},{J},{t + 1},{float(errors[0, i, t])!r},{float(errors[1, i, t])!r}\n"
        for i, J in enumerate(setting.groups)
        for t in range(setting.observations)
    )


def _stored(setting: RegressionSetting, path: Path) -> dict[int, Array]:
    """The complete runs of a file; what a stop has cut short is removed from it."""
    if not path.is_file():
        write_whole(path, _HEAD)
        return {}
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    try:
        if not whole.startswith(_HEAD):
            raise ValueError("its first line is another")
        table = np.loadtxt(io.StringIO(whole), delimiter=",", skiprows=1, ndmin=2)
        found: dict[int, Array] = {}
        for run in np.unique(table[:, 0]) if table.size else ():
            own = table[table[:, 0] == run]
            if len(own) == len(setting.groups) * setting.observations:
                errors = own[:, 3:].T.reshape(2, len(setting.groups), setting.observations)
                found[int(run)] = np.ascontiguousarray(errors)
    except (ValueError, IndexError) as error:
        raise UserError(f"{path}: cannot be read ({on_one_line(error)}); --force starts again") from error
    kept = _HEAD + "".join(_lines(setting, run, errors) for run, errors in found.items())
    if kept != text:
        write_whole(path, kept)
    return found


@dataclass(frozen=True)
class Pooled:
    """The improvement of the RMSEs' averages over runs, in percent.

    A mean of the runs' own percentages is ruled by the few runs in which the ordinary regression happens to
    err little; the ratio of averages is not.

    Attributes
    ----------
    value : ndarray of shape (number of J, T)
        100 (1 - mean decomposed RMSE / mean entire RMSE).
    left_out : ndarray of shape (runs, number of J, T)
        The same of all runs but one, for the jackknife; of the one run where there is one.
    """

    value: Array
    left_out: Array

    @classmethod
    def of(cls, found: RegressionStudy) -> Pooled:
        """Compute both from a study."""
        ours, theirs = (np.moveaxis(one, -1, 0) for one in (found.decomposed, found.entire))
        value = 100 * (1 - ours.mean(axis=0) / theirs.mean(axis=0))
        if len(ours) == 1:
            return cls(value, value[None])
        return cls(value, 100 * (1 - (ours.sum(axis=0) - ours) / (theirs.sum(axis=0) - theirs)))

    def interval(self, of: Callable[[Array], Array]) -> dict[str, float | None]:
        """A function of the (.., number of J, T) improvements with its 95 % jackknife interval."""
        value = of(self.value)
        low, high = jackknife_ends(value, of(self.left_out))
        known = np.isfinite(low)
        return {
            "mean": float(value),
            "low": float(low) if known else None,
            "high": float(high) if known else None,
        }


def make(found: RegressionStudy) -> tuple[Figure, pd.DataFrame, list[Claim], list[str]]:
    """A panel of figure 2, its numbers, its claims and what the report says about it."""
    setting, pooled = found.setting, Pooled.of(found)
    runs, T = found.decomposed.shape[-1], setting.observations
    groups = list(setting.groups)
    main = 0 if setting.domain == "flu" else len(groups) - 1
    claims = [
        Claim(
            claim=f"RMSE is {CLAIMED[0]:.0f}-{CLAIMED[1]:.0f} % lower with decomposed regression",
            measured=f"reduction of the mean RMSE, J = {groups[main]}, averaged over T = 1..{T}, {runs} runs",
            unit="%",
            size=CLAIMED[0],
            **pooled.interval(lambda one: one[..., main, :].mean(axis=-1)),
        )
    ]
    if len(groups) > 1:
        claims.append(
            Claim(
                claim="The benefit grows with the number of groups J",
                measured=f"that reduction at J = {groups[-1]} minus that at J = {groups[0]}, {runs} runs",
                unit="points",
                **pooled.interval(lambda one: (one[..., -1, :] - one[..., 0, :]).mean(axis=-1)),
            )
        )
    numbers = _numbers(found, pooled)
    return _figure(found, numbers), numbers, claims, _notes(found, pooled)


def _numbers(found: RegressionStudy, pooled: Pooled) -> pd.DataFrame:
    """A row a (J, T): RMSEs, their improvement with its band, the trend, the runs' own percentages."""
    T = np.arange(1, found.setting.observations + 1)
    low, high = jackknife_ends(pooled.value, pooled.left_out)
    tables = []
    for i, J in enumerate(found.setting.groups):
        value = pooled.value[i]
        tables.append(
            pd.DataFrame(
                {
                    "groups": J,
                    "observations": T,
                    "rmse_decomposed": found.decomposed[i].mean(axis=-1),
                    "rmse_entire": found.entire[i].mean(axis=-1),
                    "improvement": value,
                    "low": low[i],
                    "high": high[i],
                    "trend": np.polyval(np.polyfit(T, value, min(1, len(T) - 1)), T),
                    "mean_of_percentages": found.improvement[i].mean(axis=-1),
                    "median_of_percentages": np.median(found.improvement[i], axis=-1),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def _notes(found: RegressionStudy, pooled: Pooled) -> list[str]:
    setting = found.setting
    if setting.domain == "flu":
        about = (
            "The vaccination season `flu-ode`, squared-exponential kernels learned from "
            f"{setting.samples} samples outside the runs; T random policies are observed, and the error is "
            "taken at 1,000 others."
        )
    else:
        low, high = WORLD["length_scale"]
        about = (
            f"Each run draws kernels (length scales {low} to {high}) and functions anew on 1,000 points of "
            f"[0, 1], noise variance {WORLD['noise_variance']:g} a function. The numbers of groups share "
            "functions, points and noise."
        )
    lines = [about, "RMSE reduction in percent, averaged over T:"]
    rows = [
        "| J | of the mean RMSEs | mean of the runs' own percentages | their median |",
        "|---|---|---|---|",
    ]
    T = np.arange(1, setting.observations + 1)
    slopes = []
    for i, J in enumerate(setting.groups):
        mean = pooled.interval(lambda one, i=i: one[..., i, :].mean(axis=-1))  # type: ignore[misc]
        own = mean_interval(found.improvement[i].mean(axis=0))
        median = float(np.median(found.improvement[i], axis=-1).mean())
        rows.append(f"| {J} | {_shown(mean)} | {_shown(own)} | {median:.2f} |")
        slopes.append(f"{np.polyfit(T, pooled.value[i], min(1, len(T) - 1))[0]:+.3f} at J = {J}")
    return [*lines, "\n".join(rows), f"Trend, points an observation: {', '.join(slopes)}."]


def _shown(value: Mapping[str, float | None]) -> str:
    if value["low"] is None:
        return f"{value['mean']:.2f}"
    return f"{value['mean']:.2f} [{value['low']:.2f}, {value['high']:.2f}]"


def _figure(found: RegressionStudy, numbers: pd.DataFrame) -> Figure:
    setting = found.setting
    figure = new_figure(6.4, 4.2)
    axes = figure.add_subplot()
    ends = (setting.groups[0], setting.groups[-1])
    for (J, own), colour in zip(numbers.groupby("groups"), _COLOURS, strict=False):
        T = own["observations"]
        if J in ends:  # more bands would hide each other
            axes.fill_between(T, own["low"], own["high"], color=colour, alpha=0.13, linewidth=0)
        axes.plot(T, own["improvement"], color=colour, linewidth=1.5, label=f"J = {J}")
        axes.plot(T, own["trend"], color=colour, linewidth=1.2, linestyle="--")
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_xlim(1, max(2, setting.observations))
    # Bands of few runs can dwarf the curves: they may leave the frame.
    low, high = float(numbers["improvement"].min()), float(numbers["improvement"].max())
    room = 0.35 * max(high - low, 1.0)
    axes.set_ylim(min(low, 0.0) - room, high + room)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("observations T")
    axes.set_ylabel("RMSE reduction (%)")
    runs = found.decomposed.shape[-1]
    band = "95 % band" if ends[0] == ends[1] else f"95 % bands at J = {ends[0]} and {ends[1]}"
    axes.set_title(f"{TITLES[setting.domain]}: {runs} runs, {band}, trend dashed", fontsize=10, loc="left")
    figure.legend(loc="outside lower center", ncols=len(setting.groups))
    return figure
