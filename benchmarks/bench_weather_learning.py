"""What agents' priors cost in regret where it feels warmest: paired trials of variants in the same worlds.

    python benchmarks/bench_weather_learning.py goes-on --trials 30 --rounds 200 [--data FILE] [--seed 0]
    python benchmarks/bench_weather_learning.py correlated --trials 20 --rounds 100 [--data FILE] [--seed 0]
    python benchmarks/bench_weather_learning.py live --trials 3 --rounds 200 [--seed 0]

goes-on: kernels of 500 samples frozen, or learned on from the agent's rounds (--deviation: how far they
move). correlated: groups of d-gpucb independent, or correlated as the samples' residuals. live: agents of
weather-live with the product of matern-3/2 and a kernel over time, or with the climate kernel.
docs/weather-models.md has what came of it.
"""

import argparse

import numpy as np
from threadpoolctl import threadpool_limits

import bridges
import simulators
from optimizer.prior import own_rounds
from scenarios.results.intervals import mean_interval

AGENT = {"kernel": "own", "scale_down": 5.0, "delta": 0.05, "propagation": "delta"}


def regret(name, world, prior, trial, rounds, optimum=None, **settings):
    """Cumulative regret of an agent in a world nobody has stepped."""
    agent = bridges.make_agent(name, world, prior=prior, seed=trial, **(AGENT | settings))
    design = bridges.initial_design(world, 1, trial)
    loop = bridges.Loop(world, agent, trial, design=design, optimum=optimum)
    return float(np.nansum([one.regret for one in loop.run(rounds)]))


def still(options, trial):
    """By variant, the regret of agents of `weather`."""
    seed = np.random.SeedSequence([options.seed, trial])
    # The comparison of kernels is of all stations, as docs/reproduction.md is; the other of those kept.
    quality = "off" if options.what == "goes-on" else "on"
    world = simulators.make("weather", data=options.data, quality=quality, seed=seed)
    family, optimum = "matern-1/2", bridges.find_optimum(world)

    def learned(**more):
        return bridges.learn_prior(world, family=family, samples=500, seed=trial, **more)

    def one(name, prior, **more):
        return regret(name, world, prior, trial, options.rounds, optimum, family=family, **more)

    if options.what == "correlated":
        priors = {"independent": learned(), "correlated": learned(correlated=True)}
        return {f"d-gpucb {how}": one("d-gpucb", prior) for how, prior in priors.items()}
    priors = {"d-gpucb": learned(), "gp-ucb": learned(own=True)}
    return {
        f"{name} {how}": one(name, prior, goes_on=how == "goes on")
        for name, prior in priors.items()
        for how in ("frozen", "goes on")
    }


def live(options, trial):
    """By variant, the regret of agents of `weather-live`."""
    found = {}
    for family in ("matern-3/2", "climate"):
        for name in ("d-gpucb", "gp-ucb"):
            seed = np.random.SeedSequence([options.seed, trial])
            world = simulators.make("weather-live", sensors=500, seed=seed)
            prior = bridges.learn_prior(
                world, family=family, samples=400, seed=trial, restarts=0, own=name == "gp-ucb"
            )
            found[f"{name} {family}"] = regret(name, world, prior, trial, options.rounds, family=family)
    return found


def interval(values):
    found = mean_interval(np.asarray(values))
    if found["low"] is None or found["high"] is None:
        return f"{found['mean']:.0f}"
    return f"{found['mean']:.0f} [{found['low']:.0f}, {found['high']:.0f}]"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("goes-on", "correlated", "live"))
    parser.add_argument("--data")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deviation", type=float, default=own_rounds.BEGUN_DEVIATION)
    options = parser.parse_args()
    own_rounds.BEGUN_DEVIATION = options.deviation
    rows = []
    with threadpool_limits(1):
        for trial in range(1, options.trials + 1):
            rows.append((live if options.what == "live" else still)(options, trial))
            print(trial, {name: round(value) for name, value in rows[-1].items()}, flush=True)
    names = list(rows[0])
    columns = {name: np.array([row[name] for row in rows]) for name in names}
    print("\n| variant | regret | minus the first of its agent | worst trial |\n| --- | --- | --- | --- |")
    for name, values in columns.items():
        first = next(other for other in names if other.split()[0] == name.split()[0])
        difference = "" if name == first else interval(values - columns[first])
        print(f"| {name} | {interval(values)} | {difference} | {values.max():.0f} |")


if __name__ == "__main__":
    main()
