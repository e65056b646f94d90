"""Runs the suite: one CSV file a problem and agent in a folder, a line a trial; goes on where it stopped.

    python -m benchmarks.suite.run --part choosing --folder suite-results
    python -m benchmarks.suite.run --part judging --agents random --trials 1
    python -m benchmarks.suite.run --agent mine.py:Mine --trials 3 --folder mine-results

All agents of a trial share its noise and its first policies (a Sobol design of max(5, 2 d)). Trials go round
by round of the suite: the first trial of every problem and agent, then the second, so that whatever is done
when it is stopped is balanced. Seconds a round are processor time.
"""

import argparse
import csv
import sys
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.suite import agents as suite_agents
from benchmarks.suite.optima import CHOOSING, JUDGING, make, stored
from bridges import Loop, initial_design, seed_sequence

COLUMNS = (
    "problem",
    "agent",
    "trial",
    "rounds",
    "simple_regret",
    "best_tried",
    "cumulative_regret",
    "seconds_a_round",
)
DEFAULT_AGENTS = tuple(suite_agents.OURS)


def path_of(folder, problem, agent):
    def plain(text):
        return "".join(one if one.isalnum() else "-" for one in text)

    return Path(folder) / f"{plain(problem)}--{plain(agent)}.csv"


def read(path):
    """The whole lines of a file, as dicts of text; what a stop has cut short does not count."""
    if not path.is_file():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1].splitlines()
    return list(csv.DictReader(whole))


def done(path, rounds):
    return {int(row["trial"]) for row in read(path) if int(row["rounds"]) == rounds}


def append(path, row):
    lines = read(path)
    fresh = path.with_suffix(".part")
    with fresh.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*lines, row])
    fresh.replace(path)


def trial(name, label, number, rounds, best):
    """One trial: its line of the table."""
    problem = make(name)
    design = max(5, 2 * problem.policy_space.d)
    first = initial_design(problem, design, seed_sequence(0, number, "design"))
    agent = suite_agents.build(label, problem, number, rounds)
    loop = Loop(problem, agent, seed_sequence(0, number, "noise"), design=first)
    began = process_time()
    tried = [one.expected for one in loop.run(rounds)]
    policy = np.asarray(agent.recommend().policy, dtype=float)
    seconds = (process_time() - began) / max(1, rounds - design)
    regret = np.maximum(problem.sign * (best - np.array(tried)), 0.0)
    simple = max(0.0, float(problem.sign * (best - problem.value(policy[None])[0])))
    values = (name, label, number, rounds, simple, regret.min(), regret.sum(), seconds)
    return dict(zip(COLUMNS, values, strict=True))


def run(problems, labels, trials, rounds, folder, say=print):
    """All trials that are not stored yet."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    best = {name: one["value"] for name, one in stored().items()}
    for number in range(trials):
        for name in problems:
            for label in labels:
                if number >= suite_agents.FEW.get(label, trials):
                    continue
                path = path_of(folder, name, label)
                if number in done(path, rounds):
                    continue
                with threadpool_limits(1):
                    row = trial(name, label, number, rounds, best[name])
                append(path, row)
                say(
                    f"trial {number:2} {name:12} {label:18} simple regret {row['simple_regret']:.4g}, "
                    f"{row['seconds_a_round']:.2f} s a round"
                )


def chosen(text, accepted, what):
    names = [one.strip() for one in text.split(",")]
    wrong = [one for one in names if one not in accepted]
    if wrong:
        sys.exit(f"{what} {wrong[0]!r}; accepted: {', '.join(accepted)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("choosing", "judging"), default="choosing")
    parser.add_argument("--only", default="", help="some of the part's problems, by comma")
    parser.add_argument("--agents", help="labels, by comma; 'all' for all; default: all of ours")
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        help="module:Class or FILE.py:Class of an agent or an acquisition of your own; alone unless --agents",
    )
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--folder", default="suite-results")
    options = parser.parse_args()
    part = CHOOSING if options.part == "choosing" else JUDGING
    problems = chosen(options.only, part, "--only") if options.only else part
    given = ",".join(DEFAULT_AGENTS) if options.agents is None and not options.agent else options.agents
    labels = list(suite_agents.KNOWN) if given == "all" else []
    if given not in ("all", None):
        labels = chosen(given, suite_agents.KNOWN, "--agents")
    for target in options.agent:
        try:
            suite_agents.own(target, make(problems[0]), 0)
        except (ValueError, TypeError) as error:
            sys.exit(f"--agent {target}: {error}")
    labels += options.agent
    warnings.filterwarnings("ignore")
    run(
        problems, labels, options.trials, options.rounds, options.folder, lambda text: print(text, flush=True)
    )


if __name__ == "__main__":
    main()
