"""How much of a frontier is found after so many rounds, and at what cost: ours, BoTorch's and Optuna's.

    python -m benchmarks.bench_frontier [FOLDER] [--rounds 30] [--trials 5] [--problems flu,dtlz2,vehicle]

Problems with groups, so that every peer that can see them does:

- flu: vaccination by age (`flu-ode`), the total and the worst group of five;
- dtlz2: DTLZ2 of Deb et al. 2005, two objectives of five entries, each a group, with noise of 1 % of a range;
- vehicle: crash safety of Liao et al. 2008 (mass, acceleration, toe board intrusion, five thicknesses), whose
  polynomials are written as groups: three objectives.

Ours are d-gpucb, d-ei, d-ts and the aggregate gp-ucb and ei, kernels learned from own rounds. BoTorch's
qLogNEHVI has a GP of each group and the objectives composed of its samples, or of each objective ("of
objectives"); it gets the reference point that is measured with. Optuna's NSGA-II is told the objectives. All
share the first max(5, 2 d) policies and the noise of a trial. Printed: the hypervolume, noise-free, with its
ratio to qLogNEHVI's (means over trials, Fieller's 95 % interval), and the agent's seconds a round. Trials in
FOLDER that are there are not run again. Whatever is not installed is left out.
"""

import argparse
import json
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

import bridges
import simulators
from benchmarks.botorch_models import bounds_of, group_models, linear_constraints, seeded
from benchmarks.formulas import Formula
from bridges import Loop, initial_design, seed_sequence
from bridges.feedback import composition, search_space
from bridges.reframed import ReframedEnvironment
from optimizer.agents.baselines import ObservingAgent
from optimizer.composition.ready import OneGroup, WorstGroup
from optimizer.composition.scalarised import signed
from scenarios.results.hypervolume import hypervolume

OURS = ("d-gpucb", "d-ei", "d-ts", "gp-ucb", "ei", "random")
PEERS = ("botorch", "botorch of objectives", "nsga-ii")


def dtlz2(X):
    """Two objectives; the frontier is the quarter of the unit circle where all other entries are 0.5."""
    g = ((X[:, 1:] - 0.5) ** 2).sum(axis=1)
    angle = X[:, 0] * np.pi / 2
    return np.stack([(1 + g) * np.cos(angle), (1 + g) * np.sin(angle)], axis=1)


def vehicle(X):
    """Mass (kg), acceleration and intrusion (m) of five plates of 1 to 3 mm (Liao et al. 2008)."""
    a, b, c, d, e = (1 + 2 * X).T
    mass = 1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d + 4.4559504 * e
    acceleration = (
        6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d - 0.3695 * a * d + 0.0861 * a * e
        + 0.3628 * b * d - 0.1106 * a**2 - 0.3437 * c**2 + 0.1764 * d**2
    )  # fmt: skip
    intrusion = (
        -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c - 0.0118 * b * d
        - 0.0204 * c * d - 0.008 * c * e - 0.0241 * b**2 + 0.0109 * d**2
    )  # fmt: skip
    return np.stack([mass, acceleration, intrusion], axis=1)


def problem(name):
    """An environment with its objectives, by name."""
    if name == "flu":
        inner = simulators.make("flu-ode", intervention="vaccination")
        compositions = [None, WorstGroup("minimize")]
    elif name == "dtlz2":
        inner = Formula(name, dtlz2, np.zeros(5), np.ones(5), ("f1", "f2"), spread=np.ptp)
        compositions = [OneGroup("minimize", j) for j in range(2)]
    else:
        groups = ("mass", "acceleration", "intrusion")
        inner = Formula(name, vehicle, np.zeros(5), np.ones(5), groups, spread=np.ptp)
        compositions = [OneGroup("minimize", j) for j in range(3)]
    each = [ReframedEnvironment(inner, objective=one) for one in compositions]
    return ReframedEnvironment(inner, objective=compositions[0], objectives=each)


def objectives(environment):
    """The compositions of an environment's objectives."""
    return [composition(one) for one in environment.objectives]


def reference(environment):
    """The worst of each signed objective at 2,000 random policies."""
    policies = search_space(environment).sample(2000, np.random.default_rng(0))
    return signed(objectives(environment), environment.expected(policies), policies).min(axis=0)


class Peer(ObservingAgent):
    """A peer that is told every group, and makes the objectives of them itself."""

    feedback = "decomposed"

    def __init__(self, environment, seed):
        super().__init__("peer", search_space(environment), environment.sign, seed)
        self.objectives_, self.corner = objectives(environment), reference(environment)
        self.policy_space = environment.policy_space
        self.X = np.empty((0, self.space.d))
        self.Y = np.empty((0, len(environment.groups)))

    def tell(self, policies, observations, noise_variance=None, context=None):
        policies, Y = self.as_policies(policies), np.asarray(observations, dtype=float)
        super().tell(policies, Y[:, 0])
        self.X, self.Y = np.vstack([self.X, policies]), np.vstack([self.Y, Y])


class NEHVI(Peer):
    """BoTorch's qLogNEHVI: a GP of each group, or of each objective."""

    def __init__(self, environment, seed, of_groups=True):
        super().__init__(environment, seed)
        self.of_groups = of_groups
        terms = [bridges.feedback.constant_terms(one) for one in environment.objectives]
        self.rows = [None if one is None else one[0] for one in terms]

    def ask(self, n=1, context=None):
        import torch
        from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
        from botorch.acquisition.multi_objective.objective import GenericMCMultiOutputObjective
        from botorch.optim import optimize_acqf
        from botorch.sampling import SobolQMCNormalSampler

        seeded(self)
        told = self.Y if self.of_groups else signed(self.objectives_, self.Y, self.X)
        model, X = group_models(self.space, self.X, told)

        def composed(samples, X=None):
            if not self.of_groups:
                return samples
            parts = []
            for row, one in zip(self.rows, self.objectives_, strict=True):
                if row is not None:
                    value = samples @ torch.tensor(row)
                elif isinstance(one.ready, OneGroup):
                    value = samples[..., one.ready.group]
                else:
                    value = samples.max(dim=-1).values  # the worst group
                parts.append(one.sign * value)
            return torch.stack(parts, dim=-1)

        acquisition = qLogNoisyExpectedHypervolumeImprovement(
            model, ref_point=torch.tensor(self.corner), X_baseline=X, prune_baseline=True,
            sampler=SobolQMCNormalSampler(torch.Size([128]), seed=self.seed),
            objective=GenericMCMultiOutputObjective(composed),
        )  # fmt: skip
        point, _ = optimize_acqf(
            acquisition, bounds_of(self.space), q=n, num_restarts=4, raw_samples=64, sequential=True,
            inequality_constraints=linear_constraints(self.space),
        )  # fmt: skip
        return self.policy_space.project(point.numpy()[0])[None]  # its constraints hold to 1e-6


class NSGA(Peer):
    """Optuna's NSGA-II, told the objectives; what breaks the budget is scaled into it."""

    def ask(self, n=1, context=None):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        if not hasattr(self, "study"):
            sampler = optuna.samplers.NSGAIISampler(seed=self.seed, population_size=10)
            self.study = optuna.create_study(directions=["maximize"] * len(self.objectives_), sampler=sampler)
            self.told = 0
        kinds = {
            f"x{i}": optuna.distributions.FloatDistribution(low, high)
            for i, (low, high) in enumerate(zip(self.space.lower, self.space.upper, strict=True))
        }
        for x, y in zip(self.X[self.told :], self.Y[self.told :], strict=True):
            values = signed(self.objectives_, y[None], x[None])[0].tolist()
            attrs = {"NSGAIISampler:generation": self.told // 10}
            self.study.add_trial(
                optuna.trial.create_trial(
                    params=dict(zip(kinds, x.tolist(), strict=True)),
                    distributions=kinds, values=values, system_attrs=attrs,
                )
            )  # fmt: skip
            self.told += 1
        trial = self.study.ask(kinds)
        x = np.array([trial.params[name] for name in kinds])
        self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        for row, _, high in self.space.constraint_rows():
            if np.isfinite(high) and row @ x > high:
                x = x * high / (row @ x)
        return x[None]


def run(name, label, trial, rounds):
    """One trial of an agent: the hypervolume after every round, and the mean seconds of ask and tell."""
    environment = problem(name)
    seed = bridges.as_int(seed_sequence(0, trial, "agent"))
    if label in OURS:
        agent = bridges.make_agent(label, environment, seed=seed)
    elif label == "nsga-ii":
        agent = NSGA(environment, seed)
    else:
        agent = NEHVI(environment, seed, of_groups=label == "botorch")
    d = environment.policy_space.d
    design = initial_design(environment, max(5, 2 * d), seed_sequence(0, trial, "design"))
    loop = Loop(environment, agent, seed_sequence(0, trial, "noise"), design=design)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = list(loop.run(rounds))
    policies = np.array([one.policy for one in found])
    values = signed(objectives(environment), environment.expected(policies), policies)
    corner = reference(environment)
    late = [one.seconds for one in found if one.round > len(design)]
    return {
        "hypervolume": [hypervolume(values[: t + 1], corner) for t in range(rounds)],
        "seconds": float(np.mean(late)),
    }


def ratio(a, b):
    """The ratio of two paired means, with Fieller's 95 % interval; without one where it has no ends."""
    n = len(a)
    if n < 2 or np.array_equal(a, b):
        return f"{np.mean(a) / np.mean(b):.4f}"
    t = stats.t.ppf(0.975, n - 1)
    (va, c), (_, vb) = np.cov(a, b) / n
    ma, mb = np.mean(a), np.mean(b)
    A, B, C = mb**2 - t**2 * vb, ma * mb - t**2 * c, ma**2 - t**2 * va
    if A <= 0 or B**2 < A * C:
        return f"{ma / mb:.4f}"
    root = np.sqrt(B**2 - A * C)
    return f"{ma / mb:.4f} [{(B - root) / A:.4f}, {(B + root) / A:.4f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("frontier"))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--problems", default="flu,dtlz2,vehicle")
    parser.add_argument("--agents", default=",".join([*OURS, *PEERS]))
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    file = args.folder / f"frontier-{args.rounds}.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    for name in args.problems.split(","):
        for trial in range(1, args.trials + 1):
            for label in args.agents.split(","):
                key = f"{name}/{label}/{trial}"
                if key in known:
                    continue
                began = perf_counter()
                try:
                    known[key] = run(name, label, trial, args.rounds)
                except ModuleNotFoundError as error:
                    print(f"{label} is left out: {error}", flush=True)
                    continue
                partial = file.with_suffix(".partial")
                partial.write_text(json.dumps(known))
                partial.replace(file)
                found = known[key]
                print(
                    f"{key}: {found['hypervolume'][-1]:.5g}, {found['seconds']:.3f} s a round, "
                    f"{perf_counter() - began:.0f} s", flush=True,
                )  # fmt: skip
    for name in args.problems.split(","):
        print(
            f"\n{name}, {args.rounds} rounds\n| agent | trials | hypervolume | of qLogNEHVI's | s a round |"
        )
        print("|---|---|---|---|---|")
        for label in args.agents.split(","):
            own = {t: known.get(f"{name}/{label}/{t}") for t in range(1, args.trials + 1)}
            theirs = {t: known.get(f"{name}/botorch/{t}") for t in own}
            both = [t for t in own if own[t] and theirs[t]]
            there = [one for one in own.values() if one]
            if not there:
                continue
            last = [one["hypervolume"][-1] for one in there]
            share = ""
            if both:
                share = ratio(*(np.array([one[t]["hypervolume"][-1] for t in both]) for one in (own, theirs)))
            seconds = np.mean([one["seconds"] for one in there])
            print(f"| {label} | {len(there)} | {np.mean(last):.5g} | {share} | {seconds:.3f} |")


if __name__ == "__main__":
    main()
