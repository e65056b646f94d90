"""Six problems of whole numbers and categories under budgets: regret after 40 rounds, and the time of an ask.

The best policy of each is known by brute force over all that is not real (what is real is then searched by
SciPy). All agents of a trial share the noise and the first policies. With --peers also Optuna's TPE and GP
(`pip install torch`) and BoTorch's optimiser of mixed spaces (`pip install botorch`), which sees every group,
as D-GPUCB does; neither is a dependency of policyloop.

    python -m benchmarks.bench_levers [--trials 20] [--rounds 40] [--peers] [--only staff,vessel]
    python -m benchmarks.bench_levers --ask
"""

import argparse
import itertools
import warnings
from time import process_time

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, minimize
from scipy.stats import bootstrap, poisson
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

import simulators
from benchmarks.botorch_models import bounds_of, group_models, linear_constraints, seeded
from bridges import Loop, initial_design, make_agent, seed_sequence
from bridges.agents.optuna_agent import OptunaAgent
from bridges.feedback import composition, search_space
from optimizer.agents.baselines import ObservingAgent
from optimizer.agents.names import make_agent as make_our_agent
from optimizer.composition.linear import Composition
from optimizer.prior.prior import Prior
from optimizer.space.search_space import SearchSpace
from simulators import Environment, OneOf, Outcomes, PolicySpace, Real, Whole

NOISE = 0.01
"""Standard deviation of every group's noise, as a share of its own over random policies."""


class Problem(Environment):
    """A function of levers, one outcome a group, with noise."""

    objective_unit = ""

    def __init__(self, levers, f, sense="minimize", limits=None):
        labels = tuple(levers)
        self.policy_space = PolicySpace(
            labels, ("",) * len(labels), levers=list(levers.values()), constraint=limits
        )
        self.f, self.sense = f, sense
        some = f(search_space_of(self.policy_space).sample(500, np.random.default_rng(0)))
        self.groups = tuple(f"group {j}" for j in range(some.shape[1]))
        self.group_units = ("",) * len(self.groups)
        self.deviations = NOISE * some.std(axis=0)

    def expected(self, policies):
        return self.f(self.policy_space.resolve(policies))

    def step(self, policy):
        x = self.policy_space.check(policy)
        return Outcomes(self.f(x[None])[0] + self.rng.normal(0, self.deviations))


class WorstProblem(Problem):
    """The same, where the largest outcome is the objective."""

    def compose(self, outcomes, policies):
        return np.asarray(outcomes).max(axis=-1)

    def weights(self, policies):
        return None


def search_space_of(space):
    return SearchSpace(space.bounds, space.constraint, steps=space.steps)


def staff():
    """Three clinics, 0 to 6 nurses each, ten in all: waiting times."""
    a = np.array([12.0, 30.0, 18.0])
    levers = {name: Whole(0, 6) for name in ("north", "east", "south")}
    return Problem(levers, lambda x: a / (x + 0.7), limits=LinearConstraint(np.ones(3), -np.inf, 10))


def inventory():
    """Base stocks 0 to 20 of four products, 40 places: expected cost of a period under Poisson demand."""
    demand, hold, short = np.array([4.0, 8, 12, 6]), np.array([1.0, 0.5, 2, 1]), np.array([9.0, 4, 12, 20])
    n = np.arange(80)
    chance = poisson.pmf(n, demand[:, None])
    stock = np.arange(21)[:, None]
    table = np.stack(
        [
            (h * np.maximum(stock - n, 0) + s * np.maximum(n - stock, 0)) @ p
            for h, s, p in zip(hold, short, chance, strict=True)
        ]
    )
    levers = {f"stock {j}": Whole(0, 20) for j in range(4)}
    limits = LinearConstraint(np.ones(4), -np.inf, 40)
    return Problem(levers, lambda x: table[np.arange(4), np.rint(x).astype(int)], limits=limits)


def tariffs():
    """One of three tariffs and two shares of the budget: revenue and shifted load."""
    take = np.array([[1.0, 0.3], [0.7, 0.9], [0.2, 1.1]])
    best = np.array([[0.2, 0.6], [0.5, 0.3], [0.7, 0.2]])

    def f(x):
        k = np.rint(x[:, 0]).astype(int)
        return take[k] - 2 * (x[:, 1:] - best[k]) ** 2

    levers = {"tariff": OneOf(("flat", "peak", "dynamic")), "advice": Real(0, 1), "storage": Real(0, 1)}
    return Problem(levers, f, "maximize", LinearConstraint([0.0, 1, 1], -np.inf, 0.8))


def worst():
    """The longest of four waiting times, 0 to 8 servers each, sixteen in all."""
    a = np.array([3.0, 7, 12, 5])
    levers = {f"desk {j}": Whole(0, 8) for j in range(4)}
    limits = LinearConstraint(np.ones(4), -np.inf, 16)
    return WorstProblem(levers, lambda x: a / (x + 1), limits=limits)


def vessel():
    """A pressure vessel by the terms of its cost (Sandgren 1990): plates in sixteenths of an inch.

    Thicknesses keep to the radius as they must; the volume that is missing costs 0.02 a cubic inch.
    """

    def f(x):
        shell, head, r, long = x[:, 0] / 16, x[:, 1] / 16, x[:, 2], x[:, 3]
        missing = np.maximum(1_296_000 - np.pi * r**2 * long - 4 / 3 * np.pi * r**3, 0.0)
        return np.stack(
            [0.6224 * shell * r * long, 1.7781 * head * r**2, 3.1661 * shell**2 * long, 19.84 * shell**2 * r]
            + [0.02 * missing],
            axis=1,
        )

    levers = {"shell": Whole(8, 24), "head": Whole(4, 16), "radius": Real(20, 100), "length": Real(10, 200)}
    rows = np.array([[1 / 16, 0, -0.0193, 0], [0, 1 / 16, -0.00954, 0]])
    return Problem(levers, f, limits=LinearConstraint(rows, 0, np.inf))


def flu():
    """Doses in packs of 1,000 for a town of 40,000, five age groups."""
    persons = simulators.make("flu-ode").population
    town = np.round(40_000 * persons / persons.sum())
    return simulators.make("flu-ode", population=town, initial_infected=5.0, pack=1000)


PROBLEMS = {
    "staff": staff,
    "inventory": inventory,
    "tariffs": tariffs,
    "worst": worst,
    "vessel": vessel,
    "flu": flu,
}


def best_by_brute_force(environment):
    """The least signed loss f(x*) over all choices of what is not real, SciPy for the rest."""
    space, sign = environment.policy_space, environment.sign

    def value(x):
        return sign * environment.compose(environment.expected(x), x)

    real = space.steps == 0
    axes = [
        [lever.low] if free else list(range(lever.low, lever.high + 1, lever.step))
        for lever, free in zip(space.levers, real, strict=True)
    ]
    grid = np.array(list(itertools.product(*axes)), dtype=float)
    if not real.any():
        grid = grid[space.contains(grid)]
        return sign * max(float(value(part).max()) for part in np.array_split(grid, 1 + len(grid) // 5000))
    best = -np.inf
    A, low, high = space.constraint.A, space.constraint.lb, space.constraint.ub
    for whole in grid:
        fixed = A[:, ~real] @ whole[~real]
        limits = LinearConstraint(A[:, real], low - fixed, high - fixed)

        def loss(y, whole=whole):
            x = whole.copy()
            x[real] = y
            return -float(value(x[None])[0])

        box = Bounds(space.bounds.lb[real], space.bounds.ub[real])
        for start in np.random.default_rng(0).random((3, real.sum())):
            begin = box.lb + start * (box.ub - box.lb)
            found = minimize(
                loss, begin, method="SLSQP", bounds=box, constraints=limits, options={"ftol": 1e-9}
            )
            x = whole.copy()
            x[real] = np.clip(found.x, box.lb, box.ub)
            if space.contains(x[None])[0]:
                best = max(best, -found.fun)
    return sign * best


class BoTorchMixed(ObservingAgent):
    """Composite log noisy EI over one GP a group, searched by BoTorch's optimiser of mixed spaces."""

    feedback = "decomposed"

    def __init__(self, environment, seed):
        import torch

        torch.set_default_dtype(torch.float64)
        super().__init__("botorch-mixed", search_space(environment), environment.sign, seed)
        self.environment, self.levers = environment, environment.policy_space.levers
        self.X, self.Y = np.empty((0, self.space.d)), np.empty((0, len(environment.groups)))
        self.noise = np.empty_like(self.Y)

    def tell(self, policies, observations, noise_variance=None, context=None):
        policies, Y = self.as_policies(policies), np.asarray(observations, dtype=float)
        super().tell(policies, self.environment.compose(Y, policies))
        self.X, self.Y = np.vstack([self.X, policies]), np.vstack([self.Y, Y])
        stated = np.nan if noise_variance is None else np.asarray(noise_variance, dtype=float)
        self.noise = np.vstack([self.noise, np.broadcast_to(stated, Y.shape)])

    def model(self):
        kinds = [i for i, lever in enumerate(self.levers) if isinstance(lever, OneOf)]
        noise = None if np.isnan(self.noise).any() else self.noise
        return group_models(self.space, self.X, self.Y, kinds, noise)

    def objective(self):
        import torch
        from botorch.acquisition.objective import GenericMCObjective

        g, sign = composition(self.environment), self.environment.sign
        if self.environment.weights(self.X[:1]) is None:
            return GenericMCObjective(lambda samples, X=None: sign * samples.max(dim=-1).values)
        weights = torch.tensor(sign * g.weights(self.X[:1])[0])
        return GenericMCObjective(lambda samples, X=None: samples @ weights)

    def ask(self, n=1, context=None):
        import torch
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.optim import optimize_acqf_mixed_alternating
        from botorch.sampling import SobolQMCNormalSampler

        seeded(self)
        model, X = self.model()
        sampler = SobolQMCNormalSampler(torch.Size([64]), seed=self.seed)
        chosen = qLogNoisyExpectedImprovement(model, X, sampler=sampler, objective=self.objective())
        values = {
            i: [float(x) for x in range(lever.low, lever.high + 1, lever.step)]
            for i, lever in enumerate(self.levers)
            if not isinstance(lever, Real)
        }
        kinds = {i: v for i, v in values.items() if isinstance(self.levers[i], OneOf)}
        point, _ = optimize_acqf_mixed_alternating(
            chosen,
            bounds_of(self.space),
            discrete_dims={i: v for i, v in values.items() if i not in kinds},
            cat_dims=kinds,
            raw_samples=128,
            num_restarts=4,
            inequality_constraints=linear_constraints(self.space),
            options={"maxiter_alternating": 16},
        )
        x = point.detach().numpy()
        settled, feasible = self.space.settle(x)  # its last digits may pass a limit
        return settled if feasible.all() else self.environment.policy_space.project(x[0])[None]

    def recommend(self, context=None):
        """The tried policy with the best posterior mean."""
        from dataclasses import replace

        import torch

        model, X = self.model()
        with torch.no_grad():
            means = model.posterior(X).mean.numpy()
        best = int(np.argmax(self._sign * self.environment.compose(means, self.X)))
        return replace(super().recommend(), policy=self.X[best])


def study(name, trials, rounds, peers, chosen):
    environment = PROBLEMS[name]()
    best = best_by_brute_force(environment)
    space = environment.policy_space
    design = max(5, 2 * space.d)
    agents = {
        agent: lambda seed, agent=agent: make_agent(agent, environment, seed=seed)
        for agent in ("d-gpucb", "d-ei", "gp-ucb", "ei", "random")
    }
    if peers:
        g = composition(environment)
        for sampler in ("TPESampler", "GPSampler"):
            agents[f"optuna {sampler[:-7]}"] = lambda seed, sampler=sampler: OptunaAgent(
                search_space(environment), g, sampler=sampler, seed=seed
            )
        agents["botorch mixed"] = lambda seed: BoTorchMixed(environment, seed)
    agents = {label: make for label, make in agents.items() if not chosen or label in chosen.split(",")}
    print(f"\n{name}: f(x*) = {best:.6g}; {rounds} rounds, {design} of them a shared design")
    print(f"{'':14}{'trials':>7}{'regret recommended':>34}{'none':>7}{'infeasible':>12}{'ms an ask':>11}")
    for label, make in agents.items():
        regrets, seconds, infeasible = [], [], 0
        for trial in range(min(trials, 5) if label in ("optuna GP", "botorch mixed") else trials):
            agent = Timed(make(trial))
            first = initial_design(environment, design, seed_sequence(0, trial, "design"))
            loop = Loop(environment, agent.agent, seed_sequence(0, trial, "noise"), design=first)
            for one in loop.run(rounds):
                infeasible += not space.contains(np.asarray(one.policy)[None])[0]
            x = np.asarray(agent.agent.recommend().policy)[None]
            infeasible += not space.contains(x)[0]
            regrets.append(
                float(environment.sign * (best - environment.compose(environment.expected(x), x)[0]))
            )
            seconds += agent.seconds
        regrets = np.maximum(regrets, 0.0)
        low, high = interval(regrets)
        cells = f"{regrets.mean():12.4g} [{low:.3g}, {high:.3g}]"
        print(
            f"{label:14}{len(regrets):7}{cells:>34}{np.mean(regrets < 1e-6 * abs(best)):7.0%}{infeasible:12}"
            f"{1e3 * np.median(seconds):11.1f}",
            flush=True,
        )


class Timed:
    """Takes the processor time of an agent's asks."""

    def __init__(self, agent):
        self.agent, self.seconds = agent, []
        ask = agent.ask

        def timed(*arguments, **options):
            began = process_time()
            asked = ask(*arguments, **options)
            self.seconds.append(process_time() - began)
            return asked

        agent.ask = timed


def interval(values):
    if np.ptp(values) == 0:
        return values[0], values[0]
    found = bootstrap((values,), np.mean, method="BCa", rng=np.random.default_rng(0))
    return found.confidence_interval


def ask_times(repetitions=6):
    """An ask of D-GPUCB at d = 5, J = 5, T = 100, in spaces of the same size."""
    high = np.array([20.0, 20, 20, 20, 3])
    budget = LinearConstraint([1.0, 1, 1, 1, 0], -np.inf, 40)
    kinds = {
        "five real": {},
        "five whole": {"steps": [1, 1, 1, 1, 1]},
        "two whole, one of four, two real": {"steps": [1, 1, 0, 0, 1], "categories": [0, 0, 0, 0, 1]},
        "one of four, four real": {"steps": [0, 0, 0, 0, 1], "categories": [0, 0, 0, 0, 1]},
    }
    spaces = {name: SearchSpace(Bounds(np.zeros(5), high), budget, **kind) for name, kind in kinds.items()}
    seconds = {name: [] for name in spaces}
    for repetition in range(repetitions):
        for name, space in spaces.items():
            rng = np.random.default_rng(repetition)
            X = space.sample(100, rng)
            features = space.features(X)
            scale = np.where(np.ptp(features, axis=0) > 1, 6.0, 1.0)
            prior = Prior([ConstantKernel(1.0) * RBF(scale)] * 5, np.full(5, 0.1), [0.0] * 5)
            agent = make_our_agent("d-gpucb", space, Composition(5), prior=prior, seed=repetition)
            agent.tell(X, rng.normal(size=(100, 5)))
            for _ in range(5):
                began = process_time()
                policy = agent.ask()
                seconds[name].append(process_time() - began)
                agent.tell(policy, rng.normal(size=(1, 5)))
    real = np.median(seconds["five real"])
    for name, each in seconds.items():
        print(f"{name:34}{1e3 * np.median(each):7.1f} ms{np.median(each) / real:7.2f} of five real entries")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--peers", action="store_true", help="Optuna's TPE and GP, BoTorch's mixed optimiser")
    parser.add_argument("--only", default=",".join(PROBLEMS), help="some of the problems")
    parser.add_argument("--agents", default="", help="some of the agents, as the table names them")
    parser.add_argument("--ask", action="store_true", help="the time of an ask alone")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    with threadpool_limits(1):
        if options.ask:
            ask_times()
            return
        for name in options.only.split(","):
            study(name, options.trials, options.rounds, options.peers, options.agents)


if __name__ == "__main__":
    main()
