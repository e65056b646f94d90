"""The loop: pairing, failures, missing groups, replay."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint
from sklearn.gaussian_process.kernels import RBF

from bridges import Loop, composition, find_optimum, initial_design, learn_prior, make_agent, seed_sequence
from optimizer import Prior
from simulators import Environment, Outcomes, PolicySpace, SimulationError


class Bowl(Environment):
    """Two groups whose sum plus a known cost is least where the budget ends."""

    name = "bowl"
    groups = ("left", "right")
    group_units = ("cases", "cases")
    objective_unit = "cases"
    sense = "minimize"
    noise = 0.01

    def __init__(self, cost=0.0, faults=None):
        self.policy_space = PolicySpace(
            ("a", "b"),
            ("share", "share"),
            bounds=Bounds([0, 0], [1, 1]),
            constraint=LinearConstraint([1, 1], -np.inf, 1),
        )
        self.cost = cost
        self.faults = dict(faults or {})
        self.steps = 0

    def expected(self, policies):
        X = np.atleast_2d(policies)
        return np.stack([(X[:, 0] - 0.7) ** 2, (X[:, 1] - 0.5) ** 2], axis=1)

    def step(self, policy):
        self.policy_space.check(policy)
        self.steps += 1
        fault = self.faults.get(self.steps)
        if fault == "raise":
            raise SimulationError("the solver diverged")
        values = self.expected(policy)[0] + self.noise * self.rng.standard_normal(2)
        if fault is not None:
            values = np.where(fault, np.nan if fault is not np.inf else np.inf, values)
        return Outcomes(values, np.full(2, self.noise**2))

    def compose(self, outcomes, policies):
        return np.sum(outcomes, axis=-1) + self.cost * np.sum(policies, axis=-1)

    def weights(self, policies):
        return np.ones((len(policies), 2))


PRIOR = Prior([RBF([0.5, 0.5])] * 2, np.full(2, 1e-4), [0.3, 0.3])


def rounds(environment, name, n=10, **options):
    optimum = find_optimum(environment)
    agent = make_agent(name, environment, prior=PRIOR, seed=1)
    design = initial_design(environment, 1, seed_sequence(0, 0, "design"))
    loop = Loop(environment, agent, seed_sequence(0, 0, "noise"), design=design, optimum=optimum)
    return list(loop.run(n, **options)), agent


def test_optimum_on_the_budget_is_the_closed_form():
    optimum = find_optimum(Bowl())
    np.testing.assert_allclose(optimum.policy, [0.6, 0.4], atol=1e-5)
    assert optimum.value == pytest.approx(0.02, abs=1e-9)


def test_regret_is_noise_free_and_falls():
    done, _ = rounds(Bowl(), "d-gpucb", 20)
    regret = np.array([r.regret for r in done])
    assert (regret >= -1e-9).all() and regret[-5:].mean() < 0.2 * regret[:3].mean()
    for r in done:
        assert r.expected == pytest.approx(Bowl().expected(r.policy)[0].sum(), abs=1e-15)


def test_agents_of_a_trial_share_the_first_policy_and_the_noise():
    first, _ = rounds(Bowl(), "d-gpucb", 3)
    second, _ = rounds(Bowl(), "ei", 3)
    np.testing.assert_array_equal(first[0].policy, second[0].policy)
    noise = [r.outcomes - Bowl().expected(r.policy)[0] for r in (*first, *second)]
    np.testing.assert_allclose(noise[:3], noise[3:], atol=1e-15)
    assert not np.allclose(noise[0], noise[1])


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb", "d-ei", "mpi", "random"])
def test_replayed_history_goes_on_bit_for_bit(name):
    whole, _ = rounds(Bowl(faults={4: "raise"}), name, 9)
    rest, _ = rounds(Bowl(), name, 9, history=whole[:6])
    assert [r.round for r in rest] == [7, 8, 9]
    for a, b in zip(whole[6:], rest, strict=True):
        np.testing.assert_array_equal(a.policy, b.policy)
        np.testing.assert_array_equal(a.outcomes, b.outcomes)


def test_nan_at_two_steps_leaves_twenty_rounds_two_failed_and_never_best():
    done, agent = rounds(Bowl(faults={4: [True, True], 9: [True, True]}), "d-gpucb", 20)
    assert [r.round for r in done if r.status == "failed"] == [4, 9]
    assert len(done) == 20 and all(np.isfinite(r.regret) for r in done)
    assert agent.recommend().best_observed_value == min(r.objective for r in done if r.status == "ok")


def test_missing_group_is_taught_to_the_decomposed_agent_only():
    faults = {t: [False, True] for t in (3, 8, 14, 21, 28)}
    done, decomposed = rounds(Bowl(faults=faults), "d-gpucb", 30)
    assert [len(group) for group in decomposed.belief.model.groups] == [30, 25]
    assert sum(r.status == "partial" for r in done) == 5
    _, aggregate = rounds(Bowl(faults=faults), "gp-ucb", 30)
    assert [len(group) for group in aggregate.belief.model.groups] == [25]


@pytest.mark.parametrize("name", ["d-gpucb", "d-ei", "gp-ucb"])
def test_group_that_is_never_observed_does_not_end_the_run(name):
    environment = Bowl(faults={t: [False, True] for t in range(1, 20)})
    done = list(Loop(environment, make_agent(name, environment), seed=0).run(8))
    assert [r.status for r in done] == ["partial"] * 8


def test_step_that_returns_something_else_is_named_in_one_line():
    class Careless(Bowl):
        def step(self, policy):
            if policy[0] >= 0:
                return [1.0, 2.0]
            raise RuntimeError("never")

    class Talkative(Bowl):
        def step(self, policy):
            raise RuntimeError("licence server\nnot found")

    for environment, message in ((Careless(), "must return Outcomes, not list"), (Talkative(), "server not")):
        failed = next(Loop(environment, make_agent("random", environment), seed=0).run(1))
        assert failed.status == "failed" and message in failed.error and "\n" not in failed.error


def test_environment_that_lacks_an_attribute_is_sent_to_the_checker():
    class Bare(Environment):
        groups = ("a",)

        def step(self, policy):
            return Outcomes(np.ones(1))

    with pytest.raises(ValueError, match="Bare lacks policy_space, .*check_environment"):
        make_agent("ei", Bare())


def test_weights_alone_make_the_objective_that_agent_and_loop_share():
    class Weighted(Bowl):
        compose = Environment.compose

        def weights(self, policies):
            return np.stack([np.ones(len(policies)), 2 + np.asarray(policies)[:, 0]], axis=1)

    environment, x = Weighted(), np.array([[0.2, 0.1], [0.5, 0.4]])
    expected = environment.expected(x)
    composed = expected[:, 0] + (2 + x[:, 0]) * expected[:, 1]
    np.testing.assert_allclose(environment.compose(expected, x), composed)
    np.testing.assert_allclose(composition(environment).unsigned(expected, x), composed)


def test_space_with_one_feasible_policy_has_that_optimum():
    environment = Bowl()
    environment.policy_space = PolicySpace(
        ("a", "b"), ("1", "1"), bounds=Bounds([0, 0], [1, 1]), constraint=LinearConstraint([1, 1], -np.inf, 0)
    )
    np.testing.assert_array_equal(find_optimum(environment).policy, [0, 0])


@pytest.mark.parametrize(
    ("fault", "message"), [("raise", "the solver diverged"), (np.inf, "infinite"), ([True, True], "nan")]
)
def test_failed_round_names_cause_policy_and_seed_and_charges_regret(fault, message):
    done, agent = rounds(Bowl(faults={2: fault}), "d-gpucb", 4)
    failed = done[1]
    assert failed.status == "failed" and message in failed.error and "seed" in failed.error
    assert np.isnan(failed.objective) and np.isfinite(failed.regret)
    assert agent.rounds == 4 and len(agent.observed) == 3


def test_known_cost_reaches_agent_and_optimum():
    environment = Bowl(cost=0.8)
    X = np.random.default_rng(0).random((5, 2))
    np.testing.assert_allclose(composition(environment).offset(X), 0.8 * X.sum(axis=1))
    # d/da [(a - 0.7)^2 + 0.8 a] = 0 at a = 0.3, and likewise b = 0.1, inside the budget
    np.testing.assert_allclose(find_optimum(environment).policy, [0.3, 0.1], atol=1e-4)
    done, _ = rounds(environment, "d-gpucb", 20)
    assert done[-1].regret < 0.02


def test_prior_from_samples_is_frozen_and_reproducible():
    first, again = (learn_prior(Bowl(), samples=40, seed=seed_sequence(3, 0, "samples")) for _ in range(2))
    assert first.to_dict() == again.to_dict()
    np.testing.assert_allclose(first.noise_variances, 1e-4)
    own = learn_prior(Bowl(), samples=40, own=True)
    assert len(own.kernels) == 1 and own.noise_variances[0] == pytest.approx(2e-4)


def test_environment_that_remembers_has_no_regret_and_is_reset_once():
    class Remembering(Bowl):
        has_memory = True

        def reset(self, seed=None):
            super().reset(seed)
            self.resets = getattr(self, "resets", 0) + 1

    environment = Remembering()
    done, _ = rounds(environment, "d-gpucb", 5)
    assert environment.resets == 1 and all(np.isnan(r.regret) for r in done)
    rest, _ = rounds(Remembering(), "d-gpucb", 5, history=done[:3])
    np.testing.assert_array_equal(rest[-1].outcomes, done[-1].outcomes)


def test_rounds_that_run_in_parallel_are_asked_for_together_and_told_in_order():
    environment, calls = Bowl(), []
    agent = make_agent("d-gpucb", environment, seed=1)
    ask, tell = agent.ask, agent.tell
    agent.ask = lambda n=1, **more: calls.append(f"ask {n}") or ask(n, **more)
    agent.tell = lambda policies, *more, **most: calls.append("tell") or tell(policies, *more, **most)
    told = []
    for one in Loop(environment, agent, seed=0, parallel=3).run(6):
        told.append(one)  # as soon as its step has ended; the last of a batch once the agent knows of all
        assert calls.count("tell") == 3 * (len(told) // 3)
    assert calls == ["ask 3", *["tell"] * 3] * 2
    assert [one.round for one in told] == [1, 2, 3, 4, 5, 6]
    assert len({tuple(one.policy) for one in told}) == 6
    with pytest.raises(ValueError, match="parallel = 0; accepted: a whole number, 1 or more"):
        Loop(environment, agent, seed=0, parallel=0)
