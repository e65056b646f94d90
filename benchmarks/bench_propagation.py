"""Cumulative regret of every propagation through a general g, against plain GP-UCB: paired trials.

    python benchmarks/bench_propagation.py [--trials 30] [--rounds 100] [--first-seed 0] [--jobs 2]
    python benchmarks/bench_propagation.py --speed

Two kinds of world, a new one each trial, of three groups over 400 candidates in the unit square. "quadratic":
g = -sum_j (f_j - 1)^2, the distance from a target, where each f_j is a draw from a Gaussian process. "heat":
the NWS perceived temperature of a temperature (mean 80 degF, deviation 12), a humidity (55 %, 20) and a wind
(8 mph, 4). 200 more points of the same world are set aside; every agent learns its kernels from them: the
decomposed ones a kernel a group, the aggregate ones a kernel of the composed values. All agents of a trial
see the same world, the same first policy and the same noise of each round and candidate.

Printed for each agent: mean cumulative regret, and its ratio to GP-UCB's with Fieller's 95 % interval
over trials. `--samples` and `--smoothing` show what the number of samples and their smoothing do. `--speed`
times one ask over 960 candidates after 300 rounds, for the NWS perceived temperature from K and m/s.
"""

import argparse
import time

import numpy as np
from joblib import Parallel, delayed
from sklearn.gaussian_process.kernels import RBF, Matern
from threadpoolctl import threadpool_limits

from optimizer import PROPAGATIONS, UCB, GeneralComposition, Prior, SearchSpace, learn_prior, make_agent
from optimizer.acquisition import smoothing as smoothed
from optimizer.acquisition.exploration import default_exploration
from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.settings import AgentSettings
from optimizer.composition.propagation import SAMPLES, Bound, Delta, Sampled
from scenarios.results.intervals import gain_interval
from simulators.weather.perceived_temperature import perceived_temperature, perceived_temperature_gradient

CANDIDATES, ASIDE, GROUPS = 400, 200, 3
WORLDS = ("quadratic", "heat")
AGENTS = {
    # name: feedback, acquisition, propagation
    "gp-ucb": ("aggregate", "ucb", None),
    "ei": ("aggregate", "ei", None),
    "mpi": ("aggregate", "mpi", None),
    "d-gpucb bound": ("decomposed", "ucb", "bound"),
    "d-gpucb delta": ("decomposed", "ucb", "delta"),
    "d-gpucb sampled": ("decomposed", "ucb", "sampled"),
    "d-gpucb deviation": ("decomposed", "ucb", "deviation"),
    "d-ei bound": ("decomposed", "ei", "bound"),
    "d-ei delta": ("decomposed", "ei", "delta"),
    "d-ei sampled": ("decomposed", "ei", "sampled"),
    "d-mpi delta": ("decomposed", "mpi", "delta"),
    "d-mpi sampled": ("decomposed", "mpi", "sampled"),
    "d-ts": ("decomposed", "ts", "sampled"),
}


class DeviationUCB(UCB):
    """E[m + sqrt(beta pi / 2) |g - m|] (Wilson et al. 2017), the other way to a bound from samples."""

    def score_samples(self, samples):
        mean = samples.mean(axis=0)
        return mean + self.root * np.sqrt(np.pi / 2) * np.abs(samples - mean).mean(axis=0)


class DeviationAgent(GPAgent):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.acquisition = DeviationUCB


def compose_of(kind):
    if kind == "quadratic":
        return lambda F, X: -((F - 1) ** 2).sum(axis=-1), lambda F, X: -2 * (F - 1)
    return (
        lambda F, X: perceived_temperature(F[..., 0], F[..., 1], F[..., 2]),
        lambda F, X: perceived_temperature_gradient(F[..., 0], F[..., 1], F[..., 2]),
    )


def world(kind, seed):
    """Points, outcomes and noise variances of a world; the first `ASIDE` points are set aside."""
    rng = np.random.default_rng([WORLDS.index(kind), seed])
    X = rng.random((CANDIDATES + ASIDE, 2))
    scales = rng.uniform(0.1, 0.3, GROUPS)
    kernels = [RBF(scales[0]), Matern(scales[1], nu=2.5), Matern(scales[2], nu=1.5)]
    F = np.stack(
        [np.linalg.cholesky(k(X) + 1e-8 * np.eye(len(X))) @ rng.standard_normal(len(X)) for k in kernels],
        axis=1,
    )
    if kind == "heat":
        F = np.array([80.0, 55.0, 8.0]) + np.array([12.0, 20.0, 4.0]) * F
        return X, F, np.array([0.25, 1.0, 0.25])
    return X, F, np.full(GROUPS, 1e-3)


def trial(kind, seed, rounds, samples, names):
    X, F, noise = world(kind, seed)
    g, gradient = compose_of(kind)
    bounds = np.abs(gradient(F, X)).max(axis=0)
    composition = GeneralComposition(GROUPS, g, gradient=gradient, bounds=bounds)
    rng = np.random.default_rng([2, seed])
    Y = F[:ASIDE] + np.sqrt(noise) * rng.standard_normal((ASIDE, GROUPS))
    aside = X[:ASIDE]
    groups = learn_prior("matern-5/2", aside, Y, noise_variances=noise, restarts=0, seed=seed)
    composed_noise = (gradient(Y, aside) ** 2 @ noise).mean(keepdims=True)
    own = learn_prior(
        "matern-5/2", aside, g(Y, aside)[:, None], noise_variances=composed_noise, restarts=0, seed=seed
    )
    space = SearchSpace(candidates=X[ASIDE:])
    truth = F[ASIDE:]
    value = g(truth, X[ASIDE:])
    first = int(rng.integers(CANDIDATES))
    regrets, seconds = {}, {}
    for name in names:
        feedback, acquisition, propagation = AGENTS[name]
        through = composition
        if feedback == "decomposed":
            through = composition.propagated(
                {"bound": Bound(), "delta": Delta()}.get(propagation) or Sampled(GROUPS, seed, samples)
            )
        agent = (DeviationAgent if propagation == "deviation" else GPAgent)(
            name,
            space,
            through,
            AgentSettings(
                prior=groups if feedback == "decomposed" else own,
                kernel="own",
                exploration=default_exploration(space, 0.05, 5.0, GROUPS if feedback == "decomposed" else 1),
                seed=seed,
            ),
            feedback=feedback,
            acquisition=acquisition,
        )
        row, total, start = first, np.empty(rounds), time.process_time()
        for t in range(rounds):
            noise_rng = np.random.default_rng([3, seed, t, row])
            y = truth[[row]] + np.sqrt(noise) * noise_rng.standard_normal((1, GROUPS))
            total[t] = value.max() - value[row]
            agent.tell([row], y if feedback == "decomposed" else g(y, X[:1]))
            row = int(agent.ask()[0])
        regrets[name], seconds[name] = total.sum(), time.process_time() - start
    return regrets, seconds


def ratio(mine, reference):
    """mean(mine) / mean(reference) with Fieller's 95 % interval over paired trials; nan without ends."""
    mine, reference = np.array(mine), np.array(reference)
    gain = gain_interval(mine, reference, minimise=True)
    ends = (np.nan if end is None else 1 - end / 100 for end in (gain["high"], gain["low"]))
    return mine.mean() / reference.mean(), *ends


def limited(*arguments):
    kind, seed, rounds, samples, smoothing, names = arguments
    if smoothing is not None:
        smoothed.SMOOTHING = smoothing
        smoothed.KEPT = float(np.sqrt(1 - smoothing**2))
    with threadpool_limits(1):
        return trial(kind, seed, rounds, samples, names)


def speed(n=960, rounds=300, repeats=15):
    units = {"temperature_unit": "K", "wind_unit": "m/s"}
    composition = GeneralComposition(
        GROUPS,
        lambda F, X: perceived_temperature(F[..., 0], F[..., 1], F[..., 2], **units),
        gradient=lambda F, X: perceived_temperature_gradient(F[..., 0], F[..., 1], F[..., 2], **units),
        bounds=[20.0, 5.0, 10.0],
    )
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    X /= np.linalg.norm(X, axis=1)[:, None]
    waves = np.stack([np.sin(4 * X[:, 0] + j) * np.cos(3 * X[:, 1]) for j in range(GROUPS)], axis=1)
    means = np.array([295.0, 60.0, 4.0])
    F = means + np.array([10.0, 15.0, 2.0]) * waves
    kernels = [100 * RBF(0.4), 200 * Matern(0.4, nu=1.5), 4 * Matern(0.3, nu=0.5)]
    prior = Prior(kernels, np.array([0.04, 0.03, 0.005]), list(means))
    told = rng.choice(n, rounds, replace=False)
    print(
        f"processor time, median of {repeats} asks over {n} candidates, J {GROUPS}, T {rounds}, S {SAMPLES}"
    )
    for name in ("d-gpucb", "d-ei", "d-mpi", "d-ts"):
        for propagation in PROPAGATIONS:
            agent = make_agent(
                name, SearchSpace(candidates=X), composition, prior=prior, propagation=propagation
            )
            agent.tell(told, F[told])
            seconds = []
            for _ in range(repeats):
                start = time.process_time()
                agent.ask()
                seconds.append(time.process_time() - start)
            print(f"{name:8s} {propagation:8s} {1e3 * np.median(seconds):6.2f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--smoothing", type=float)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--agents", help="comma-separated, GP-UCB always with them")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    if options.speed:
        with threadpool_limits(1):
            return speed()
    names = list(AGENTS) if options.agents is None else ["gp-ucb", *options.agents.split(",")]
    for kind in WORLDS:
        done = Parallel(n_jobs=options.jobs)(
            delayed(limited)(kind, seed, options.rounds, options.samples, options.smoothing, names)
            for seed in range(options.first_seed, options.first_seed + options.trials)
        )
        print(
            f"\n{kind}: {options.trials} trials from seed {options.first_seed}, {options.rounds} rounds, "
            f"S = {options.samples}\n\n| agent | cumulative regret | times GP-UCB's | 95 % | ms a round |"
            "\n|---|---|---|---|---|"
        )
        for name in names:
            mine = [regrets[name] for regrets, _ in done]
            times, low, high = ratio(mine, [regrets["gp-ucb"] for regrets, _ in done])
            ms = 1e3 * np.mean([seconds[name] for _, seconds in done]) / options.rounds
            print(
                f"| {name} | {np.mean(mine):.1f} | {times:.2f} | {low:.2f}..{high:.2f} | {ms:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
