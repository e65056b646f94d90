"""`reproduction.md`: what the paper claims, what we measured, and the verdicts."""

from __future__ import annotations

import os
import platform

import pandas as pd
from rich.console import Console
from rich.table import Table

from scenarios.numbers import between, duration, significant
from scenarios.outputs import whole_file, write_whole
from scenarios.reproduction.claims import RULE, Claim
from scenarios.reproduction.folder import Folder
from scenarios.reproduction.settings import FIGURES, Settings
from scenarios.study.versions import versions
from scenarios.tables import print_table

_TITLES = {
    "1": "Figure 1: two functions, their posteriors, and the average variance",
    "2a": "Figure 2a: RMSE reduction, squared-exponential kernels",
    "2b": "Figure 2b: RMSE reduction, Matern kernels",
    "2c": "Figure 2c: RMSE reduction, rational quadratic kernels",
    "2d": "Figure 2d: RMSE reduction, flu",
    "3a": "Figure 3a: cumulative regret, synthetic",
    "3b": "Figure 3b: cumulative regret, flu",
    "3c": "Figure 3c: cumulative regret, perceived temperature",
    "4a": "Figure 4a: average regret, synthetic",
    "4b": "Figure 4b: average regret, flu",
    "4c": "Figure 4c: average regret, perceived temperature",
}


def write(folder: Folder, left_out: list[str]) -> None:
    """Write `reproduction.md` and `claims.csv` about a folder's figures; a line each for those left out."""
    claims = folder.claims()
    table = pd.DataFrame(
        [{"figure": name, **claim.as_dict(), "verdict": claim.verdict} for name, claim in claims]
    )
    with whole_file(folder.path / "claims.csv") as partial:
        table.to_csv(partial, index=False)
    write_whole(folder.path / "reproduction.md", text(folder, left_out))


def text(folder: Folder, left_out: list[str]) -> str:
    """The report as Markdown."""
    settings = folder.settings
    lines = ["# The paper's figures, reproduced", ""]
    if settings.quick:
        lines += [
            "**A quick look, not the paper's numbers of runs, trials, rounds and samples: the verdicts "
            f"below are provisional.** {_amount(settings)}",
            "",
        ]
    lines += [*(f"    {command}" for command in folder.commands), ""]
    if not settings.quick:
        lines += [_amount(settings), ""]
    lines += [_machine(), ""]
    if folder.seconds:
        total = duration(sum(folder.seconds.values()))
        parts = ", ".join(f"{part} {duration(seconds)}" for part, seconds in folder.seconds.items())
        lines += [f"Wall time {total} ({parts}), summed over all times this folder was worked on.", ""]
    lines += ["## Claims", "", *claims_table(folder.claims()), "", RULE.replace("\n", " "), ""]
    missing = [name for name in FIGURES if name not in folder.finished]
    not_asked = [name for name in missing if not any(f"figure {name} " in line for line in left_out)]
    if left_out or not_asked:
        lines += ["## Not here", ""]
        lines += [f"- {line[0].upper()}{line[1:]}." for line in left_out]
        if not_asked:
            lines.append(f"- Not made yet: {', '.join(not_asked)}.")
        lines.append("")
    for name in FIGURES:
        if name in folder.finished:
            one = folder.finished[name]
            picture = next(file for file in one["files"] if file.endswith(".svg"))
            lines += [f"## {_TITLES[name]}", "", f"![{_TITLES[name]}]({picture})", ""]
            for note in one["notes"]:
                lines += [note, ""]
            lines += [f"Files: {', '.join(f'[{file}]({file})' for file in one['files'])}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def show(folder: Folder, console: Console) -> None:
    """Print the claims, our values and the verdicts, and where the figures are."""
    table = Table()
    for column in ("figure", "the paper's claim", "ours, with 95 % interval", "verdict"):
        table.add_column(column, no_wrap=column == "figure")
    for name, claim in folder.claims():
        table.add_row(name, claim.claim, _value(claim), claim.verdict)
    print_table(table, console)
    if folder.settings.quick:
        console.print(
            "A quick look, not the paper's numbers of runs and trials: the verdicts are provisional."
        )
    console.print(
        f"The report is {folder.path / 'reproduction.md'}, the figures lie beside it.", soft_wrap=True
    )


def claims_table(claims: list[tuple[str, Claim]]) -> list[str]:
    """The lines of a Markdown table, a row a claim."""
    lines = [
        "| figure | the paper's claim | what we measured | ours, with 95 % interval | verdict |",
        "|---|---|---|---|---|",
    ]
    for name, claim in claims:
        lines.append(f"| {name} | {claim.claim} | {claim.measured} | {_value(claim)} | **{claim.verdict}** |")
    return lines


def _value(claim: Claim) -> str:
    return f"{significant(claim.mean, 3)} {claim.unit} {between(claim.low, claim.high)}".rstrip()


def _amount(settings: Settings) -> str:
    trials = "trials" if settings.trials is None else f"{settings.trials} trials"
    rounds = "rounds as the scenarios say" if settings.rounds is None else f"{settings.rounds} rounds"
    return (
        f"Seed {settings.seed}. Figure 1: {settings.draws} draws. Figure 2: {settings.runs} runs, "
        f"T up to {settings.observations}, {settings.samples} samples for the flu kernels. "
        f"Figures 3 and 4: {trials} and {rounds}, {settings.samples} samples where kernels are learned."
    )


def _machine() -> str:
    found = versions("matplotlib")
    packages = ", ".join(f"{name} {number}" for name, number in found.items() if name != "python")
    machine = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} processors"
    return f"Python {found['python']}, {packages}; {machine}."
