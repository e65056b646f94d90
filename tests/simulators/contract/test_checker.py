"""Each broken environment departs from the contract in one way, and the checker says which."""

import random
import re

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint

from simulators import (
    Environment,
    OneOf,
    Outcomes,
    PolicySpace,
    Real,
    SimulationError,
    Whole,
    check_environment,
)

SPACE = PolicySpace(
    ["pills", "beds"], ["1/day", "1"], bounds=Bounds(0, 1), constraint=LinearConstraint([1, 1], -np.inf, 1.2)
)


class Clinic(Environment):
    """Keeps the contract: two groups, a linear composition with weights that depend on the policy."""

    groups = ("in", "out")
    group_units = ("days", "days")
    objective_unit = "dollars"
    sense = "minimize"
    policy_space = SPACE
    current_policy = np.array([0.1, 0.2])

    def step(self, policy):
        x = self.policy_space.check(policy)
        values = self.expected(x[None])[0] + 0.1 * self.rng.standard_normal(2)
        return Outcomes(values, np.full(2, 0.01), {"occupied": 3})

    def expected(self, policies):
        return np.exp(-np.asarray(policies, dtype=float))

    def compose(self, outcomes, policies):
        policies = np.asarray(policies)
        return (self.weights(policies) * outcomes).sum(axis=-1) + 3 * policies.sum(axis=-1)

    def weights(self, policies):
        return 1.0 + np.asarray(policies, dtype=float)


class Sensors(Environment):
    """Keeps the contract in a finite space, with a general composition."""

    groups = ("heat", "damp")
    group_units = ("K", "percent")
    objective_unit = "K"
    sense = "maximize"
    policy_space = PolicySpace(
        ["lon", "lat"],
        ["deg", "deg"],
        candidates=np.random.default_rng(0).uniform(0, 9, (12, 2)),
        bounds=Bounds(0, 8),
    )
    bounds = np.array([2.0, 3.0])

    def step(self, policy):
        row = self.policy_space.check(policy)
        return Outcomes(self.policy_space.resolve([row])[0] + self.rng.standard_normal(2))

    def compose(self, outcomes, policies):
        return np.prod(outcomes, axis=-1)

    def gradient(self, outcomes, policies):
        return np.asarray(outcomes)[..., ::-1]


class Counter(Clinic):
    """Keeps the contract of an environment with memory."""

    has_memory = True

    def reset(self, seed=None):
        super().reset(seed)
        self.count = 0

    def step(self, policy):
        self.count += 1
        outcomes = super().step(policy)
        return Outcomes(outcomes.values + self.count)

    def get_state(self):
        return np.array([self.count])

    def set_state(self, state):
        self.count = int(state[0])


class Pond(Clinic):
    """Keeps the contract of a world that lives."""

    has_memory = lives = True
    set_aside = (np.zeros((4, 3)), np.zeros((4, 2)))

    def reset(self, seed=None):
        super().reset(seed)
        self.hour, self.level = 0.0, 0.0

    @property
    def context(self):
        return self.hour

    def drift(self, policy):
        return 1.0

    def step(self, policy):
        outcomes = super().step(policy)
        self.hour += 1
        self.level += self.drift(policy)
        return outcomes

    def expected(self, policies):
        return super().expected(policies) + self.level

    def get_state(self):
        return np.array([self.hour, self.level])

    def set_state(self, state):
        self.hour, self.level = state.tolist()


class Buses(Environment):
    """Keeps the contract with levers of all kinds: two cities, whose buses share a garage."""

    groups = ("here", "there")
    group_units = ("rides", "rides")
    objective_unit = "rides"
    sense = "maximize"
    policy_space = PolicySpace(
        ["here", "there", "tariff", "advertised"],
        ["buses", "buses", "", "share"],
        levers=[Whole(0, 9), Whole(2, 8, 2), OneOf(("flat", "by zone")), Real(0, 1)],
        constraint=LinearConstraint([1, 1, 0, 0], -np.inf, 10.5),
    )

    def step(self, policy):
        x = self.policy_space.check(policy)
        return Outcomes(self.expected(x[None])[0] + 0.1 * self.rng.standard_normal(2))

    def expected(self, policies):
        x = np.asarray(policies, dtype=float)
        return np.sqrt(x[:, :2]) * (1 + x[:, 3:]) - x[:, 2:3]


@pytest.mark.parametrize("kind", [Clinic, Sensors, Counter, Pond, Buses])
def test_nothing_is_found_where_the_contract_is_kept(kind):
    assert check_environment(kind()) == []


def broken(**members):
    return type("Broken", (Clinic,), members)()


def living(**members):
    return type("Broken", (Pond,), members)()


def stepping(change):
    """An environment whose step is that of the clinic, changed."""

    def step(self, policy):
        return change(self, policy, Clinic.step(self, policy))

    return broken(step=step)


def raise_error(error):
    raise error


def spoil(policy):
    policy[:] = 0


def remember(env, outcomes):
    env.seen = getattr(env, "seen", 0) + 1
    return Outcomes(outcomes.values + env.seen)


class Unpicklable(Clinic):
    def __init__(self):
        self.hook = lambda: None


CASES = [
    (lambda: broken(groups=()), "groups must be a tuple of names"),
    (lambda: broken(groups="in"), "groups must be a tuple of names"),
    (lambda: broken(groups=("in", "in")), "groups must differ"),
    (lambda: broken(group_units=("days",)), "group_units must hold 2 units"),
    (lambda: broken(objective_unit=None), "objective_unit must be a string"),
    (lambda: broken(sense="min"), "sense must be 'minimize' or 'maximize'"),
    (lambda: broken(policy_space=None), "policy_space must be a simulators.PolicySpace"),
    (lambda: broken(current_policy=np.array([1.0, 1.0])), "current_policy must lie in the policy space"),
    (lambda: object(), "does not derive from simulators.Environment"),
    (lambda: stepping(lambda e, x, o: Outcomes(o.values[:1])), r"step must return 2 values, .* \(1,\)"),
    (lambda: stepping(lambda e, x, o: o.values), "step must return simulators.Outcomes"),
    (lambda: stepping(lambda e, x, o: Outcomes(o.values * np.inf)), "infinite outcome"),
    (lambda: stepping(lambda e, x, o: Outcomes(o.values * np.nan)), "nan for every group"),
    (
        lambda: stepping(lambda e, x, o: Outcomes(o.values, np.ones(3))),
        r"noise_variance must be 2 variances or a 2 x 2 covariance",
    ),
    (lambda: stepping(lambda e, x, o: Outcomes(o.values, -np.ones(2))), "noise_variance must be finite"),
    (lambda: stepping(lambda e, x, o: Outcomes(o.values, None, "log")), "info must be a mapping"),
    (lambda: stepping(lambda e, x, o: (spoil(x), o)[1]), "step changed the policy it was given"),
    (lambda: stepping(lambda e, x, o: raise_error(SimulationError("no power"))), "SimulationError: no power"),
    (
        lambda: stepping(lambda e, x, o: Outcomes(o.values + np.random.rand())),  # noqa: NPY002
        "changed the global random state",
    ),
    (
        lambda: stepping(lambda e, x, o: Outcomes(o.values + random.random())),
        "changed the global random state",
    ),
    (
        lambda: stepping(lambda e, x, o: Outcomes(o.values + np.random.default_rng().random())),
        "same int twice must give the same step",
    ),
    (lambda: stepping(lambda e, x, o: remember(e, o)), "must give the same step"),
    (
        lambda: broken(step=lambda self, policy: Outcomes(np.exp(-np.resize(policy, 2)))),
        "must refuse a policy whose entry 'beds' is above its bound with ValueError; it accepted",
    ),
    (
        lambda: broken(step=lambda self, policy: Outcomes(np.exp(-np.clip(np.resize(policy, 2), 0, 1)))),
        "must refuse a policy within bounds that breaks the linear constraint",
    ),
    (
        lambda: broken(
            step=lambda self, x: (
                Clinic.step(self, x) if SPACE.contains([x])[0] else raise_error(KeyError("x"))
            )
        ),
        "must refuse .* with ValueError; it raised KeyError",
    ),
    (lambda: broken(expected=lambda self, x: np.ones(2)), r"expected must have shape"),
    (lambda: broken(expected=lambda self, x: np.exp(-np.asarray(x)) - np.mean(x)), "alone and among others"),
    (lambda: stepping(lambda e, x, o: Outcomes(o.values + 1)), "expected of group 'in' is"),
    (lambda: broken(compose=lambda self, y, x: np.sum(y)), r"compose of 8 rows must have shape \(8,\)"),
    (
        lambda: broken(
            compose=lambda self, y, x: np.sum(y, axis=-1) - np.min(y), weights=lambda self, x: None
        ),
        "compose of a batch differs from composing each row",
    ),
    (lambda: broken(compose=lambda self, y, x: np.sum(y, axis=-1)), "weights do not agree with compose"),
    (
        lambda: broken(weights=lambda self, x: np.ones(2), compose=Environment.compose),
        "weights must have shape",
    ),
    (lambda: broken(gradient=lambda y, x: y[0]), "gradient must have the shape|check of composition"),
    (lambda: broken(bounds=np.array([1.0])), "bounds must be 2 finite numbers"),
    (lambda: broken(bounds=np.array([1.0, np.inf])), "bounds must be 2 finite numbers"),
    (
        lambda: broken(gradient=lambda self, y, x: self.weights(x) * [1.0, 1.1]),
        "gradient by group 'out' is .* but compose grows by",
    ),
    (
        lambda: broken(set_aside=(np.zeros((4, 3)), np.zeros((4, 2)))),
        r"set_aside must hold features \(m, 2\) and outcomes \(m, 2\)",
    ),
    (
        lambda: broken(set_aside=(np.full((4, 2), np.nan), np.zeros((4, 2)))),
        "set_aside must hold finite features",
    ),
    (lambda: living(has_memory=False), "lives=True needs has_memory=True"),
    (lambda: living(context=None), "context must be the time of the coming step"),
    (lambda: living(context=3.0), "context stayed the same"),
    (lambda: living(set_state=lambda self, state: None), "set_state must go back"),
    (lambda: living(drift=lambda self, x: x[0]), "another step led to another world"),
    (lambda: broken(has_memory=True), "has_memory=True needs get_state and set_state"),
    (Unpicklable, "cannot be pickled, so another process cannot have it"),
    (lambda: stepping(lambda e, x, o: raise_error(SystemExit(3))), r"step failed .* it asked to exit \(3\)"),
    (lambda: broken(compose=lambda self, y, x: raise_error(SystemExit())), "composition .* asked to exit"),
    (lambda: broken(reset=lambda self, seed=None: raise_error(SystemExit(0))), "asked to exit"),
    (
        lambda: stepping(lambda e, x, o: o if x[0] < 0.5 else raise_error(ZeroDivisionError("half"))),
        "step failed at the feasible policy .* ZeroDivisionError: half",
    ),
    (
        lambda: stepping(lambda e, x, o: Outcomes(o.values * np.array([1.0, np.nan]))),
        "never returned a number for out",
    ),
]


@pytest.mark.parametrize(("make", "finding"), CASES, ids=range(len(CASES)))
def test_the_checker_names_what_is_broken(make, finding):
    findings = check_environment(make())
    text = "\n".join(findings)
    assert re.search(finding, text), text


SPACES = Buses.policy_space


class Careless(Buses):
    """The buses, with a step that takes its policy as `given` makes it."""

    def __init__(self, given):
        self.given = given

    def step(self, policy):
        x = np.asarray(self.given(policy), dtype=float)
        return Outcomes(self.expected(x[None])[0] + 0.1 * self.rng.standard_normal(2))


def rounded(policy):
    steps = np.array([1, 2, 1, 1e-9])
    return SPACES.check(np.rint(np.asarray(policy, dtype=float) / steps) * steps)


def without_steps(policy):
    x = np.array(policy, dtype=float)
    if x.shape != (4,) or not ((SPACES.bounds.lb <= x) & (x <= SPACES.bounds.ub)).all() or x[:2].sum() > 10.5:
        raise ValueError("outside")
    return x


def wrapped(policy):
    return SPACES.check([0 if entry == 2 and i == 2 else entry for i, entry in enumerate(policy)])


def any_name(policy):
    return SPACES.check([0 if isinstance(entry, str) else entry for entry in policy])


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        (rounded, ["whole number 'here' is 0.5", "'there' is 3, between its steps of 2", "'tariff' is 0.5"]),
        (without_steps, ["whole number 'here' is 0.5", "between its steps of 2", "category 'tariff' is 0.5"]),
        (wrapped, ["category 'tariff' is 2, beyond the last"]),
        (any_name, ["category 'tariff' has a name that is none of its"]),
    ],
)
def test_a_step_that_rounds_or_guesses_is_told(given, accepted):
    findings = check_environment(Careless(given))
    for what in accepted:
        said = f"step must refuse a policy whose .*{what}.* with ValueError; it accepted"
        assert any(re.search(said, finding) for finding in findings), findings
    assert len(findings) == len(accepted)


class Gone(Sensors):
    def step(self, policy):
        return Outcomes(self.policy_space.candidates[int(policy) % 12] + 0.0)


def test_a_row_that_does_not_exist_must_be_refused_too():
    text = "\n".join(check_environment(Gone()))
    for what in (
        "a candidate row beyond the last",
        "a negative candidate row",
        "a candidate outside the limits",
    ):
        assert f"step must refuse {what}" in text


def test_the_checker_never_raises():
    class Hopeless(Environment):
        def step(self, policy):
            raise RuntimeError("always")

        def __getattr__(self, name):
            raise RuntimeError(name)

    class Lost(Clinic):
        def reset(self, seed=None):
            raise OSError("no disk")

    assert check_environment(Lost())
    assert check_environment(Hopeless())


def test_what_recurs_is_one_finding_with_its_first_policy_and_seed():
    findings = check_environment(stepping(lambda e, x, o: raise_error(SimulationError(f"at {x}"))))
    failures = [one for one in findings if "SimulationError" in one]
    assert len(failures) == 1
    assert re.search(r"feasible policy \(.*\) with seed 0: .* \(the first of \d\d such\)$", failures[0])
    findings = check_environment(stepping(lambda e, x, o: Outcomes(o.values * np.inf)))
    assert sum("infinite" in one for one in findings) == 1


def test_an_environment_that_is_made_anew_need_not_be_pickled():
    assert check_environment(Unpicklable(), Unpicklable) == []


def test_an_environment_that_is_another_one_when_made_anew_is_found():
    class Warmer(Clinic):
        def expected(self, policies):
            return super().expected(policies) + 1

    assert any("made anew" in one and "another step" in one for one in check_environment(Clinic(), Warmer))
