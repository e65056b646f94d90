"""Any Python function as an environment."""

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bridges.environments.answers import read_answer
from bridges.environments.declared import DeclaredEnvironment, function
from bridges.environments.levers import Entry, Policy
from simulators.contract.process_state import kept_process_state, seeded_globals


class FunctionEnvironment(DeclaredEnvironment):
    """An environment whose outcomes a Python function computes.

    The function takes the policy's entries, in their order: an array (d,) where all levers are real numbers,
    else a list of floats, ints and names, so that `nurses, tariff, share = x` unpacks either. It answers with
    one number a group: a dict by group, or a sequence in the order of `groups`; nan or None where a group is
    missing. If it has a parameter `seed` it is given an int, if it has one called `rng` a
    `numpy.random.Generator`; and if it draws from the global random state, that is seeded for it, and put
    back. So the same seed gives the same outcomes in any case.

    Parameters
    ----------
    f : callable or target
        The function.
    policy, groups, **declared
        See `DeclaredEnvironment`.
    expected : callable or target, optional
        The same without noise; `f` itself if it has none. With it, regret is known.

    Examples
    --------
    >>> def waiting(nurses, rng):
    ...     north, south = nurses
    ...     return {"north": 40 / north + 0.1 * rng.normal(), "south": 90 / south}
    >>> clinics = FunctionEnvironment(
    ...     waiting, {"nurses north": (1, 20), "nurses south": (1, 20)}, ["north", "south"], budget=25
    ... )
    >>> clinics.step([10, 15]).values.round(1).tolist()[1]
    6.0
    >>> def fares(x):
    ...     buses, tariff, share = x
    ...     return [buses * (2.5 if tariff == "flat" else 3.0), 100 * share]
    >>> lines = FunctionEnvironment(
    ...     fares,
    ...     {"buses": {"whole": (0, 9)}, "tariff": {"one_of": ["flat", "by zone"]}, "share": (0, 1)},
    ...     ["rides", "passes"],
    ... )
    >>> lines.step([4, "by zone", 0.5]).values.tolist()
    [12.0, 50.0]
    """

    def __init__(
        self,
        f: Callable[..., Any] | str,
        policy: Policy,
        groups: Sequence[str],
        *,
        expected: Callable[..., Any] | str | None = None,
        **declared: Any,
    ) -> None:
        super().__init__(policy, groups, **declared)
        self._f = function(f, "f", "policy")
        self._expected = None if expected is None else function(expected, "expected", "policy")

    def simulate(self, policy: dict[str, Entry], seed: int) -> Any:
        """Call the function."""
        return self._call(self._f, policy, seed)

    def expected(self, policies: ArrayLike) -> NDArray[np.float64]:
        """The outcomes of `expected`, policy by policy; see `Environment.expected`.

        Entries beyond their limits are passed on, but a whole number that is not whole is a ValueError.
        """
        if self._expected is None:
            return super().expected(policies)
        table = [self.levers.entries(policy) for policy in np.asarray(policies)]
        with kept_process_state():
            answers = [read_answer(self._noise_free(entries), self.groups) for entries in table]
        return np.reshape(answers, (len(table), len(self.groups)))

    def _noise_free(self, policy: dict[str, Entry]) -> Any:
        assert self._expected is not None
        with seeded_globals(0):
            return self._call(self._expected, policy, 0)

    def _call(self, f: Callable[..., Any], policy: dict[str, Entry], seed: int) -> Any:
        parameters = _parameters(f)
        random: dict[str, Any] = {"seed": seed} if "seed" in parameters else {}
        if "rng" in parameters:
            random["rng"] = np.random.default_rng(seed)
        return f(self.levers.in_order(policy), **random)


def _parameters(f: Callable[..., Any]) -> Collection[str]:
    try:
        return inspect.signature(f).parameters
    except ValueError:  # some that are written in C do not say
        return ()
