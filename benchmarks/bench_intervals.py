"""How often 95 % intervals over a few trials contain what they are of.

python benchmarks/bench_intervals.py [--studies 2000] [--resamples 999] [--seed 0] [--quick]

A study has n trials, each with the total of an agent and that of the reference agent, drawn together. Three
things are estimated from it: the mean paired difference; the gain, 100 times that over the reference's mean;
and the mean of a quantity that has a range (a regret, 0 or more; a share of rounds, 0 to 1). Printed for each
kind of interval, distribution and n: the share of studies whose interval contains the truth, in percent, a
study without an interval counted among them, and their share before it where it is above 1 %; and in brackets
the median width in units of the first kind's.

"percentile", "BCa" and "studentised" are bootstraps over trials, as scipy.stats.bootstrap's, for many studies
at once.
"""

import argparse
from collections.abc import Callable

import numpy as np
from scipy import stats

N = (5, 10, 20, 30)
LEVEL = 0.95
HALVED = np.array([0.5, 1.0])[:, None, None]
TAILS = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])

Array = np.ndarray
Draw = Callable[[np.random.Generator, tuple[int, int]], tuple[Array, Array]]


def lognormals(spread: float, shared: float, ratio: float) -> tuple[Draw, float, float]:
    """Lognormal totals, with the correlation of their logarithms; and the two true means."""

    def draw(rng, shape):
        common, a, r = rng.standard_normal((3, *shape))
        own = np.sqrt(1 - shared)
        return tuple(
            scale * np.exp(spread * (np.sqrt(shared) * common + own * e)) for scale, e in ((ratio, a), (1, r))
        )

    mean = np.exp(spread**2 / 2)
    return draw, ratio * mean, mean


def normals(mean: float, deviation: float, shared: float, ratio: float) -> tuple[Draw, float, float]:
    """Normal totals with their correlation; and the two true means."""

    def draw(rng, shape):
        common, a, r = rng.standard_normal((3, *shape))
        own = np.sqrt(1 - shared)
        return tuple(
            m + deviation * (np.sqrt(shared) * common + own * e) for m, e in ((ratio * mean, a), (mean, r))
        )

    return draw, ratio * mean, mean


PAIRS = {
    "normal, s.d. 0.2 of mean": normals(10, 2, 0.5, 0.85),
    "normal, s.d. 0.7 of mean": normals(10, 7, 0.5, 0.85),
    "lognormal 0.5": lognormals(0.5, 0.5, 0.85),
    "lognormal 1.0": lognormals(1.0, 0.5, 0.85),
    "lognormal 0.5, half regret": lognormals(0.5, 0.2, 0.5),
    "exponential": (lambda rng, shape: rng.exponential(size=(2, *shape)) * HALVED, 0.5, 1.0),
}

RANGED = {
    "regret, normal": (lambda rng, shape: np.abs(rng.normal(10, 2, shape)), (0, np.inf), 10.0),
    "regret, lognormal 0.5": (lambda rng, shape: rng.lognormal(0, 0.5, shape), (0, np.inf), np.exp(0.125)),
    "regret, lognormal 1.0": (lambda rng, shape: rng.lognormal(0, 1, shape), (0, np.inf), np.exp(0.5)),
    "regret, exponential": (lambda rng, shape: rng.exponential(1, shape), (0, np.inf), 1.0),
    "regret, 30 % exactly 0": (
        lambda rng, shape: rng.exponential(1, shape) * (rng.random(shape) > 0.3),
        (0, np.inf),
        0.7,
    ),
    "share, 15 of 50 rounds": (lambda rng, shape: rng.beta(3, 7, shape), (0, 1), 0.3),
    "share, 3 of 50 rounds": (lambda rng, shape: rng.binomial(50, 0.06, shape) / 50, (0, 1), 0.06),
    "share, over-dispersed": (lambda rng, shape: rng.beta(0.5, 4.5, shape), (0, 1), 0.1),
}


# What is estimated is g(means of the columns); a kind of interval takes columns (studies, n, k).


def first(m: Array) -> Array:
    return m[..., 0]


def gain(m: Array) -> Array:
    """Of the columns agent, reference."""
    return 100 * (m[..., 1] - m[..., 0]) / np.abs(m[..., 1])


def half(n: int) -> float:
    return float(stats.t.ppf(TAILS[1], n - 1))


def slopes(x: Array, g) -> Array:
    """Values (studies, n) whose standard error is that of g, by the delta method."""
    m = x.mean(axis=1)
    if g is first:
        return x[..., 0]
    a, r = m[..., :1], m[..., 1:]
    return 100 * (-x[..., 0] / np.abs(r) + a * np.sign(r) / r**2 * x[..., 1])


def t_delta(x, g, rng, B):
    e = half(x.shape[1]) * stats.sem(slopes(x, g), axis=1)
    return g(x.mean(axis=1)) - e, g(x.mean(axis=1)) + e


def jackknifed(x, g):
    n = x.shape[1]
    return g((x.sum(axis=1, keepdims=True) - x) / (n - 1))


def t_jackknife(x, g, rng, B):
    n, left = x.shape[1], jackknifed(x, g)
    e = half(n) * np.sqrt((n - 1) * left.var(axis=1))
    return g(x.mean(axis=1)) - e, g(x.mean(axis=1)) + e


def resampled(x, rng, B):
    """Weights (B, n) shared by all studies, and the resampled means (studies, B, k)."""
    n = x.shape[1]
    w = rng.multinomial(n, np.full(n, 1 / n), size=B)
    return w, np.einsum("bn,snk->sbk", w / n, x, optimize=True)


def percentile(x, g, rng, B):
    return np.quantile(g(resampled(x, rng, B)[1]), TAILS, axis=1)


def bca(x, g, rng, B):
    found, center = np.sort(g(resampled(x, rng, B)[1]), axis=1), g(x.mean(axis=1))
    below = (found < center[:, None]).mean(axis=1) + 0.5 * (found == center[:, None]).mean(axis=1)
    z0 = stats.norm.ppf(np.clip(below, 1 / B, 1 - 1 / B))
    left = jackknifed(x, g)
    u = left.mean(axis=1, keepdims=True) - left
    a = (u**3).sum(axis=1) / np.maximum(6 * (u**2).sum(axis=1) ** 1.5, 1e-300)
    ends = []
    for z in stats.norm.ppf(TAILS):
        p = stats.norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z)))
        ends.append(np.take_along_axis(found, np.clip((p * B).astype(int), 0, B - 1)[:, None], 1)[:, 0])
    return ends


def studentised(x, g, rng, B):
    n, center = x.shape[1], g(x.mean(axis=1))
    w, m = resampled(x, rng, B)
    if g is first:
        squares = np.einsum("bn,sn->sb", w / n, x[..., 0] ** 2)
        deviation = np.sqrt(np.maximum(squares - m[..., 0] ** 2, 1e-300) / (n - 1))
    else:
        second = np.einsum("bn,snk,snl->sbkl", w / n, x, x, optimize=True)
        second -= m[..., :, None] * m[..., None, :]
        r = m[..., 1]
        c = 100 * np.stack([-1 / np.abs(r), m[..., 0] * np.sign(r) / r**2], axis=-1)
        variance = np.einsum("sbk,sbkl,sbl->sb", c, second, c)
        deviation = np.sqrt(np.maximum(variance, 1e-300) / (n - 1))
    q = np.quantile((g(m) - center[:, None]) / deviation, TAILS[::-1], axis=1)
    e = stats.sem(slopes(x, g), axis=1)
    return center - q[0] * e, center - q[1] * e


def fieller(x, g, rng, B):
    """Of the gain: the ratios whose t statistic is not beyond its quantile; nan where that is no interval."""
    n, m = x.shape[1], x.mean(axis=1)
    d, r = m[:, 1] - m[:, 0], m[:, 1]
    c = np.einsum("snk,snl->skl", x - m[:, None], x - m[:, None]) / (n - 1) / n
    vr, vd, vdr = c[:, 1, 1], c[:, 1, 1] + c[:, 0, 0] - 2 * c[:, 0, 1], c[:, 1, 1] - c[:, 0, 1]
    t2 = half(n) ** 2
    A, Bq, C = r**2 - t2 * vr, d * r - t2 * vdr, d**2 - t2 * vd
    with np.errstate(invalid="ignore"):
        root = np.where(A > 0, np.sqrt(Bq**2 - A * C), np.nan)
    low, high = 100 * (Bq - root) / A, 100 * (Bq + root) / A
    flip = r < 0
    return np.where(flip, -high, low), np.where(flip, -low, high)


def t_log_ratio(x, g, rng, B):
    """Of the gain of positive totals: Student's t of the logarithm of the ratio of means."""
    m = x.mean(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        e = half(x.shape[1]) * stats.sem(x[..., 0] / m[:, :1] - x[..., 1] / m[:, 1:], axis=1)
        ratio = np.where((m > 0).all(axis=1), m[:, 0] / m[:, 1], np.nan)
        return 100 * (1 - ratio * np.exp(e)), 100 * (1 - ratio * np.exp(-e))


def ranged_kinds(low: float, high: float):
    """Intervals of a mean that has a range."""

    def truncated(kind):
        def interval(x, g, rng, B):
            return tuple(np.clip(end, low, high) for end in kind(x, g, rng, B))

        return interval

    def transformed(x, g, rng, B):
        """Student's t of log(mean), or of its logit, by the delta method; the sample's ends stay ends."""
        m, e = x[..., 0].mean(axis=1), half(x.shape[1]) * stats.sem(x[..., 0], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            if np.isinf(high):
                factor = np.exp(np.where(m > low, e / (m - low), 0))
                return low + (m - low) / factor, low + (m - low) * factor
            p = (m - low) / (high - low)
            step = np.where((p > 0) & (p < 1), e / (high - low) / (p * (1 - p)), 0)
            odds = np.log(p / (1 - p))
            ends = [low + (high - low) / (1 + np.exp(-(odds + s * step))) for s in (-1, 1)]
            return [np.where((p > 0) & (p < 1), end, m) for end in ends]

    return {
        "t, truncated": truncated(t_delta),
        "t, log or logit": transformed,
        "percentile": percentile,
        "BCa": bca,
        "studentised, truncated": truncated(studentised),
    }


MEANS = {"t": t_delta, "percentile": percentile, "BCa": bca, "studentised": studentised}
GAINS = {
    "t, delta method": t_delta,
    "t, jackknife": t_jackknife,
    "Fieller": fieller,
    "t of log ratio": t_log_ratio,
    "percentile": percentile,
    "BCa": bca,
    "studentised": studentised,
}


def show(title, kinds, sample, g, truth, options):
    print(f"\n{title}: truth {truth:.4g}")
    print(f"  {'':24s}" + "".join(f"{f'n = {n}':>16s}" for n in N))
    lines = {name: "" for name in kinds}
    for n in N:
        rng = np.random.default_rng([options.seed, n])
        x, reference = sample(rng, (options.studies, n)), None
        for name, kind in kinds.items():
            parts = [kind(part, g, rng, options.resamples) for part in np.array_split(x, 20)]
            low, high = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
            known = np.isfinite(low) & np.isfinite(high)
            width = np.median((high - low)[known])
            reference = reference or width
            inside = ((low <= truth) & (truth <= high) | ~known).mean()
            mark = "" if known.mean() >= 0.99 else f"-{100 * (1 - known.mean()):.0f}%"
            lines[name] += f"{mark + f' {100 * inside:.1f} ({width / reference:.2f})':>16s}"
    for name, line in lines.items():
        print(f"  {name:24s}{line}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=999)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="400 studies")
    options = parser.parse_args()
    options.studies = 400 if options.quick else options.studies
    print("coverage in percent (median width against the first kind's)")
    for name, (draw, agent, reference) in PAIRS.items():

        def pairs(rng, shape, draw=draw):
            return np.stack(draw(rng, shape), axis=-1)

        def differences(rng, shape, draw=draw):
            a, r = draw(rng, shape)
            return (r - a)[..., None]

        show(f"paired difference, {name}", MEANS, differences, first, reference - agent, options)
        truth = 100 * (reference - agent) / reference
        show(f"gain, {name}", GAINS, pairs, gain, truth, options)
    for name, (draw, (low, high), truth) in RANGED.items():

        def values(rng, shape, draw=draw):
            return draw(rng, shape)[..., None]

        show(name, ranged_kinds(low, high), values, first, truth, options)


if __name__ == "__main__":
    main()
