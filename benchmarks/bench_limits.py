"""Problems with limits on outcomes: ours beside BoTorch's and Optuna's constrained optimisers.

    python -m benchmarks.bench_limits [FOLDER] [--rounds 40] [--trials 5] [--problems ..] [--agents ..]

- flu: vaccination by age (`flu-ode`), 70+ at most 0.022 sick days a person, 20-49 at most 0.28;
- flu-abm: the same among 500 persons, 120 days, 70+ at most 0.157 (what a policy is worth: the mean of 20
  seasons of its own, since noise-free outcomes are unknown; the best is then the best that was tried);
- gramacy: Gramacy et al. 2016, two entries, two limits, f = x1 + x2;
- townsend: the modified Townsend function within its curve;
- beam: the welded beam of Coello 2000, cost by terms of weld and bar, limits on shear, bending, deflection
  and buckling;
- inventory: three goods ordered up to a level, costs of stock by good, each good's service at least 0.9.

Groups and limits are observed with noise of 1 % of a spread. Ours are d-gpucb, d-ei and auto with limits, and
the aggregate ei and gp-ucb, which model each limit's value beside the objective. BoTorch has a GP of each
group, log noisy EI of their composition, and the limits as constraints of the samples. Optuna's TPE and GP
samplers are told the objective and by how much limits are broken; what they ask for is projected into the
budget of vaccination. All share the first max(5, 2 d) policies and a trial's noise. Printed after all
rounds: the feasible regret, which is the best noise-free objective among policies tried that keep the limits,
minus the best there is (that of the worst policy where none keeps them), over a spread; the share of rounds
that break a limit; ranks by regret in the trials that all agents have; the agent's processor seconds a round
after the design. Each trial is a file in FOLDER, and is not run again; whatever is not installed is left out.
"""

import argparse
import itertools
import json
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from scipy.stats import rankdata, sem, t
from threadpoolctl import threadpool_limits

import bridges
from benchmarks.botorch_models import bounds_of, group_models, linear_constraints, seeded
from benchmarks.limited_problems import PROBLEMS, problem
from bridges import Loop, find_optimum, initial_design, outcome_limits, seed_sequence
from bridges.feedback import composition, search_space
from optimizer.agents.baselines import ObservingAgent

OURS = ("d-gpucb", "d-ei", "auto", "ei", "gp-ucb", "random")
PEERS = ("botorch", "optuna-tpe", "optuna-gp")


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
        from botorch.optim import optimize_acqf
        from botorch.sampling import SobolQMCNormalSampler

        seeded(self)
        model, X = group_models(self.space, self.X, self.Y)
        weights = torch.tensor(self.g.sign * self.g.weights(self.X[:1])[0])
        limits = [
            lambda Z, row=row, end=end, sign=sign: sign * (Z @ row - end)
            for row, end, sign in [(torch.tensor(row), end, sign) for row, end, sign in self.sides()]
        ]
        acquisition = qLogNoisyExpectedImprovement(
            model, X, sampler=SobolQMCNormalSampler(torch.Size([128]), seed=self.seed),
            objective=GenericMCObjective(lambda Z, X=None: Z @ weights), constraints=limits,
        )  # fmt: skip
        point, _ = optimize_acqf(
            acquisition, bounds_of(self.space), q=n, num_restarts=4, raw_samples=64,
            inequality_constraints=linear_constraints(self.space),
        )  # fmt: skip
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


def timed(agent):
    """The processor seconds of an agent's asks and tells, as they come."""
    spent = []

    def measured(call):
        def of(*arguments, **options):
            began = process_time()
            found = call(*arguments, **options)
            spent.append(process_time() - began)
            return found

        return of

    agent.ask, agent.tell = measured(agent.ask), measured(agent.tell)
    return spent


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
    spent = timed(agent)
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
        "seconds": sum(spent) / (rounds - len(design)),
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
    problems, agents = args.problems.split(","), args.agents.split(",")
    missing, truths = set(), {}
    for trial in range(1, args.trials + 1):
        for name, label in itertools.product(problems, agents):
            file = path(args, name, label, trial)
            if file.exists() or label in missing:
                continue
            if name not in truths:
                truths[name] = Truth(problem(name))
            truth, began = truths[name], process_time()
            try:
                found = run(name, label, trial, args.rounds, truth)
            except ImportError as error:
                print(f"{label} is left out: {error}", flush=True)
                missing.add(label)
                continue
            found |= {"least": float(truth.best), "spread": float(truth.spread)}
            partial = file.with_suffix(".partial")
            partial.write_text(json.dumps(found))
            partial.replace(file)
            print(
                f"{file.stem}: {found['best'][-1]:.5g}, {found['broken']:.2f} broken, "
                f"{found['seconds']:.3f} s a round, {process_time() - began:.0f} s in all",
                flush=True,
            )
    table(args, problems, agents)


def path(args, name, label, trial):
    """The file of a trial."""
    return args.folder / f"{name}--{label}--{args.rounds}--{trial}.json"


def table(args, problems, agents):
    """Print a table a problem, and the mean ranks of all."""
    ranks = {label: [] for label in agents}
    times = {label: [] for label in agents}  # of BoTorch's, over the agent's, in the same trial
    for name in problems:
        files = {
            label: {t: path(args, name, label, t) for t in range(1, args.trials + 1)} for label in agents
        }
        known = {
            label: {t: json.loads(file.read_text()) for t, file in own.items() if file.exists()}
            for label, own in files.items()
        }
        known = {label: own for label, own in known.items() if own}
        if not known:
            continue
        every = [one for own in known.values() for one in own.values()]
        best = min(one["best"][-1] for one in every)
        best = min([best, *(one["least"] for one in every)])
        common = sorted(set.intersection(*(set(own) for own in known.values())))
        places = [rankdata([own[t]["best"][-1] for own in known.values()]) for t in common]
        print(f"\n{name}: best {best:.5g}, ranks of {len(common)} trials")
        print(
            "| agent | trials | feasible regret, of a spread | rounds that break a limit | rank | s a round |"
        )
        print("|---|---|---|---|---|---|")
        for place, (label, own) in enumerate(known.items()):
            regret = np.array([(one["best"][-1] - best) / one["spread"] for one in own.values()])
            ranked = [row[place] for row in places]
            ranks[label] += ranked
            peer = known.get("botorch", {})
            times[label] += [peer[t]["seconds"] / own[t]["seconds"] for t in own if t in peer]
            print(
                f"| {label} | {len(own)} | {regret.mean():.4f} (median {np.median(regret):.4f}) "
                f"| {np.mean([one['broken'] for one in own.values()]):.2f} "
                f"| {np.mean(ranked) if ranked else np.nan:.1f} "
                f"| {np.mean([one['seconds'] for one in own.values() if one['seconds']]):.3f} |"
            )
    print("\nmean rank over all problems, with a 95 % interval over trials (of a problem's rank):")
    for label, found in ranks.items():
        if found:
            half = t.ppf(0.975, len(found) - 1) * sem(found) if len(found) > 1 else np.nan
            over = f"; BoTorch takes {np.median(times[label]):.1f} times as long" if times[label] else ""
            print(f"{label} {np.mean(found):.2f} +- {half:.2f} ({len(found)} trials){over}")


if __name__ == "__main__":
    main()
