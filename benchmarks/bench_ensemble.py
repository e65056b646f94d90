"""Picking one member of an ensemble a round, beside running all: regret and simulations.

    python -m benchmarks.bench_ensemble [TRIALS] [ROUNDS_ALL] [ROUNDS_ONE]

Flu vaccination in five worlds (r0 = 1.3, 1.4, 1.5, 1.6, 1.7), to be good on average and in the worst of them;
d-ei, whose kernels are learned from its own rounds. Running all members takes 5 simulations a round; picking
one takes 5 in each round of the design (10 rounds), then 1. Printed: the simple regret (noise-free, sick days
per person) of both at the same number of simulations or less, with their paired difference and its 95 %
interval (Student's t over trials). Seeds 0, 1, ..
"""

import sys

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

import bridges
import simulators

R0 = [1.3, 1.4, 1.5, 1.6, 1.7]


def simple_regret(objective, pick, seed, rounds):
    """Simple regret and simulations by round."""
    env = simulators.make(
        "ensemble", of="flu-ode", options={"intervention": "vaccination"}, vary={"r0": R0},
        objective=objective, pick=pick,
    )  # fmt: skip
    optimum = bridges.find_optimum(env)
    agent = bridges.make_agent("d-ei", env, seed=seed)
    loop = bridges.Loop(env, agent, seed, design=bridges.initial_design(env, 10, seed), optimum=optimum)
    found, runs = [], 0
    for one in loop.run(rounds):
        runs += int(np.isfinite(one.outcomes).reshape(len(R0), -1).any(axis=1).sum())
        if one.round >= 10 and (one.round % 5 == 0 or one.round == rounds):
            policy = np.asarray([agent.recommend().policy])
            value = env.compose(env.expected(policy), policy)[0]
            found.append((runs, max(env.sign * (optimum.value - value), 0.0)))
    return np.array(found)


def main():
    given = [int(one) for one in sys.argv[1:4]]
    trials, everything, single = given + [10, 40, 40][len(given) :]
    for objective in ("mean", "worst"):
        both = []
        for seed in range(trials):
            ways = (("all", everything), ("one", single))
            both.append([simple_regret(objective, pick, seed, rounds)[-1] for pick, rounds in ways])
        found = np.array(both)  # (trials, 2, 2)
        (runs_all, runs_one), (all_, one) = found[:, :, 0].mean(axis=0), found[:, :, 1].T
        low, high = stats.t.interval(0.95, trials - 1, (one - all_).mean(), stats.sem(one - all_))
        print(
            f"{objective}: all members {all_.mean():.5f} after {runs_all:.0f} simulations; one a round "
            f"{one.mean():.5f} after {runs_one:.0f} ({100 * runs_one / runs_all:.0f} %); difference "
            f"{(one - all_).mean():.5f} [{low:.5f}, {high:.5f}]",
            flush=True,
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
