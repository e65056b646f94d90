"""Calm wind, co-regionalised groups, elevation and coast: what each brings at stations that were not seen.

    python benchmarks/bench_station_models.py wind     [--data FILE] [--seeds 3]
    python benchmarks/bench_station_models.py joint    [--data FILE] [--seeds 3]
    python benchmarks/bench_station_models.py features [--seeds 3]                 # needs airportsdata

The protocol of the scenario `weather`: of each seed a random third of the stations teaches kernels (Matern,
nu = 1/2, the paper's noise variances) and is conditioned on; the others are predicted. Seeds count from
--first (0). docs/weather-models.md has what came of it.

wind: a Gaussian process of the wind; of its square root; and of a latent wind that is calm below zero, whose
calm readings are moments of the normal's lower tail ("tail") or are matched to what the others say of each
("matched", expectation propagation). Scores are of the predicted distribution of the reading, calm below 0.

joint: an intrinsic model of coregionalisation, K = B x k with one spatial kernel k, beside independent
groups with kernels of their own. Scores are log densities of all readings held out, jointly.

features: elevation (of airports of the same id, from the package airportsdata) and the distance to the coast
as further features, each with a length scale of its own.
"""

import argparse

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from optimizer import GaussianProcess, learn_prior
from simulators import make
from simulators.stations.coast import coast_distance

FAMILY = "matern-1/2"
LEVELS = (np.arange(400) + 0.5) / 400


def row(*cells):
    print("| " + " | ".join(f"{x:.3f}" if isinstance(x, float) else str(x) for x in cells) + " |", flush=True)


def split(data, seed):
    """Points and readings of the third that teaches, and of the others."""
    world = make("weather", data=data, seed=seed)
    X, Y = world.set_aside
    rows = np.arange(world.policy_space.size)
    return world, X, Y, world.policy_space.embed(rows), world.expected(rows)


def learned(X, y, noise):
    prior = learn_prior(FAMILY, X, y[:, None], noise_variances=[noise], restarts=1, seed=0)
    return prior.kernels[0], prior.means[0]


def predicted(kernel, mean, X, y, noise, Z):
    process = GaussianProcess(kernel, 0.0, mean).observe(X, y, noise)
    m, v = process.predict(Z)
    return m, np.sqrt(np.maximum(v, 1e-12))


# Calm wind


def tail_moments(share):
    """Mean and variance of the lower tail, of this share, of a standard normal about its upper limit."""
    end = norm.ppf(share)
    mills = norm.pdf(end) / share
    return -mills - end, 1.0 - end * mills - mills**2


def latent_tail(y, noise):
    """Calm readings as the lower tail of a normal of the whole field."""
    calm, share = y == 0, np.mean(y == 0)
    if not calm.any():
        return y, np.full(len(y), noise)
    # The normal whose upper part has the mean of the winds that blow.
    below, spread = tail_moments(share)
    end = norm.ppf(share)
    sd = y[~calm].mean() / (norm.pdf(end) / (1 - share) - end)
    return np.where(calm, below * sd, y), np.where(calm, spread * sd**2, noise)


def latent_matched(X, y, noise, kernel, mean, sweeps=6):
    """Calm readings by expectation propagation: each is below 0, given what the others say of it."""
    values, noises = latent_tail(y, noise)
    calm = np.flatnonzero(y == 0)
    K = kernel(X)
    for _ in range(sweeps if len(calm) else 0):
        A = np.linalg.inv(K + np.diag(noises))
        spread = 1.0 / np.diag(A)  # of y_i given the others, its own noise included
        away = values - spread * (A @ (values - mean))
        m, v = away[calm], np.maximum(spread[calm] - noises[calm], 1e-6)
        s = np.sqrt(v)
        h = norm.pdf(m / s) / np.maximum(norm.cdf(-m / s), 1e-12)
        new_m, new_v = m - s * h, np.maximum(v * (1 - h * (h - m / s)), 1e-9)
        site = 1.0 / np.maximum(1.0 / new_v - 1.0 / v, 1e-9)
        target = np.clip(site * (new_m / new_v - m / v), -60, 20)
        values[calm] += 0.5 * (target - values[calm])
        noises[calm] = np.exp(0.5 * (np.log(noises[calm]) + np.log(np.clip(site, noise, 1e4))))
    return values, noises


def wind_scores(quantiles, cdf, truth):
    """CRPS, log score over cells of the reading, coverage of 95 %, Brier score of calm."""
    q = np.maximum(quantiles, 0.0)
    spread = np.abs(q - truth[:, None]).mean(axis=1)
    n = q.shape[1]
    ordered = np.sort(q, axis=1)
    within = (ordered * (2 * np.arange(1, n + 1) - n - 1)).sum(axis=1) / n**2
    crps = (spread - within).mean()
    reported = np.unique(np.round(truth, 3))
    if len(reported) > 100:  # not on a scale of whole numbers
        ends = np.stack([truth - 0.25, truth + 0.25])
    else:
        middle = (reported[1:] + reported[:-1]) / 2
        edges = np.concatenate([[-np.inf], middle, [np.inf]])
        at = np.searchsorted(reported, np.round(truth, 3))
        ends = np.stack([edges[at], edges[at + 1]])
    ends = np.where(ends <= 0, -np.inf, ends)
    log_score = np.log(np.maximum(cdf(ends[1]) - cdf(ends[0]), 1e-12)).mean()
    low, high = np.maximum(q[:, 9], 0), q[:, -10]
    inside = ((truth >= low) & (truth <= high)).mean()
    calm_edge = ends[1][truth == 0][0] if (truth == 0).any() else 0.0
    p = cdf(np.full(len(truth), calm_edge))
    return np.array([crps, log_score, 100 * inside, ((p - (truth == 0)) ** 2).mean()])


def wind(options):
    names = ("plain", "square root", "latent, tail", "latent, matched")
    found = {name: [] for name in names}
    z = norm.ppf(LEVELS)
    for seed in range(options.first, options.first + options.seeds):
        world, X, Y, Z, truth = split(options.data, seed)
        y, t, noise = Y[:, 2], truth[:, 2], float(world.noise_variances[2])
        for name in names:
            if name == "square root":
                # The noise of a root, by its slope, of a typical wind.
                noises = np.full(len(y), noise / (4 * y.mean()))
                values = np.sqrt(y)
                kernel, mean = learned(X, values, noises[0])
            elif name == "plain":
                values, noises = y, np.full(len(y), noise)
                kernel, mean = learned(X, values, noise)
            else:
                values, noises = latent_tail(y, noise)
                if name == "latent, tail":
                    kernel, mean = learned(X, values, noise)
                else:  # with the kernel of the tail
                    values, noises = latent_matched(X, y, noise, kernel, mean)
            m, s = predicted(kernel, mean, X, values, noises, Z)
            quantiles = m[:, None] + s[:, None] * z
            if name == "square root":

                def cdf(x, m=m, s=s):
                    return norm.cdf((np.sqrt(np.maximum(x, 0)) - m) / s) * (x > -np.inf)

                quantiles = np.maximum(quantiles, 0) ** 2
            else:

                def cdf(x, m=m, s=s):
                    return norm.cdf((x - m) / s)

            found[name].append(wind_scores(quantiles, cdf, t))
    row("wind as", "CRPS, m/s", "log score", "inside 95 %", "Brier score of calm")
    row(*["---"] * 5)
    for name in names:
        row(name, *map(float, np.mean(found[name], axis=0)))


# Coregionalisation


class Intrinsic:
    """K = B x k with k = (1 - nugget) Matern-1/2 + nugget; B by its closed form, the rest by likelihood."""

    def __init__(self, X, Y, joint=True):
        self.X, self.unit, self.mean, self.joint = X, Y.std(axis=0), Y.mean(axis=0), joint
        self.Y = (Y - self.mean) / self.unit
        start = np.array([*np.log(np.ptp(X, axis=0) / 2), -2.0])
        some = np.random.default_rng(0).permutation(len(X))[:200]
        theta = minimize(self._loss, start, args=(some,), method="L-BFGS-B").x
        self.theta = minimize(
            self._loss, theta, args=(slice(None),), method="L-BFGS-B", options={"maxiter": 8}
        ).x
        L = np.linalg.cholesky(self._k(self.X))
        self.L, self.A = L, np.linalg.solve(L, self.Y)
        self.B = self._B(self.A)
        self.log_likelihood = -self._loss(self.theta, slice(None))

    def _k(self, X, Z=None):
        theta = self.theta if hasattr(self, "theta") else self._now
        nugget = 1 / (1 + np.exp(-theta[-1]))
        K = (1 - nugget) * np.exp(
            -cdist(X / np.exp(theta[:-1]), (X if Z is None else Z) / np.exp(theta[:-1]))
        )
        return K + nugget * np.eye(len(X)) if Z is None else K

    def _B(self, A):
        B = A.T @ A / len(A)
        return B if self.joint else np.diag(np.diag(B))

    def _loss(self, theta, some):
        self._now = theta
        saved = self.__dict__.pop("theta", None)
        Y = self.Y[some]
        L = np.linalg.cholesky(self._k(self.X[some]) + 1e-9 * np.eye(len(Y)))
        if saved is not None:
            self.theta = saved
        n, J = Y.shape
        B = self._B(np.linalg.solve(L, Y))
        det = np.linalg.slogdet(B)[1]
        return J * np.log(np.diag(L)).sum() + 0.5 * n * (det + J * (1 + np.log(2 * np.pi)))

    def held_out(self, Z, T):
        """Log density of readings (m, J) at other places, jointly, a reading; and moments there."""
        V = np.linalg.solve(self.L, self._k(self.X, Z))
        mean = V.T @ self.A
        S = self._k(Z) - V.T @ V
        C = np.linalg.cholesky(S + 1e-9 * np.eye(len(Z)))
        R = np.linalg.solve(C, (T - self.mean) / self.unit - mean)
        b = np.linalg.cholesky(self.B)
        W = np.linalg.solve(b, R.T)
        m, J = R.shape
        log = (
            -0.5 * (W**2).sum()
            - J * np.log(np.diag(C)).sum()
            - m * np.log(np.diag(b)).sum()
            - 0.5 * m * J * np.log(2 * np.pi)
            - m * np.log(self.unit).sum()
        )
        covariance = np.diag(S)[:, None, None] * self.B * np.outer(self.unit, self.unit)
        return log, mean * self.unit + self.mean, covariance, R


def composed_scores(world, mean, covariance, truth):
    """CRPS, share inside and mean width of 95 % of the objective, by 512 draws at each station."""
    rows = np.arange(len(mean))
    z = np.random.default_rng(0).standard_normal((512, 1, 3))
    L = np.linalg.cholesky(covariance + 1e-9 * np.eye(3))
    q = np.sort(
        world.compose(mean + np.einsum("nij,snj->sni", L, np.broadcast_to(z, (512, len(mean), 3))), rows),
        axis=0,
    )
    t = world.compose(truth, rows)
    n = len(q)
    crps = np.abs(q - t).mean(axis=0) - ((2 * np.arange(1, n + 1) - n - 1)[:, None] * q).sum(axis=0) / n**2
    low, high = q[12], q[-13]
    return crps, (t >= low) & (t <= high), high - low, t


def joint(options):
    logs, correlations, scores, known = [], [], [], []
    for seed in range(options.first, options.first + options.seeds):
        world, X, Y, Z, T = split(options.data, seed)
        some = np.random.default_rng(seed).permutation(len(Z))[:500]
        together, apart = Intrinsic(X, Y), Intrinsic(X, Y, joint=False)
        own = [Intrinsic(X, Y[:, [j]]) for j in range(3)]
        log, mean, covariance, _ = together.held_out(Z[some], T[some])
        log_apart = apart.held_out(Z[some], T[some])[0]
        parts = [
            one.held_out(Z[some], T[some, [j]][:, None] if False else T[some][:, [j]])
            for j, one in enumerate(own)
        ]
        residuals = np.column_stack([part[3][:, 0] for part in parts])
        correlations.append(np.corrcoef(residuals.T)[np.triu_indices(3, 1)])
        train = [together.log_likelihood, apart.log_likelihood, sum(one.log_likelihood for one in own)]
        logs.append([*train, log, log_apart, sum(part[0] for part in parts)])
        own_mean = np.column_stack([part[1][:, 0] for part in parts])
        sd = np.sqrt(np.column_stack([part[2][:, 0, 0] for part in parts]))
        R = np.corrcoef(np.column_stack([one.A[:, 0] for one in own]).T)
        diagonal = sd[:, :, None] * np.eye(3) * sd[:, None, :]
        crossed = sd[:, :, None] * R * sd[:, None, :]
        for name, m, C in (
            ("own kernels, independent", own_mean, diagonal),
            ("own kernels, correlated", own_mean, crossed),
            ("intrinsic", mean, covariance),
        ):
            crps, inside, width, t = composed_scores(world, m, C, T[some])
            hot = t >= np.quantile(t, 0.9)
            scores.append(
                (
                    name,
                    crps.mean(),
                    100 * inside.mean(),
                    width.mean(),
                    crps[hot].mean(),
                    100 * inside[hot].mean(),
                    width[hot].mean(),
                )
            )
        # Humidity where the temperature has been read, and no more.
        B, unit = together.B, together.unit
        told = mean[:, 1] + B[0, 1] / B[0, 0] * unit[1] / unit[0] * (T[some][:, 0] - mean[:, 0])
        truth = T[some][:, 1]
        known.append(
            [np.sqrt(np.mean((x - truth) ** 2)) for x in (own_mean[:, 1], mean[:, 1], np.clip(told, 0, 100))]
        )
    row("correlation of residuals", "T-RH", "T-wind", "RH-wind")
    row(*["---"] * 4)
    row("mean of the splits", *map(float, np.mean(correlations, axis=0)))
    print()
    row("log density", "intrinsic", "independent, one kernel", "independent, own kernels")
    row(*["---"] * 4)
    row("learned from", *map(float, np.mean(logs, axis=0)[:3]))
    row("held out (500 stations)", *map(float, np.mean(logs, axis=0)[3:]))
    print()
    row("objective", "CRPS", "inside 95 %", "width", "CRPS, warmest tenth", "inside", "width")
    row(*["---"] * 7)
    for name in dict.fromkeys(one[0] for one in scores):
        row(name, *map(float, np.mean([one[1:] for one in scores if one[0] == name], axis=0)))
    print()
    row("RMSE of humidity, %", "independent", "intrinsic", "intrinsic, temperature read there")
    row(*["---"] * 4)
    row("", *map(float, np.mean(known, axis=0)))


# Elevation and coast


def features(options):
    found = {}
    for seed in range(options.first, options.first + options.seeds):
        world = make("weather", data=options.data, seed=seed)
        stations = world.stations
        coast = coast_distance(stations.lon, stations.lat)
        columns = {"coast": coast / 1000, "log coast": np.log1p(coast / 30)}
        kept = np.ones(len(stations), dtype=bool)
        if options.data is None:
            import airportsdata

            airports = airportsdata.load()
            elevation = [airports[i]["elevation"] if i in airports else np.nan for i in stations.ids.tolist()]
            columns["elevation"] = np.array(elevation) * 0.3048 / 1000
            kept = np.isfinite(columns["elevation"])
        variants = [(), ("coast",), ("log coast",)]
        if options.data is None:
            variants += [("elevation",), ("elevation", "log coast")]
        taught = np.zeros(len(stations), dtype=bool)
        taught[world._aside] = True
        for names in variants:
            Z = np.column_stack([world.points / 1000, *(columns[name] for name in names)])
            scores = []
            for j in range(3):
                y, noise = stations.readings[:, j], float(world.noise_variances[j])
                at, to = taught & kept, ~taught & kept
                kernel, mean = learned(Z[at], y[at], noise)
                m, s = predicted(kernel, mean, Z[at], y[at], np.full(at.sum(), noise), Z[to])
                scores += [
                    np.sqrt(np.mean((m - y[to]) ** 2)),
                    norm.logpdf(y[to], m, np.sqrt(s**2 + noise)).mean(),
                ]
            found.setdefault(" + ".join(("sphere", *names)), []).append(scores)
    heads = [
        f"{what}, {unit}" for unit in ("temperature", "humidity", "wind") for what in ("RMSE", "log score")
    ]
    row("features", *heads)
    row(*["---"] * 7)
    for name, scores in found.items():
        row(name, *map(float, np.mean(scores, axis=0)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("wind", "joint", "features"))
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    with threadpool_limits(1):
        {"wind": wind, "joint": joint, "features": features}[options.what](options)


if __name__ == "__main__":
    main()
