"""How well each kernel family predicts stations that it has not seen, on the sphere and on plain degrees.

    python benchmarks/bench_station_kernels.py [--data FILE] [--seeds 3] [--learn-noise] [--jobs 1]

The protocol of the scenario `weather`: a random third of the stations (another one for every seed) is set
aside; from their readings each group's kernel, amplitude and mean are learned, with the noise variance of the
paper, or with --learn-noise one that is learned as well. The process is then conditioned on the same third
and predicts all other stations. Printed is the root mean square error over those, averaged over the seeds,
and the standard deviation of what is predicted, which is the error of a constant. On the graph the family is
the diffusion kernel.
"""

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from optimizer import GaussianProcess, learn_prior
from optimizer.kernels.diffusion import DiffusionKernel, GraphLaplacian
from simulators import make

FAMILIES = ("rbf", "matern-1/2", "matern-3/2", "matern-5/2", "rq")
FEATURES = {"sphere": "points on the sphere", "degrees": "degrees", "graph": "nodes of the graph"}


def errors(environment, kernel, learn_noise, jobs):
    """Root mean square errors (3,) of one split."""
    X, Y = environment.set_aside
    noise = None if learn_noise else environment.noise_variances
    prior = learn_prior(kernel, X, Y, noise_variances=noise, restarts=1, seed=0, jobs=jobs)
    rows = np.arange(environment.policy_space.size)
    truth, Z = environment.expected(rows), environment.policy_space.embed(rows)
    found = []
    for j in range(3):
        process = GaussianProcess(prior.kernels[j], prior.noise_variances[j], prior.means[j])
        process.observe(X, Y[:, j])
        found.append(np.sqrt(np.mean((process.predict(Z)[0] - truth[:, j]) ** 2)))
    return np.array(found)


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--learn-noise", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    row("features", "family", "temperature, K", "humidity, %", "wind, m/s", "seconds a split")
    row(*["---"] * 6)
    with threadpool_limits(1):
        for features in FEATURES:
            worlds = [
                make("weather", data=options.data, features=features, seed=s) for s in range(options.seeds)
            ]
            for family in ("diffusion",) if features == "graph" else FAMILIES:
                start = time.perf_counter()
                found = []
                for world in worlds:
                    kernel = family
                    if family == "diffusion":
                        kernel = DiffusionKernel(GraphLaplacian.of(world.graph))
                    found.append(errors(world, kernel, options.learn_noise, options.jobs))
                seconds = (time.perf_counter() - start) / options.seeds
                mean = np.mean(found, axis=0)
                row(FEATURES[features], family, *(f"{x:.2f}" for x in mean), f"{seconds:.1f}")
        spread = np.mean(
            [world.expected(np.arange(world.policy_space.size)).std(axis=0) for world in worlds], axis=0
        )
        row("none", "constant", *(f"{x:.2f}" for x in spread), "")


if __name__ == "__main__":
    main()
