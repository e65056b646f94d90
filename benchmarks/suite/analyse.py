"""What a folder of the suite's results says, as Markdown.

    python -m benchmarks.suite.analyse --folder suite-results [--part choosing] [--reference auto]
    python -m benchmarks.suite.analyse --folder mine-results --published    # beside the results kept here
    python -m benchmarks.suite.analyse --folder suite-results --published --write benchmarks/suite/results.csv

Regret is taken as log10 of its multiple of the problem's scale (the median regret of a random policy), simple
regret not below `FLOOR` of it: below a ten-thousandth, differences are not worth telling, and a regret of
zero has no logarithm. An agent is compared with the reference in pairs, trial by trial, a problem's mean
difference first, then the mean over problems. Its interval is a bootstrap clustered by problem: problems are
drawn again, then trials within each. Of ten problems such an interval is too short (0.89 in place of 0.95 at
n = 10, `benchmarks/bench_intervals.py`), so the wider of it and Student's t over the problems' means is told.
Multiples are geometric means over problems. Ranks, 1 is best, are taken within a trial, of the agents that
have run as many trials as any.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.suite.optima import CHOOSING, JUDGING, stored
from benchmarks.suite.run import COLUMNS, read

PUBLISHED = Path(__file__).with_name("results.csv")
"""A line a problem, agent and trial, of all agents that anyone has run: to be extended."""

FLOOR = 1e-4
MEASURES = {"simple": "simple regret", "tried": "best tried", "cumulative": "cumulative regret"}
"""Columns of `table`: regret of the policy recommended, of the best policy tried, of all rounds."""
RESAMPLES = 4000


def collected(folder, published=None):
    """The lines of a folder's files, and those of a published table that the folder does not have."""
    rows = [row for path in sorted(Path(folder).glob("*--*.csv")) for row in read(path)]
    there = {(row["problem"], row["agent"], row["trial"], row["rounds"]) for row in rows}
    others = [] if published is None else read(Path(published))
    return [
        *(row for row in others if (row["problem"], row["agent"], row["trial"], row["rounds"]) not in there),
        *rows,
    ]


def write(rows, path):
    """A published table of lines, in order of problem, agent and trial."""
    rows = sorted(rows, key=lambda row: (row["problem"], row["agent"], int(row["trial"])))
    fresh = Path(path).with_suffix(".part")
    with fresh.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    fresh.replace(path)


def table(folder, problems, rounds=40, published=None):
    """One row a (problem, agent, trial): log10 of the `MEASURES`, and seconds a round."""
    frame = pd.DataFrame(collected(folder, published))
    if frame.empty:
        return frame
    numbers = ["trial", "rounds", "simple_regret", "best_tried", "cumulative_regret", "seconds_a_round"]
    frame[numbers] = frame[numbers].astype(float)
    frame = frame[frame["problem"].isin(problems) & (frame["rounds"] == rounds)].copy()
    if frame.empty:
        return frame
    scale = frame["problem"].map({name: one["scale"] for name, one in stored().items()})
    frame["simple"] = np.log10(np.maximum(frame["simple_regret"] / scale, FLOOR))
    frame["tried"] = np.log10(np.maximum(frame["best_tried"] / scale, FLOOR))
    frame["cumulative"] = np.log10(np.maximum(frame["cumulative_regret"] / scale, FLOOR))
    return frame


def differences(frame, agent, reference, measure):
    """By problem the paired differences of an agent from the reference, one a common trial."""
    wide = frame.pivot(index=["problem", "trial"], columns="agent", values=measure)
    if agent not in wide or reference not in wide:
        return {}
    apart = (wide[agent] - wide[reference]).dropna()
    return {name: own.to_numpy() for name, own in apart.groupby(level="problem")}


def clustered(by_problem, rng):
    """The mean over problems' means, and its 95 % bootstrap interval: problems, then trials within each."""
    groups = list(by_problem.values())
    mean = np.mean([own.mean() for own in groups])
    chosen = rng.integers(len(groups), size=(RESAMPLES, len(groups)))
    again = np.empty(chosen.shape)
    for k, own in enumerate(groups):
        times = chosen == k
        again[times] = rng.choice(own, (times.sum(), len(own))).mean(axis=1)
    return mean, *np.quantile(again.mean(axis=1), [0.025, 0.975])


def over_problems(by_problem):
    """Student's 95 % interval over the problems' means; nan of one problem."""
    means = np.array([own.mean() for own in by_problem.values()])
    if len(means) < 2:
        return np.nan, np.nan
    half = stats.t.ppf(0.975, len(means) - 1) * stats.sem(means)
    return means.mean() - half, means.mean() + half


def ranks(frame, agents, measure):
    """Mean rank within a trial, 1 is best, among agents that are all there; ties share theirs."""
    wide = frame.pivot(index=["problem", "trial"], columns="agent", values=measure)
    wide = wide[[one for one in agents if one in wide]].dropna()
    by_problem = wide.rank(axis=1).groupby(level="problem").mean()
    return by_problem.mean(), len(wide)


def multiple(found):
    """The geometric mean over problems, with the wider of both intervals, from differences of log10."""
    mean, low, high = clustered(found, np.random.default_rng(0))
    t_low, t_high = over_problems(found)
    return f"{10**mean:.3g} [{10 ** np.fmin(low, t_low):.3g}, {10 ** np.fmax(high, t_high):.3g}]"


def seconds_ratio(frame, agent, reference):
    """The median over pairs of how many times the reference's seconds a round an agent takes."""
    wide = frame.pivot(index=["problem", "trial"], columns="agent", values="seconds_a_round")
    ratios = (wide[agent] / wide[reference]).dropna()
    return ratios.median() if len(ratios) else np.nan


def report(frame, reference):
    """The Markdown tables."""
    agents = sorted(frame["agent"].unique(), key=lambda one: (one != reference, one))
    most = frame.groupby("agent").size().max()
    complete = [one for one in agents if (frame["agent"] == one).sum() == most]
    mean_ranks = {measure: ranks(frame, complete, measure) for measure in MEASURES}
    heads = ["agent", "pairs", *(f"{one}, times {reference}'s" for one in MEASURES.values())]
    heads += ["rank, simple", "rank, cumulative", "seconds a round", "times"]
    lines = [
        f"Ranks of {len(complete)} agents in {mean_ranks['simple'][1]} trials.\n",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    for agent in agents:
        own = frame[frame["agent"] == agent]
        pairs = {measure: differences(frame, agent, reference, measure) for measure in MEASURES}
        cells = [
            str(sum(len(one) for one in pairs["simple"].values())),
            *["1" if agent == reference else multiple(one) for one in pairs.values()],
            *[f"{mean_ranks[one][0].get(agent, np.nan):.2f}" for one in ("simple", "cumulative")],
            f"{own.groupby('problem')['seconds_a_round'].median().mean():.3f}",
            f"{seconds_ratio(frame, agent, reference):.2f}",
        ]
        lines.append(f"| {agent} | {' | '.join(cells)} |")
    problems = [one for one in (*CHOOSING, *JUDGING) if one in set(frame["problem"])]
    lines += [
        "\n### by problem: median simple regret, as a share of a random policy's\n",
        "| agent | " + " | ".join(problems) + " |",
        "|---" * (len(problems) + 1) + "|",
    ]
    median = (10 ** frame.pivot_table("simple", "agent", "problem", "median")).reindex(columns=problems)
    for agent in agents:
        lines.append(f"| {agent} | " + " | ".join(f"{x:.2g}" for x in median.loc[agent]) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="suite-results")
    parser.add_argument("--part", choices=("choosing", "judging"), default="choosing")
    parser.add_argument("--reference", default="auto")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--published", action="store_true", help="add the results kept beside the suite")
    parser.add_argument("--write", help="write all lines as one table, to be published")
    options = parser.parse_args()
    part = CHOOSING if options.part == "choosing" else JUDGING
    published = PUBLISHED if options.published else None
    if options.write:
        write(collected(options.folder, published), options.write)
    frame = table(options.folder, part, options.rounds, published)
    if frame.empty:
        raise SystemExit(f"{options.folder}: holds no result of the part {options.part}")
    print(report(frame, options.reference))


if __name__ == "__main__":
    main()
