"""Problems with limits on outcomes: ours beside BoTorch's and Optuna's constrained optimisers.

    python benchmarks/bench_limits.py [FOLDER] [--rounds 40] [--trials 5] [--problems ..] [--agents ..]

- flu: vaccination by age (`flu-ode`), 70+ at most 0.022 sick days a person, 20-49 at most 0.28;
- flu-abm: the same among 500 persons, 120 days, 70+ at most 0.157 (what a policy is worth: the mean of 20
  seasons of its own, since noise-free outcomes are unknown; the best is then the best that was tried);
- gramacy: Gramacy et al. 2016, two entries, two limits, f = x1 + x2;
- townsend: the modified Townsend function within its curve;
- beam: the welded beam of Coello 2000, cost by terms of weld and bar, limits on shear, bending, deflection
  and buckling;
- inventory: three goods ordered up to a level, costs of stock by good, each good's service at least 0.9.

Groups and limits are observed with noise of 1 % of a spread. Ours are d-gpucb and d-ei with limits, and the
aggregate ei. BoTorch has a GP of each group, log noisy EI of their composition, and the limits as constraints
of the samples. Optuna's TPE and GP samplers are told the objective and by how much limits are broken. All
share the first max(5, 2 d) policies and a trial's noise. Printed after all rounds: the feasible regret, which
is the best noise-free objective among policies tried that keep the limits, minus the best there is (that of
the worst policy where none keeps them), over a spread; the share of rounds that break a limit; mean ranks by
regret; the agent's seconds a round. Trials in FOLDER that are there are not run again; whatever is not
installed is left out.
"""

import argparse
import json
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.optimize import Bounds
from scipy.special import ndtr
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

import bridges
import simulators
from bridges import Loop, find_optimum, initial_design, outcome_limits, seed_sequence
from bridges.feedback import composition, search_space
from bridges.reframed import ReframedEnvironment
from optimizer.agents.baselines import ObservingAgent
from simulators.contract.outcome_limit import Limit

OURS = ("d-gpucb", "d-ei", "auto", "ei", "gp-ucb", "random")
PEERS = ("botorch", "optuna-tpe", "optuna-gp")
PROBLEMS = ("flu", "flu-abm", "gramacy", "townsend", "beam", "inventory")


class Formula(simulators.Environment):
    """Groups by a formula, of which the first `costs` make up the objective, to be minimised."""

    sense, objective_unit = "minimize", ""

    def __init__(self, name, formula, low, high, costs, limits, noise=0.01):
        self.name, self.formula = name, formula
        low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        labels = tuple(f"x{i + 1}" for i in range(len(low)))
        self.policy_space = simulators.PolicySpace(labels, ("",) * len(low), bounds=Bounds(low, high))
        sampled = formula(low + (high - low) * np.random.default_rng(0).random((2000, len(low))))
        self.groups = tuple(f"g{j + 1}" for j in range(sampled.shape[1]))
        self.group_units = ("",) * len(self.groups)
        self.row = (np.arange(len(self.groups)) < costs).astype(float)
        self.noise = noise * sampled.std(axis=0)
        self.limits = [Limit({self.groups[j]: 1.0}, **ends) for j, ends in limits.items()]

    def expected(self, policies):
        return self.formula(np.asarray(policies, dtype=float))

    def weights(self, policies):
        return np.broadcast_to(self.row, (len(policies), len(self.row)))

    def compose(self, outcomes, policies):
        return (np.asarray(outcomes) * self.row).sum(axis=-1)

    def step(self, policy):
        x = self.policy_space.check(policy)
        values = self.expected(x[None])[0] + self.rng.normal(0, 1, len(self.groups)) * self.noise
        return simulators.Outcomes(values, self.noise**2)


def gramacy(X):
    """Terms of the objective, then the two limited values (Gramacy et al. 2016, section 4.1)."""
    x, y = X.T
    c1 = 1.5 - x - 2 * y - 0.5 * np.sin(2 * np.pi * (x**2 - 2 * y))
    c2 = x**2 + y**2 - 1.5
    return np.stack([x, y, c1, c2], axis=1)


def townsend(X):
    """Two terms, and how far outside the curve a point is."""
    x, y = X.T
    t = np.arctan2(x, y)
    radius = 2 * np.cos(t) - 0.5 * np.cos(2 * t) - 0.25 * np.cos(3 * t) - 0.125 * np.cos(4 * t)
    outside = x**2 + y**2 - radius**2 - (2 * np.sin(t)) ** 2
    return np.stack([-(np.cos((x - 0.1) * y) ** 2), -x * np.sin(3 * x + y), outside], axis=1)


def beam(X):
    """Cost of weld and of bar; shear, bending, deflection, size and buckling (Coello 2000)."""
    h, length, t, b = X.T
    P, L, E, G = 6000.0, 14.0, 30e6, 12e6
    torque = P * (L + length / 2)
    arm = np.sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
    polar = 2 * np.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
    direct, twist = P / (np.sqrt(2) * h * length), torque * arm / polar
    shear = np.sqrt(direct**2 + direct * twist * length / arm + twist**2)
    bending, deflection = 6 * P * L / (b * t**2), 4 * P * L**3 / (E * t**3 * b)
    buckling = 4.013 * E * t * b**3 / (6 * L**2) * (1 - t / (2 * L) * np.sqrt(E / (4 * G)))
    return np.stack(
        [1.10471 * h**2 * length, 0.04811 * t * b * (14 + length), np.log(shear / 13600),
         np.log(bending / 30000), np.log(deflection / 0.25), h - b, np.log(6000 / np.maximum(buckling, 1.0))],
        axis=1,
    )  # fmt: skip


def inventory(X):
    """Costs of stock of three goods of normal demand, then their service levels."""
    mean, deviation = np.array([20.0, 50.0, 35.0]), np.array([8.0, 10.0, 15.0])
    z = (X - mean) / deviation
    left = deviation * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))  # stock that is left over
    return np.concatenate([np.array([3.0, 1.0, 2.0]) * left, ndtr(z)], axis=1)


def problem(name):
    """An environment with its limits, by name."""
    if name == "flu":
        inner = simulators.make("flu-ode", intervention="vaccination")
        return ReframedEnvironment(
            inner, limits=[Limit({"70+": 1.0}, at_most=0.022), Limit({"20-49": 1.0}, at_most=0.28)]
        )
    if name == "flu-abm":
        inner = simulators.make("flu-abm", persons=500, days=120)
        return ReframedEnvironment(inner, limits=[Limit({"70+": 1.0}, at_most=0.157)])
    at_most = {"at_most": 0.0}
    if name == "gramacy":
        return Formula(name, gramacy, [0, 0], [1, 1], 2, {2: at_most, 3: at_most})
    if name == "townsend":
        return Formula(name, townsend, [-2.25, -2.5], [2.5, 1.75], 2, {2: at_most})
    if name == "beam":
        limited = dict.fromkeys(range(2, 7), at_most)
        return Formula(name, beam, [0.125, 0.1, 0.1, 0.1], [5, 10, 10, 5], 2, limited)
    return Formula(
        name, inventory, [0, 20, 0], [60, 100, 100], 3, dict.fromkeys((3, 4, 5), {"at_least": 0.9})
    )


class Truth:
    """What policies of a problem are worth: noise-free, or by seasons of their own."""

    def __init__(self, environment):
        self.environment, self.limits = environment, outcome_limits(environment)
        space = search_space(environment)
        self.known = environment.name != "flu-abm"
        policies = space.sample(500 if self.known else 30, np.random.default_rng(0))
        some = self.outcomes(policies)
        values = self.value(some, policies)
        self.spread = values.std()
        found = find_optimum(environment, seed=0) if self.known else None
        kept = self.limits.kept(some)
        self.best = found.value if found else (values[kept].min() if kept.any() else np.nan)
        self.worst = values.max()

    def outcomes(self, policies):
        if self.known:
            return self.environment.expected(policies)
        means = []
        for policy in policies:
            seasons = [bridges.observe(self.environment, policy, 10_000 + seed).values for seed in range(20)]
            means.append(np.mean(seasons, axis=0))
        return np.array(means)

    def value(self, outcomes, policies):
        return np.asarray(self.environment.compose(outcomes, policies))


class Peer(ObservingAgent):
    """A peer that is told every group."""

    feedback = "decomposed"

    def __init__(self, environment, seed):
        super().__init__("peer", search_space(environment), environment.sign, seed)
        self.policy_space, self.g = environment.policy_space, composition(environment)
        self.limits_ = outcome_limits(environment)
        self.X = np.empty((0, self.space.d))
        self.Y = np.empty((0, len(environment.groups)))

    def tell(self, policies, observations, noise_variance=None, context=None):
        policies, Y = self.as_policies(policies), np.asarray(observations, dtype=float)
        super().tell(policies, Y[:, 0])
        known = np.isfinite(Y).all(axis=1)
        self.X, self.Y = np.vstack([self.X, policies[known]]), np.vstack([self.Y, Y[known]])

    def sides(self):
        """Rows, ends and signs of limits, each as sign * (row @ y - end) <= 0."""
        for row, low, high in zip(self.limits_.A, self.limits_.low, self.limits_.high, strict=True):
            yield from ((row, end, sign) for end, sign in ((high, 1.0), (low, -1.0)) if np.isfinite(end))


class ConstrainedEI(Peer):
    """BoTorch's log noisy EI of the composed groups, limits as constraints of the samples."""

    def ask(self, n=1, context=None):
        import torch
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.acquisition.objective import GenericMCObjective
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import ModelListGP, SingleTaskGP
        from botorch.models.transforms import Normalize, Standardize
        from botorch.optim import optimize_acqf
        from botorch.sampling import SobolQMCNormalSampler
        from gpytorch.mlls import SumMarginalLogLikelihood

        torch.set_default_dtype(torch.float64)
        torch.manual_seed(int(np.random.SeedSequence([self.seed, self.rounds]).generate_state(1)[0]))
        X, Y = torch.tensor(self.X), torch.tensor(self.Y)
        bounds = torch.tensor(np.stack([self.space.lower, self.space.upper]))
        models = [
            SingleTaskGP(
                X, Y[:, [j]],
                input_transform=Normalize(self.space.d, bounds=bounds), outcome_transform=Standardize(1),
            )
            for j in range(Y.shape[1])
        ]  # fmt: skip
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        weights = torch.tensor(self.g.sign * self.g.weights(self.X[:1])[0])
        limits = [
            lambda Z, row=row, end=end, sign=sign: sign * (Z @ row - end)
            for row, end, sign in [(torch.tensor(row), end, sign) for row, end, sign in self.sides()]
        ]
        acquisition = qLogNoisyExpectedImprovement(
            model, X, sampler=SobolQMCNormalSampler(torch.Size([128]), seed=self.seed),
            objective=GenericMCObjective(lambda Z, X=None: Z @ weights), constraints=limits,
        )  # fmt: skip
        every = torch.arange(self.space.d)
        budget = [
            (every, -torch.tensor(row), -high)
            for row, _, high in self.space.constraint_rows()
            if np.isfinite(high)
        ]
        point, _ = optimize_acqf(
            acquisition, bounds, q=n, num_restarts=4, raw_samples=64, inequality_constraints=budget or None
        )
        return self.policy_space.project(point.numpy()[0])[None]


class Constrained(Peer):
    """A sampler of Optuna with `constraints_func`; the budget of policies is kept by scaling into it."""

    def __init__(self, environment, seed, sampler):
        super().__init__(environment, seed)
        self.sampler = sampler

    def ask(self, n=1, context=None):
        import optuna

        warnings.simplefilter("ignore")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        options = {
            "seed": self.seed + self.rounds,
            "constraints_func": lambda trial: trial.user_attrs["broken"],
        }
        sampler = getattr(optuna.samplers, self.sampler)(**options)
        study = optuna.create_study(direction="minimize", sampler=sampler)
        kinds = {
            f"x{i}": optuna.distributions.FloatDistribution(low, high)
            for i, (low, high) in enumerate(zip(self.space.lower, self.space.upper, strict=True))
        }
        values = -self.g.compose(self.Y, self.X)
        for x, y, value in zip(self.X, self.Y, values, strict=True):
            broken = [float(sign * (row @ y - end)) for row, end, sign in self.sides()]
            study.add_trial(
                optuna.trial.create_trial(
                    params=dict(zip(kinds, x.tolist(), strict=True)), distributions=kinds, value=float(value),
                    user_attrs={"broken": broken}, system_attrs={"constraints": broken},
                )
            )  # fmt: skip
        trial = study.ask(kinds)
        x = np.array([trial.params[name] for name in kinds])
        return self.policy_space.project(x)[None]


def run(name, label, trial, rounds, truth):
    """One trial of an agent."""
    environment = problem(name)
    seed = bridges.as_int(seed_sequence(0, trial, "agent"))
    if label in OURS:
        agent = bridges.make_agent(label, environment, seed=seed)
    elif label == "botorch":
        agent = ConstrainedEI(environment, seed)
    else:
        agent = Constrained(environment, seed, {"optuna-tpe": "TPESampler", "optuna-gp": "GPSampler"}[label])
    d = environment.policy_space.d
    design = initial_design(environment, max(5, 2 * d), seed_sequence(0, trial, "design"))
    loop = Loop(environment, agent, seed_sequence(0, trial, "noise"), design=design)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = list(loop.run(rounds))
    policies = np.array([one.policy for one in found])
    outcomes = truth.outcomes(policies)
    kept = truth.limits.kept(outcomes)
    values = np.where(kept, truth.value(outcomes, policies), truth.worst)
    return {
        "best": np.minimum.accumulate(values).tolist(),
        "broken": float(1 - kept.mean()),
        "seconds": float(np.mean([one.seconds for one in found if one.round > len(design)])),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("limits"))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--agents", default=",".join([*OURS, *PEERS]))
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    file = args.folder / f"limits-{args.rounds}.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    agents, missing = args.agents.split(","), set()
    truths = {}
    for trial in range(1, args.trials + 1):
        for name in args.problems.split(","):
            if name not in truths:
                truth = truths[name] = Truth(problem(name))
                ends = {"best": float(truth.best), "worst": float(truth.worst), "spread": float(truth.spread)}
                known[name] = ends
            for label in agents:
                key = f"{name}/{label}/{trial}"
                if key in known or label in missing:
                    continue
                began = perf_counter()
                try:
                    known[key] = one = run(name, label, trial, args.rounds, truths[name])
                except ImportError as error:
                    print(f"{label} is left out: {error}", flush=True)
                    missing.add(label)
                    continue
                partial = file.with_suffix(".partial")
                partial.write_text(json.dumps(known))
                partial.replace(file)
                print(
                    f"{key}: {one['best'][-1]:.5g}, {one['broken']:.2f} broken, {one['seconds']:.3f} s a "
                    f"round, {perf_counter() - began:.0f} s",
                    flush=True,
                )
    table(known, args.problems.split(","), agents, args.trials)


def table(known, problems, agents, trials):
    """Print the tables of trials that all agents which ran at all have."""
    ranks = {label: [] for label in agents}
    for name in problems:
        ran = [label for label in agents if f"{name}/{label}/1" in known]
        whole = [t for t in range(1, trials + 1) if all(f"{name}/{label}/{t}" in known for label in ran)]
        if not whole or name not in known:
            continue
        last = {label: [known[f"{name}/{label}/{t}"]["best"][-1] for t in whole] for label in ran}
        best = min(known[name]["best"], *(min(values) for values in last.values()))
        places = np.array([rankdata(np.array([last[label][i] for label in ran])) for i in range(len(whole))])
        print(f"\n{name}: {len(whole)} trials, best {best:.5g}")
        print("| agent | feasible regret, of a spread | rounds that break a limit | rank | s a round |")
        print("|---|---|---|---|---|")
        for place, label in enumerate(ran):
            own = [known[f"{name}/{label}/{t}"] for t in whole]
            regret = (np.array(last[label]) - best) / known[name]["spread"]
            ranks[label] += places[:, place].tolist()
            print(
                f"| {label} | {regret.mean():.4f} (median {np.median(regret):.4f}) "
                f"| {np.mean([one['broken'] for one in own]):.2f} | {places[:, place].mean():.1f} "
                f"| {np.mean([one['seconds'] for one in own]):.3f} |"
            )
    print("\nmean rank over all problems: ", end="")
    print(", ".join(f"{label} {np.mean(found):.2f}" for label, found in ranks.items() if found))


if __name__ == "__main__":
    main()
