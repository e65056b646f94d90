"""BoTorch's composite Bayesian optimization beside D-GPUCB on flu-ode: the best peer that sees every group.

Needs `pip install botorch`, which is no dependency of policyloop. One exact GP a group (ModelListGP, refitted
each round), the known composition as a Monte Carlo objective, the budget as an inequality constraint.
D-GPUCB learns its kernels from its own rounds, as BoTorch does; all agents of a trial share design and noise.

    python -m benchmarks.bench_botorch [--trials 5] [--rounds 30]
"""

import argparse
import warnings
from time import perf_counter

import numpy as np
import torch
from botorch.acquisition import qUpperConfidenceBound
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.acquisition.objective import GenericMCObjective
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler

import simulators
from benchmarks.botorch_models import bounds_of, group_models, linear_constraints, seeded
from bridges import Loop, find_optimum, initial_design, make_agent, seed_sequence
from bridges.feedback import composition, search_space
from optimizer.agents.baselines import ObservingAgent


class BoTorchAgent(ObservingAgent):
    """Composite UCB ("ucb") or noisy EI ("ei") over independent GPs of the groups, linear composition."""

    feedback = "decomposed"

    def __init__(self, environment, acquisition, seed):
        g = composition(environment)
        super().__init__(f"botorch-{acquisition}", search_space(environment), g.sign, seed)
        self.composition, self.acquisition = g, acquisition
        self.X, self.Y = np.empty((0, self.space.d)), np.empty((0, g.groups))

    def tell(self, policies, observations, noise_variance=None, context=None):
        policies = self.as_policies(policies)
        Y = np.asarray(observations, dtype=float)
        super().tell(policies, self.composition.unsigned(Y, policies))
        self.X, self.Y = np.vstack([self.X, policies]), np.vstack([self.Y, Y])

    def ask(self, n=1, context=None):
        seeded(self)
        model, X = group_models(self.space, self.X, self.Y)
        weights = torch.tensor(self.composition.sign * self.composition.weights(self.X[:1])[0])
        objective = GenericMCObjective(lambda samples, X=None: samples @ weights)
        sampler = SobolQMCNormalSampler(torch.Size([128]), seed=self.seed)
        if self.acquisition == "ucb":
            chosen = qUpperConfidenceBound(model, beta=2.0, sampler=sampler, objective=objective)
        else:
            chosen = qLogNoisyExpectedImprovement(model, X, sampler=sampler, objective=objective)
        point, _ = optimize_acqf(
            chosen,
            bounds_of(self.space),
            q=n,
            num_restarts=4,
            raw_samples=64,
            inequality_constraints=linear_constraints(self.space),
            sequential=n > 1,
        )
        x = point.detach().numpy()
        v = self.space.polytope.drop(x)  # rounding may exceed the budget by the last digits
        return self.space.polytope.lift(self.space.polytope.project(v))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    environment = simulators.make("flu-ode")
    optimum = find_optimum(environment)
    design = max(5, 2 * environment.policy_space.d)
    agents = {
        "d-gpucb": lambda seed: make_agent("d-gpucb", environment, seed=seed),
        "d-ei": lambda seed: make_agent("d-ei", environment, seed=seed),
        "botorch-ucb": lambda seed: BoTorchAgent(environment, "ucb", seed),
        "botorch-ei": lambda seed: BoTorchAgent(environment, "ei", seed),
    }
    print(f"flu-ode, {options.trials} trials of {options.rounds} rounds, {design} of them a shared design")
    print("agent         cumulative regret (mean +- sd)   last regret   seconds a round")
    for name, make in agents.items():
        cumulative, last, seconds = [], [], []
        for trial in range(options.trials):
            loop = Loop(
                environment,
                make(trial),
                seed_sequence(0, trial, "noise"),
                design=initial_design(environment, design, seed_sequence(0, trial, "design")),
                optimum=optimum,
            )
            began = perf_counter()
            regrets = [one.regret for one in loop.run(options.rounds)]
            seconds.append((perf_counter() - began) / (options.rounds - design))
            cumulative.append(sum(regrets))
            last.append(regrets[-1])
        spread = np.std(cumulative, ddof=1) if options.trials > 1 else np.nan
        print(f"{name:12}  {np.mean(cumulative):10.3f} +- {spread:.3f}", end="")
        print(f"{np.mean(last):24.4f} {np.mean(seconds):17.2f}", flush=True)


if __name__ == "__main__":
    main()
