"""How often agents ask for policies that fail, and whether they recommend one.

A step fails where x0 > 0.8; elsewhere the outcomes are -x0 and -0.3 x1, to be minimised, so that the best
policy lies at the edge of what fails. Every agent has 30 rounds, the first of which are its design.

    python benchmarks/bench_failures.py --seeds 20
"""

import argparse

import numpy as np
from threadpoolctl import threadpool_limits

import bridges
from bridges.environments.function_environment import FunctionEnvironment
from optimizer.agents.names import GP_AGENTS

ROUNDS, DESIGN, EDGE = 30, 5, 0.8


def model(policy):
    if policy[0] > EDGE:
        raise RuntimeError("does not converge")
    return [-policy[0], -0.3 * policy[1]]


def environment(grid=0):
    box = {"x0": (0.0, 1.0), "x1": (0.0, 1.0)}
    made = FunctionEnvironment(model, policy=box, groups=["a", "b"])
    if grid:
        from simulators.contract.policy_space import PolicySpace

        side = np.linspace(0, 1, grid)
        points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
        made = FunctionEnvironment(
            model, policy=PolicySpace(["x0", "x1"], ["", ""], candidates=points), groups=["a", "b"]
        )
    return made


def trial(name, seed, grid=0):
    """Failures after the design, and the recommended policy."""
    world = environment(grid)
    agent = bridges.make_agent(name, world, seed=seed)
    design = bridges.initial_design(world, DESIGN, seed)
    rounds = list(bridges.Loop(world, agent, seed, design=design).run(ROUNDS))
    failed = sum(one.status == "failed" for one in rounds[DESIGN:])
    advice = world.policy_space.resolve(np.asarray([agent.recommend().policy]))[0]
    return failed, advice


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--agents", nargs="*", default=list(GP_AGENTS))
    parser.add_argument("--grid", type=int, default=0, help="candidates a side, in place of the box")
    asked = parser.parse_args()
    threadpool_limits(1)
    print(
        f"{'agent':<10}{'failed of ' + str(ROUNDS - DESIGN):>16}{'most':>6}{'advice fails':>14}"
        f"{'objective':>11}"
    )
    for name in asked.agents:
        found = [trial(name, seed, asked.grid) for seed in range(asked.seeds)]
        failed = [count for count, _ in found]
        advice = np.array([policy for _, policy in found])
        lost = advice[:, 0] > EDGE
        value = (-advice[:, 0] - 0.3 * advice[:, 1])[~lost].mean() if not lost.all() else np.nan
        print(f"{name:<10}{np.mean(failed):>16.2f}{max(failed):>6}{lost.sum():>14}{value:>11.4f}", flush=True)


if __name__ == "__main__":
    main()
