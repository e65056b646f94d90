"""A study's figures: cumulative and average regret, and the recommended policy or a map, as PNG and SVG."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from scenarios.declaration.code import is_own
from scenarios.errors import UserError
from scenarios.figures.curves import curve_figures
from scenarios.figures.drawing import FORMATS, STYLE, Bounds, save
from scenarios.figures.policies import policy_figure
from scenarios.figures.regret import regret_figure
from scenarios.figures.seasons import has_seasons, season_figures
from scenarios.figures.station_map import has_map, station_map
from scenarios.outputs import cannot_write
from scenarios.results.bounds import study_bounds
from scenarios.study.study import Study, check_target


def plot(
    study: Study, folder: str | Path, *, force: bool = False, bound: bool = False, info: str | None = None
) -> list[Path]:
    """Draw a study's figures.

    Parameters
    ----------
    study : Study
    folder : str or Path
        Made if it is missing.
    force : bool, default False
        Replace figures that exist.
    bound : bool, default False
        Draw the theory's bounds over the cumulative regret.
    info : str, optional
        Draw only the curves of this entry of what steps say besides (`Outcomes.info`).

    Returns
    -------
    list of Path
        `cumulative_regret`, `average_regret` (`.._objective` where regret is unknown) and
        `recommended_policy`, or `map` where policies are places, besides `epidemic_curve`, `attack_rate` and
        `town` where rounds are seasons among persons, and `curves_NAME` where rounds keep some, each as
        `.png` and `.svg`; a figure for which the study holds nothing yet is left out.

    Raises
    ------
    UserError
        A figure exists (without `force`), the folder cannot be made, the theory has no bound for the study,
        or the data of its map are gone: nothing is written then. Or the disk is full: what is there is whole.
    """
    bounds: Bounds = study_bounds(study) if bound else {}
    target = Path(folder)
    with matplotlib.rc_context(STYLE):
        drawn = _draw(study, bounds) if info is None else curve_figures(study, info)
        if not drawn:
            raise UserError(f"{study.path}: holds no complete round yet, there is nothing to draw")
        paths = {name: [target / f"{name}.{kind}" for kind in FORMATS] for name in drawn}
        if target.exists() and not target.is_dir():
            raise UserError(f"{target}: is a file; give the name of a folder")
        if target.is_dir():
            for path in (path for pair in paths.values() for path in pair):
                check_target(path, force)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(target, error) from error
        for name, figure in drawn.items():
            save(figure, target / name)
    return [path for pair in paths.values() for path in pair]


def _draw(study: Study, bounds: Bounds) -> dict[str, Figure]:
    drawn: dict[str, Figure] = {}
    measure = "regret" if bool(study.to_dataframe()["regret"].notna().any()) else "objective"
    for average in (False, True):
        figure = regret_figure(study, measure, average, {} if average else bounds)
        if figure is not None:
            drawn[f"{'average' if average else 'cumulative'}_{measure}"] = figure
    # Bars of longitudes and latitudes would tell nothing that a map does not. Maps and seasons need the
    # environment, which a reader makes only where it is policyloop's own.
    own = is_own(study.scenario)
    if own and has_map(study):
        drawn |= {name: one for name, one in {"map": station_map(study)}.items() if one is not None}
    elif (figure := policy_figure(study)) is not None:
        drawn["recommended_policy"] = figure
    if own and has_seasons(study):
        drawn |= season_figures(study)
    return drawn | curve_figures(study)
