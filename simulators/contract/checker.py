"""Tells the author of an environment, in words, where it departs from the contract."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np
from scipy.stats import t as student_t

from policyloop.messages import on_one_line
from simulators.arrays import Array
from simulators.contract.environment import Environment, SimulationError
from simulators.contract.findings import said
from simulators.contract.policy_space import PolicySpace
from simulators.contract.probes import feasible, infeasible, text
from simulators.contract.process_state import kept_process_state
from simulators.contract.repetition import STEP, Repetition
from simulators.contract.validation import expected_ranges, noise_of_groups, outcome_ranges

PROBES = 8
"""Feasible policies that are tried, spread over the space."""

STEPS = 12
"""Repeated steps that are averaged to compare with `expected`."""

SLOW = 10.0
"""Seconds above which a step is called slow."""

CHANCE = 1e-7
"""How seldom the comparison with `expected` may blame a correct environment, for each group."""


def check_environment(env: Any, remake: Callable[[], Any] | None = None) -> list[str]:
    """What an environment gets wrong, one plain sentence a finding.

    Takes a few dozen steps at feasible policies. Never raises for the environment's fault, not even where
    it asks to exit. Leaves the environment reset.

    Parameters
    ----------
    env : Environment
        The environment to examine.
    remake : callable, optional
        Makes the environment anew, as each worker of a study does; it must behave the same. By default it has
        to travel to another process as it is, pickled.

    Returns
    -------
    list of str
        Empty when nothing was found. What recurs is one finding, with its first case.
    """
    with kept_process_state():
        return _examined(env, remake)


def _examined(env: Any, remake: Callable[[], Any] | None) -> list[str]:
    checker = _Checker(env, remake)
    usable = False
    with checker.blaming("its attributes could not be read"):
        usable = checker.declarations()
    if not usable:
        return checker.sentences
    for part in (
        checker.steps,
        checker.seeds,
        checker.order_and_seeds,
        checker.references,
        checker.refusals,
        checker.noise_free,
        checker.composition,
        checker.set_aside,
        checker.state,
        checker.time,
        checker.copies,
    ):
        with checker.blaming(f"the check of {part.__name__.replace('_', '-')} could not finish"):
            part()
    with checker.blaming("reset()"):
        env.reset()
    return checker.sentences


class _Checker(Repetition):
    """Collects findings about one environment; one method for each article of the contract."""

    def __init__(self, env: Any, remake: Callable[[], Any] | None = None) -> None:
        super().__init__(env)
        self.remake = remake

    def declarations(self) -> bool:
        """Check the attributes; return whether the rest can be checked at all."""
        env, J = self.env, 0
        if not isinstance(env, Environment):
            self.find(f"{type(env).__name__} does not derive from simulators.Environment")
        groups = getattr(env, "groups", None)
        if not isinstance(groups, tuple | list) or not groups or not all(isinstance(g, str) for g in groups):
            self.find(f"groups must be a tuple of names, at least one; it is {groups!r}")
        else:
            J = len(groups)
            if len(set(groups)) < J:
                self.find(f"groups must differ from each other; they are {groups!r}")
            units = getattr(env, "group_units", None)
            if not isinstance(units, tuple | list) or len(units) != J:
                self.find(f"group_units must hold {J} units, one a group; it is {units!r}")
        if not isinstance(getattr(env, "objective_unit", None), str):
            self.find("objective_unit must be a string, the unit of the composed value")
        if getattr(env, "sense", None) not in ("minimize", "maximize"):
            self.find(f"sense must be 'minimize' or 'maximize'; it is {getattr(env, 'sense', None)!r}")
        with self.blaming("outcome_range must be None, a pair (low, high), or one a group"):
            outcome_ranges(getattr(env, "outcome_range", None), [str(one) for one in groups or ()])
        with self.blaming("expected_range must be None, a pair (low, high), or one a group"):
            expected = getattr(env, "expected_range", None)
            outcome_ranges(expected, [str(one) for one in groups or ()], "expected_range")
        space = getattr(env, "policy_space", None)
        if not isinstance(space, PolicySpace):
            self.find(f"policy_space must be a simulators.PolicySpace; it is {type(space).__name__}")
            return False
        current = getattr(env, "current_policy", None)
        if current is not None:
            with self.blaming("current_policy must lie in the policy space"):
                space.check(current)
        with self.blaming("no feasible policy could be found in policy_space"):
            self.policies = feasible(env.policy_space, PROBES)
        return J > 0 and bool(self.policies)

    def steps(self) -> None:
        """Take one step a policy: the answer's form, and what else the step touched."""
        J = len(self.env.groups)
        silent = np.ones(J, dtype=bool)
        global_numpy, global_python = np.random.get_state(), random.getstate()  # noqa: NPY002
        groups, took = tuple(self.env.groups), []
        for policy in self.policies:
            tried, began = np.array(policy), perf_counter()
            outcomes = self.step(policy, seed=0, given=tried)
            took.append(perf_counter() - began)
            self.first.append(outcomes)
            if tuple(self.env.groups) != groups:
                self.find(f"groups changed from {groups}; their names and order must stay as they are")
            if not np.array_equal(tried, policy):
                self.find("step changed the policy it was given; take a copy first")
            if outcomes is None:
                continue
            values = np.asarray(outcomes.values)
            silent &= np.isnan(values)
            if np.isinf(values).any():
                self.find(f"step returned an infinite outcome at {text(policy)}", "infinite")
            if np.isnan(values).all():
                self.find(
                    f"step returned nan for every group at {text(policy)}; raise SimulationError instead",
                    "nan",
                )
            variance = outcomes.noise_variance
            if variance is not None:
                try:
                    noise = noise_of_groups("noise_variance", variance, J, np.isnan(values))
                except (TypeError, ValueError) as error:
                    self.find(on_one_line(error), "noise_variance")
                else:
                    own = noise if noise.ndim == 1 else np.diag(noise)
                    if (np.isnan(own) & ~np.isnan(values)).any():
                        self.find(f"noise_variance must be finite; it is {np.asarray(variance).tolist()}")
            observed = outcome_ranges(self.env.outcome_range, self.env.groups)
            self._within_range(values, observed, "outcome_range", f"step at {text(policy)}")
            if not isinstance(outcomes.info, Mapping):
                self.find(f"Outcomes.info must be a mapping; it is {type(outcomes.info).__name__}")
        if silent.any() and not silent.all():
            names = ", ".join(str(self.env.groups[j]) for j in np.flatnonzero(silent))
            self.find(f"step never returned a number for {names}; nothing can be learned of such a group")
        if (seconds := float(np.median(took))) > SLOW:
            self.find(
                f"a step takes {seconds:.3g} s, so that 100 rounds take {100 * seconds / 60:.0f} minutes"
            )
        same = all(np.array_equal(a, b) for a, b in zip(global_numpy, np.random.get_state(), strict=True))  # noqa: NPY002
        if not same or random.getstate() != global_python:
            self.find("step or reset changed the global random state; draw from self.rng only")

    def _within_range(self, values: Array, ranges: Array | None, name: str, what: str) -> None:
        """Check the outcomes (J,) of a policy against a range of the environment."""
        for group, value, (low, high) in zip(
            self.env.groups, values, () if ranges is None else ranges, strict=False
        ):
            if value < low or value > high:
                self.find(
                    f"{what} returned {value:.6g} for group {group!r}, outside its {name} "
                    f"({low:g}, {high:g})",
                    f"{name} {group}",
                )

    def _keeps_inputs(self, what: str, call: Callable[..., Any], *arrays: Any) -> Any:
        """The answer of a function of arrays, and a finding if it changes one of them."""
        given = [np.array(array) for array in arrays]
        answer = call(*given)
        if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(given, arrays, strict=True)):
            self.find(f"{what} changes the arrays it is given; take copies first")
        return answer

    def refusals(self) -> None:
        """Check that a policy outside the space is refused with ValueError."""
        for outside, why in infeasible(self.env.policy_space):
            try:
                self.env.reset(0)
                self.env.step(outside)
            except ValueError:
                continue
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if not self.knows(STEP, error):  # else it tells nothing of this policy
                    self.find(f"step must refuse {why} with ValueError; {said(error)}")
            else:
                self.find(f"step must refuse {why} with ValueError; it accepted {text(outside)}")

    def noise_free(self) -> None:
        """Check the form of `expected`, and that repeated steps scatter around it."""
        J, batch = len(self.env.groups), np.array(self.policies)
        try:
            expected = np.asarray(self._keeps_inputs("expected", self.env.expected, batch))
        except NotImplementedError:
            return
        if expected.shape != (len(batch), J):
            self.find(f"expected must have shape (n, J) = ({len(batch)}, {J}); it has {expected.shape}")
            return
        if not np.isfinite(expected).all():
            self.find("expected returned a value that is not finite at a feasible policy")
        if not np.array_equal(expected[1:2], self.env.expected(batch[1:2]), equal_nan=True):
            self.find("expected of a policy differs, if only in the last bits, alone and among others")
        for policy, values in zip(batch, expected, strict=True):
            self._within_range(
                values, expected_ranges(self.env), "expected_range", f"expected of {text(policy)}"
            )
        if self.env.has_memory:
            return
        repeats = [self.step(self.policies[0], seed=100 + k) for k in range(STEPS)]
        answers = [outcomes for outcomes in repeats if outcomes is not None]
        if len(answers) < STEPS:
            return
        values = np.array([outcomes.values for outcomes in answers])
        error = np.abs(values.mean(axis=0) - expected[0])
        spread = values.std(axis=0, ddof=1) / np.sqrt(STEPS)
        limit = student_t.isf(CHANCE / 2, STEPS - 1) * spread + 1e-9 * np.abs(expected[0]) + 1e-12
        for j in np.flatnonzero(error > limit):
            self.find(
                f"expected of group {self.env.groups[j]!r} is {expected[0, j]:.6g}, but {STEPS} steps at the "
                f"same policy average {values[:, j].mean():.6g} (standard error {spread[j]:.2g})"
            )

    def composition(self) -> None:
        """Check `compose` in batches, and `weights`, `gradient` and `bounds` beside it."""
        env, J = self.env, len(self.env.groups)
        seen = [self.values(policy, 5) for policy in self.policies]
        rows = [k for k, values in enumerate(seen) if values is not None and np.isfinite(values).all()]
        if not rows:
            return
        outcomes, policies = np.array([seen[k] for k in rows]), np.array([self.policies[k] for k in rows])
        composed = np.asarray(self._keeps_inputs("compose", env.compose, outcomes, policies))
        if composed.shape != (len(rows),):
            self.find(f"compose of {len(rows)} rows must have shape ({len(rows)},); it has {composed.shape}")
            return
        if not np.isfinite(composed).all():
            self.find("compose of finite outcomes must be finite")
        alone = [np.asarray(env.compose(o, x)) for o, x in zip(outcomes, policies, strict=True)]
        if any(value.shape != () for value in alone):
            self.find("compose of one row, shapes (J,) and (d,), must be a single number")
        elif not np.allclose(alone, composed, rtol=1e-12, atol=0):
            self.find("compose of a batch differs from composing each row by itself")
        stacked = np.asarray(env.compose(np.stack([outcomes] * 2), np.stack([policies] * 2)))
        if stacked.shape != (2, len(rows)):
            self.find(f"compose must keep leading axes: (2, n, J) gives (2, n), here {stacked.shape}")
        weights = self._keeps_inputs("weights", env.weights, policies)
        if weights is not None:
            weights = np.asarray(weights)
            if weights.shape != (len(rows), J):
                self.find(f"weights must have shape (n, J) = ({len(rows)}, {J}); they have {weights.shape}")
            else:
                # Affine in the outcomes with these weights: a part that depends on the policy alone cancels.
                step = np.random.default_rng(0).uniform(0.5, 1.5, outcomes.shape) * (1 + np.abs(outcomes))
                change = np.asarray(env.compose(outcomes + step, policies)) - composed
                scale = 1 + np.abs(composed) + np.abs(weights * step).sum(axis=1)
                if (np.abs(change - (weights * step).sum(axis=1)) > 1e-9 * scale).any():
                    self.find("weights do not agree with compose: g(y + h) - g(y) is not sum_j g_j h_j")
        gradient = getattr(env, "gradient", None)
        if callable(gradient):
            slopes = np.asarray(gradient(outcomes, policies))
            if slopes.shape != outcomes.shape:
                self.find(f"gradient must have the shape of the outcomes, {outcomes.shape}")
            else:
                self.slopes(outcomes, policies, slopes)
        bounds = getattr(env, "bounds", None)
        if bounds is not None:
            bounds = np.asarray(bounds() if callable(bounds) else bounds, dtype=float)
            if bounds.shape != (J,) or not (np.isfinite(bounds) & (bounds >= 0)).all():
                self.find(
                    f"bounds must be {J} finite numbers >= 0, the B_j of Definition 2; got {bounds.tolist()}"
                )

    def slopes(self, outcomes: Any, policies: Any, slopes: Any) -> None:
        """Compare `gradient` with differences of `compose`, where g has no kink or jump between them."""
        for j, group in enumerate(self.env.groups):
            h = np.zeros(len(self.env.groups))
            h[j] = 1e-4 * (1 + np.abs(outcomes[:, j]).max())
            below, here, above = (self.env.compose(outcomes + k * h, policies) for k in (-1, 0, 1))
            left, right = (here - below) / h[j], (above - here) / h[j]
            room = 2 * np.abs(right - left) + 1e-6 * (1 + np.abs(slopes[:, j]))
            smooth = np.abs(right - left) <= 0.1 * (np.abs(left) + np.abs(right)) + 1e-6
            for i in np.flatnonzero(smooth & (np.abs(slopes[:, j] - (left + right) / 2) > room))[:1]:
                self.find(
                    f"gradient by group {group!r} is {slopes[i, j]:.6g} at {text(policies[i])}, but compose "
                    f"grows by {(left[i] + right[i]) / 2:.6g} per unit there"
                )

    def set_aside(self) -> None:
        """Check the form of the measurements outside the candidates."""
        measured = self.env.set_aside
        if measured is None:
            return
        features, outcomes = (np.asarray(part, dtype=float) for part in measured)
        embedded = self.env.policy_space.embed(np.array(self.policies)).shape[1]
        p, J = embedded + bool(self.env.lives), len(self.env.groups)
        m = len(features)
        if features.shape != (m, p) or outcomes.shape != (m, J):
            self.find(
                f"set_aside must hold features (m, {p}) and outcomes (m, {J}); their shapes are "
                f"{features.shape} and {outcomes.shape}"
            )
        elif not np.isfinite(features).all() or np.isinf(outcomes).any():
            self.find("set_aside must hold finite features and outcomes; a missing outcome is nan")

    def state(self) -> None:
        """Check that an environment with memory can save it."""
        if not self.env.has_memory:
            return
        self.step(self.policies[0], seed=3)
        with self.blaming("has_memory=True needs get_state and set_state"):
            self.env.set_state(self.env.get_state())

    def time(self) -> None:
        """Check that a living world has the time, and changes by itself and by nothing else."""
        env, batch = self.env, np.array(self.policies)
        if not env.lives:
            return
        if not env.has_memory:
            self.find("lives=True needs has_memory=True: a step depends on how much time has passed")
        self.step(self.policies[0], seed=6)
        now, state = env.context, env.get_state()
        if not isinstance(now, float | int) or not np.isfinite(now):
            self.find(f"context must be the time of the coming step in hours; it is {now!r}")
            return
        expected = np.array(env.expected(batch))
        with suppress(SimulationError):  # a failure of its own; time passes all the same
            env.step(env.policy_space.same_form(self.policies[1]))
        if env.context == now:
            self.find("a step must let time pass: context stayed the same")
        env.set_state(state)
        if env.context != now or not np.array_equal(env.expected(batch), expected, equal_nan=True):
            self.find("set_state must go back to the time and the world that get_state described")
        self.step(self.policies[-1], seed=6)
        if not np.array_equal(env.expected(batch), expected, equal_nan=True):
            self.find("a living world must not depend on the policies: another step led to another world")

    def copies(self) -> None:
        """Check that another process gets an environment that behaves the same."""
        if self.remake is not None:
            what, again = "made anew, as each worker of a study does, the environment", self.remake()
        else:
            what = "a pickled copy"
            try:
                again = pickle.loads(pickle.dumps(self.env))
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self.find(
                    "the environment cannot be pickled, so another process cannot have it: "
                    f"{on_one_line(error)}"
                )
                return
        here, there = self.values(self.policies[0], 4), _Checker(again).values(self.policies[0], 4)
        if here is not None and not np.array_equal(here, np.asarray(there), equal_nan=True):
            self.find(f"{what} gives another step for the same seed")
