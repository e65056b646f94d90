"""FluODE.expected of many policies against one scipy.integrate.odeint call a policy, on one thread.

    python benchmarks/bench_flu_ode.py [--policies 1000] [--odeint-calls 100]

Prints the two times a policy and their ratio for vaccination and treatment, the largest relative difference
to adaptive integration at a relative tolerance of 1e-12, and the time of one step.
"""

import argparse
import time

import numpy as np
from scipy.integrate import odeint, solve_ivp
from threadpoolctl import threadpool_limits

from simulators import FluODE


def dynamics(env, x):
    """The right-hand side for one policy, as a user of odeint would write it, and the first day's state."""
    N, I0, J = env.population, env.initial_infected, len(env.groups)
    if env.intervention == "vaccination":
        S0, removal, deaths = N * (1 - x * env.efficacy) - I0, np.full(J, 1 / env.infectious_period), 0.0
    else:
        S0, removal, deaths = N - I0, x, 8e-8

    def slope(t, y):
        S, I, R = y[:J], y[J : 2 * J], y[2 * J : 3 * J]  # noqa: E741
        infection = env.beta.dot(I / (S + I + R)) * S
        return np.concatenate((-infection, infection - (removal + deaths) * I, removal * I, I))

    return slope, np.concatenate((S0, I0, N - S0 - I0, np.zeros(J)))


def best_of(repeats, function):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--policies", type=int, default=1000)
    parser.add_argument("--odeint-calls", type=int, default=100)
    arguments = parser.parse_args()
    for intervention in ("vaccination", "treatment"):
        env = FluODE(intervention=intervention)
        bounds = env.policy_space.bounds
        rng = np.random.default_rng(0)
        raw = rng.uniform(bounds.lb, bounds.ub, (arguments.policies, len(env.groups)))
        policies = np.array([env.policy_space.project(x) for x in raw])
        ours = best_of(3, lambda env=env, policies=policies: env.expected(policies)) / len(policies)

        outputs = np.linspace(0, env.days, 3650)
        start = time.perf_counter()
        for x in policies[: arguments.odeint_calls]:
            slope, first = dynamics(env, x)
            odeint(slope, first, outputs, tfirst=True)
        theirs = (time.perf_counter() - start) / min(arguments.odeint_calls, len(policies))

        extremes = np.vstack(
            [policies[:3], env.policy_space.project(bounds.lb), env.policy_space.project(bounds.ub)]
        )
        exact = []
        for x in extremes:
            slope, first = dynamics(env, x)
            answer = solve_ivp(slope, (0, env.days), first, method="DOP853", rtol=1e-12, atol=1e-6)
            exact.append(answer.y[-len(env.groups) :, -1] / env.population.sum())
        error = np.abs(env.expected(extremes) / np.array(exact) - 1).max()
        step = best_of(5, lambda env=env, x=policies[0]: env.step(x))
        print(
            f"{intervention:12s} expected {1e3 * ours:.4f} ms a policy, odeint {1e3 * theirs:.3f} ms: "
            f"{theirs / ours:.0f} times faster; relative error {error:.1e}; one step {1e3 * step:.1f} ms"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
