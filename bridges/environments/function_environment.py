"""Any Python function as an environment."""

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bridges.environments.answers import read_answer
from bridges.environments.declared import DeclaredEnvironment, Policy, function, seeded_globals


class FunctionEnvironment(DeclaredEnvironment):
    """An environment whose outcomes a Python function computes.

    The function takes the policy's entries, an array (d,), and answers with one number a group: a dict by
    group, or a sequence in the order of `groups`; nan or None where a group is missing. If it has a parameter
    `seed` it is given an int, if it has one called `rng` a `numpy.random.Generator`; and if it draws from the
    global random state, that is seeded for it, and put back. So the same seed gives the same outcomes in any
    case.

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
        self._f = function(f, "f")
        self._expected = None if expected is None else function(expected, "expected")

    def simulate(self, policy: dict[str, float], seed: int) -> Any:
        """Call the function."""
        return self._call(self._f, policy, seed)

    def expected(self, policies: ArrayLike) -> NDArray[np.float64]:
        """The outcomes of `expected`, policy by policy; see `Environment.expected`."""
        if self._expected is None:
            return super().expected(policies)
        table = [self.entries(policy) for policy in np.asarray(policies)]
        answers = [read_answer(self._call(self._expected, entries, 0), self.groups) for entries in table]
        return np.reshape(answers, (len(table), len(self.groups)))

    @staticmethod
    def _call(f: Callable[..., Any], policy: dict[str, float], seed: int) -> Any:
        parameters = _parameters(f)
        random: dict[str, Any] = {"seed": seed} if "seed" in parameters else {}
        if "rng" in parameters:
            random["rng"] = np.random.default_rng(seed)
        with seeded_globals(seed):
            return f(np.array(list(policy.values()), dtype=float), **random)


def _parameters(f: Callable[..., Any]) -> Collection[str]:
    try:
        return inspect.signature(f).parameters
    except ValueError:  # some that are written in C do not say
        return ()
