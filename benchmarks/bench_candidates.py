"""One observation over very many candidates, against the floor set by moving the kept rows once.

    python benchmarks/bench_candidates.py [--candidates 100000] [--groups 10] [--rounds 100] [--peers]

Time and accuracy of exact rows, kernels shared between groups, a low-rank factor and float32 rows.
"""

import argparse
from time import perf_counter

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from optimizer import CandidatePosterior, Composition, RowStorage

NOISE = 1e-2


def milliseconds(action) -> float:
    start = perf_counter()
    action()
    return 1e3 * (perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=100_000)
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--peers", action="store_true", help="time scikit-learn's refit as well")
    options = parser.parse_args()
    n, J, T = options.candidates, options.groups, options.rounds
    rng = np.random.default_rng(0)
    C = np.linspace(0, 1, n)[:, None]
    own = [RBF(scale) for scale in rng.uniform(0.05, 0.2, J)]
    rows = rng.integers(0, n, T + options.repeats + 1)
    Y = np.sin(6 * C[rows] + np.arange(J)) + np.sqrt(NOISE) * rng.standard_normal((len(rows), J))

    with threadpool_limits(1):
        print(f"candidates {n}, J {J}, T {T}, one thread, median of {options.repeats}")
        print("a floor: one product over as many rows, timed between the rounds")
        kept = [rng.standard_normal((T + 1 + options.repeats // 2, n)) for _ in range(J)]
        column = rng.standard_normal(len(kept[0]))
        exact = None
        for label, kernels, storage in (
            ("exact", own, RowStorage()),
            ("one kernel shared by all groups", [own[0]] * J, RowStorage()),
            ("float32 rows", own, RowStorage(dtype="float32")),
            ("low rank to 1e-10", own, RowStorage(rank_tolerance=1e-10)),
        ):
            posterior = CandidatePosterior(
                kernels, np.full(J, NOISE), Composition(J), features=C, storage=storage
            )
            posterior.observe(rows[:T], Y[:T])
            more = iter(range(T, len(rows)))

            def one_round(posterior=posterior, more=more) -> None:
                t = next(more)
                posterior.observe(rows[t : t + 1], Y[t : t + 1])
                posterior.predict()

            one_round()
            rounds, floors = [], []
            for _ in range(options.repeats):  # in turns, because the memory of a shared machine is not steady
                floors.append(milliseconds(lambda: [column @ block for block in kept]))
                rounds.append(milliseconds(one_round))
            ms, floor = float(np.median(rounds)), float(np.median(floors))
            mean, variance = posterior.predict()
            accuracy = ""
            if label == "exact":
                exact = mean, variance
            elif kernels is own:
                errors = [np.abs(a - b).max() for a, b in zip((mean, variance), exact, strict=True)]
                accuracy = f"  largest error: mean {errors[0]:.1e}, variance {errors[1]:.1e}"
            megabytes = posterior.nbytes / 1e6
            cost = f"{ms:9.1f} ms {ms / floor:6.2f} floors of {floor:.1f} ms {megabytes:8.0f} MB"
            print(f"{label:44s} {cost}{accuracy}")
            del posterior
        if options.peers:

            def refit() -> None:
                for j, kernel in enumerate(own):
                    peer = GaussianProcessRegressor(kernel, alpha=NOISE, optimizer=None).fit(
                        C[rows[:T]], Y[:T, j]
                    )
                    peer.predict(C, return_std=True)

            ms = milliseconds(refit)
            print(f"{'scikit-learn, refit and predict':44s} {ms:9.1f} ms {ms / floor:6.2f} floors")


if __name__ == "__main__":
    main()
