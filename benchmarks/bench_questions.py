"""One study, three other questions: are its answers as good as those of new studies?

    python benchmarks/bench_questions.py [FOLDER] [TRIALS] [ROUNDS]

Flu vaccination (`flu-ode`), kernels learned from each trial's own rounds. One study of d-gpucb and gp-ucb
is asked three questions that it was not run for: a sick day of 70+ counts ten times, the worst group, half
the doses. Beside its answers (`what_if`, trial by trial) stand (a) d-gpucb's recommendation in a new study
of as many rounds on each question, and (b) the best policy that gp-ucb tried in the first study, scored
anew by what was observed of the groups. Printed: the mean regret, noise-free and under the question; the
ratio of paired means, with a 95 % interval by Fieller's theorem (t over trials); simulations in all.
Studies in FOLDER are gone on with.
"""

import sys
import time
from pathlib import Path

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

import bridges
import scenarios
import simulators
from bridges import ReframedEnvironment, Reweighing
from optimizer.composition.ready import ready

BASE = """
name = "flu-{name}"
rounds = {rounds}
trials = {trials}
seed = 11
agents = [{agents}]
{asked}
[environment]
name = "flu-ode"
options = {{ intervention = "vaccination"{options} }}
[prior]
samples = 0
"""


def study(folder, name, trials, rounds, agents, asked="", options=""):
    """Run, or go on with, a study."""
    text = BASE.format(
        name=name, rounds=rounds, trials=trials, agents=", ".join(f'"{one}"' for one in agents),
        asked=asked, options=options,
    )  # fmt: skip
    file = folder / f"{name}.toml"
    file.write_text(text)
    out = folder / f"{name}.sqlite"
    return scenarios.run(scenarios.load(file), out=out, resume=out.exists(), jobs=1)


def ratio(a, b):
    """The ratio of two paired means, with Fieller's 95 % interval."""
    n, t = len(a), stats.t.ppf(0.975, len(a) - 1)
    (va, c), (_, vb) = np.cov(a, b) / n
    ma, mb = a.mean(), b.mean()
    A, B, C = mb**2 - t**2 * vb, ma * mb - t**2 * c, ma**2 - t**2 * va
    root = np.sqrt(B**2 - A * C) if A > 0 and B**2 > A * C else np.nan
    return ma / mb, (B - root) / A, (B + root) / A


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "questions")
    trials, rounds = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 20), (3, 60)))
    folder.mkdir(parents=True, exist_ok=True)
    first = study(folder, "first", trials, rounds, ["d-gpucb", "gp-ucb"])
    env = simulators.make("flu-ode", intervention="vaccination")
    budget = float(env.policy_space.constraint.ub[0])
    half = simulators.make("flu-ode", intervention="vaccination", budget=budget / 2)
    ten = Reweighing(np.array([1.0, 1.0, 1.0, 1.0, 10.0]), np.full(5, np.nan))
    asked = {
        "70+ counts ten times": (
            ReframedEnvironment(env, objective=ten), {"weights": ["70+*10"]},
            {"asked": 'weights = { "70+" = 10.0 }'},
        ),
        "worst group": (
            ReframedEnvironment(env, objective=ready("worst-group", "minimize")),
            {"objective": "worst-group"}, {"asked": 'objective = "worst-group"'},
        ),
        "half the doses": (half, {"budget": budget / 2}, {"options": f", budget = {budget / 2!r}"}),
    }  # fmt: skip
    print(f"{trials} trials of {rounds} rounds; regret in sick days per person")
    for name, (world, question, changes) in asked.items():
        optimum = bridges.find_optimum(world)

        def regret(policy, world=world, optimum=optimum):
            at = np.asarray([policy])
            return max(world.sign * (optimum.value - world.compose(world.expected(at), at)[0]), 0.0)

        new = study(folder, name.replace("+", "").replace(" ", "-"), trials, rounds, ["d-gpucb"], **changes)
        advice = {one.trial: one.policy for one in new.recommendations()}
        answers, anew, tried, seconds = [], [], [], []
        for trial in range(1, trials + 1):
            began = time.process_time()
            (answer,) = scenarios.what_if(first, agent="d-gpucb", trial=trial, **question)
            seconds.append(time.process_time() - began)
            answers.append(regret(list(answer.best.policy.values())))
            anew.append(regret(advice[trial]))
            own = [r for r in first.history(trial, "gp-ucb") if world.policy_space.contains([r.policy])[0]]
            scores = [
                world.sign * world.compose(np.array([r.outcomes]), np.array([r.policy]))[0] for r in own
            ]
            tried.append(regret(own[int(np.argmax(scores))].policy) if own else np.nan)
        answers, anew, tried = map(np.array, (answers, anew, tried))
        print(
            f"{name}: optimum {optimum.value:.4f}; answer {answers.mean():.5f}, new study {anew.mean():.5f}, "
            f"gp-ucb's best tried {np.nanmean(tried):.5f} (in {np.isfinite(tried).sum()} trials)"
        )
        print("  answer / new study: {:.2f} [{:.2f}, {:.2f}]".format(*ratio(answers, anew)))
        both = np.isfinite(tried)
        print(
            "  answer / gp-ucb's best tried: {:.3f} [{:.3f}, {:.3f}]".format(
                *ratio(answers[both], tried[both])
            )
        )
        difference = stats.t.interval(0.95, trials - 1, (answers - anew).mean(), stats.sem(answers - anew))
        print(
            f"  answer - new study: {(answers - anew).mean():.5f} [{difference[0]:.5f}, {difference[1]:.5f}]"
        )
        print(f"  an answer takes {np.median(seconds):.2f} s of processor time", flush=True)
    print(f"simulations: {trials * rounds} for all answers, {3 * trials * rounds} for the new studies")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
