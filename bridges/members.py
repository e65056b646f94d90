"""The steps of an ensemble's members as steps of their own, which others may take side by side.

A round that runs all members asks for each by itself, whoever takes the steps: so its outcomes do not depend
on how many processes there are, and limits of a step hold for each member's.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from bridges.ensemble import EnsembleEnvironment
from bridges.reframed import ReframedEnvironment
from bridges.steps import Part, Steps, Taken
from policyloop.messages import on_one_line
from simulators.contract.environment import Environment, Outcomes, failure_kind


def ensemble_of(environment: Environment) -> EnsembleEnvironment | None:
    """The ensemble that an environment is, whatever is asked of it; None where it is none."""
    while isinstance(environment, ReframedEnvironment):
        environment = environment.inner
    return environment if isinstance(environment, EnsembleEnvironment) else None


def apart(steps: Steps, environment: Environment) -> Steps:
    """The steps with those of an ensemble's members taken apart; the same where there is no ensemble."""
    ensemble = ensemble_of(environment)
    return steps if ensemble is None else MembersApart(steps, ensemble)


class MembersApart:
    """Takes the step of an ensemble as one of each member; a `Steps`.

    Parameters
    ----------
    steps : Steps
        Who takes them.
    ensemble : EnsembleEnvironment
    """

    def __init__(self, steps: Steps, ensemble: EnsembleEnvironment) -> None:
        self._steps, self._ensemble = steps, ensemble

    def take(self, asked: Sequence[tuple[int | None, Any]]) -> Iterator[Taken]:
        """Take the steps, and yield each when its members' have ended."""
        orders: list[tuple[int, tuple[int | None, Any]]] = []
        for i, (seed, policy) in enumerate(asked):
            if isinstance(policy, Part):
                orders.append((i, (seed, policy)))
            else:
                orders += [(i, (seed, Part(policy, groups))) for groups in self._ensemble.groups_of_members]
        waiting = [sum(one == i for one, _ in orders) for i in range(len(asked))]
        ended: list[dict[int, Taken]] = [{} for _ in asked]
        for taken in self._steps.take([order for _, order in orders]):
            i = orders[taken.which][0]
            ended[i][taken.which] = taken
            if len(ended[i]) == waiting[i]:
                parts = [ended[i][key] for key in sorted(ended[i])]
                yield Taken(i, self._together(parts), sum(one.seconds for one in parts))

    def _together(self, parts: Sequence[Taken]) -> Outcomes | Exception:
        """The members' outcomes as one; the failure, where all have failed."""
        if len(parts) == 1:
            return parts[0].outcomes
        good = [one.outcomes for one in parts if isinstance(one.outcomes, Outcomes)]
        if good:
            return self._ensemble.together(good)
        failures = [one.outcomes for one in parts if isinstance(one.outcomes, Exception)]
        return failure_kind(failures[0])("; ".join(on_one_line(one) for one in failures))
