"""Feedback adapters: an environment's contract as an agent's space, composition and observations."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bridges.composing import composed as composed_value
from bridges.composing import nan_where_it_fails
from bridges.reframed import ReframedEnvironment, Reweighing, several
from optimizer.arrays import Array
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.composition.outcome_limits import OutcomeLimits
from optimizer.composition.ready import ReadyComposition
from optimizer.space.search_space import SearchSpace
from policyloop.messages import failure
from simulators.contract.environment import Environment, Outcomes, SimulationError
from simulators.contract.levers import OneOf
from simulators.contract.policy_space import BoundedPolicySpace, PolicySpace
from simulators.contract.validation import LARGEST, real_numbers

if TYPE_CHECKING:
    from optimizer.agents.agent import Agent


NEEDED = ("policy_space", "groups", "group_units", "objective_unit", "sense")


def search_space(environment: Environment) -> SearchSpace:
    """Search space of an environment's policies: the same levers, constraint, candidates and features.

    Parameters
    ----------
    environment : Environment
        Whose `policy_space` is meant.

    Raises
    ------
    ValueError
        If the environment lacks an attribute of the contract.
    """
    lacking = [name for name in NEEDED if not hasattr(environment, name)]
    if lacking:
        raise ValueError(
            f"{type(environment).__name__} lacks {', '.join(lacking)}: "
            "simulators.check_environment tells what a simulator needs"
        )
    space = environment.policy_space
    # A bounded space without features of its own is its own embedding, which the search differentiates
    # exactly.
    embedded = space.finite or type(space).embed is not PolicySpace.embed
    return SearchSpace(
        bounds=space.bounds,
        constraint=space.constraint,
        candidates=space.candidates,
        embed=space.embed if embedded else None,
        steps=None if space.finite else space.steps,
        categories=[isinstance(lever, OneOf) for lever in space.levers],
    )


def current_policy(environment: Environment) -> Any:
    """Today's practice as a policy travels, an array (d,) or a row; None where there is none.

    An environment may name categories in its `current_policy`.

    Raises
    ------
    ValueError
        If one of the names is none of the category's.
    """
    current, space = environment.current_policy, environment.policy_space
    if current is None or space.finite:
        return current
    if any(isinstance(entry, str) for entry in current):
        return space.check(current)
    return space.same_form(current)


def check_composition(environment: Environment) -> None:
    """Try the environment's `compose` on a few policies, with outcomes of 0 and of 1.

    Raises
    ------
    ValueError
        If it raises at all of them, or returns something else than one number a policy.
    """
    policies = search_space(environment).sample(8, np.random.default_rng(0))
    J, last = len(environment.groups), None
    for outcome, start in [(one, start) for start in range(0, 8, 2) for one in (1.0, 0.0)]:
        given = np.full((2, J), outcome), np.array(policies[start : start + 2])
        for array in given:
            array.flags.writeable = False  # agents have theirs in use
        try:
            with np.errstate(all="ignore"):
                values = environment.compose(*given)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # it may fail at some policies, which costs their rounds
            last = last or error
            continue
        if np.shape(values) != (2,):
            raise ValueError(
                f"compose must return one number a policy: of two policies shape (2,), not {np.shape(values)}"
            )
        real_numbers("the values of compose", values)
        return
    assert last is not None
    raise ValueError(
        f"compose raises {failure(last)}; it must be g(outcomes, policies), for arrays of shape (n, J) and "
        "(n, d)"
    ) from last


def is_general(environment: Environment) -> bool:
    """Whether g is not linear in the outcomes, as far as the environment says: it names no weights."""
    if _is_sum(environment):
        return False
    return _weights(environment, search_space(environment).sample(1, np.random.default_rng(0))) is None


def _weights(environment: Environment, policies: Any) -> Array | None:
    """The g_j(x) of a linear composition, (n, J), nan where `weights` raises; None of a general one."""
    try:
        if environment.weights(policies) is None:
            return None
    except KeyboardInterrupt:
        raise
    except BaseException:  # it has some, if not for all policies
        pass
    n, J = len(policies), len(environment.groups)
    return nan_where_it_fails(environment.weights, (n,), policies, tail=(J,))


def _is_sum(environment: Environment) -> bool:
    """Whether g is the plain sum that every environment inherits."""
    kind = type(environment)
    return kind.compose is Environment.compose and kind.weights is Environment.weights


def composition(environment: Environment) -> BaseComposition:
    """The environment's composition g as the agent's, with its sense.

    A linear one is made of g_j(x) and known terms c(x) = g(0, x); a general one of g itself, with its
    gradient and its bounds B_j where the environment offers them.
    """
    J, constant = len(environment.groups), constant_terms(environment)
    if constant is not None:
        return Composition(J, weights=constant[0], offset=constant[1], sense=environment.sense)
    if is_general(environment):
        return _general(environment)
    snap = _snapped(environment)

    def weights(policies: Any) -> Array:
        found = _weights(environment, snap(policies))
        assert found is not None
        return np.where(np.isnan(found), 0.0, found)  # features must be finite; the offset is nan there

    def offset(policies: Any) -> Array:
        n = len(policies)
        return nan_where_it_fails(environment.compose, (n,), np.zeros((n, J)), snap(policies))

    return Composition(J, weights=weights, offset=offset, sense=environment.sense)


def constant_terms(environment: Environment) -> tuple[Array, float] | None:
    """The weights (J,) and the offset of a linear composition, where both are known to be constants."""
    if _is_sum(environment):
        return np.ones(len(environment.groups)), 0.0
    if isinstance(environment, ReframedEnvironment):
        inner, objective = constant_terms(environment.inner), environment.objective
        if inner is None or objective is None:
            return inner
        return (objective.of(inner[0]), inner[1]) if isinstance(objective, Reweighing) else None
    terms: tuple[Array, float] | None = getattr(environment, "constant_terms", None)
    return terms


def _snapped(environment: Environment) -> Callable[[Any], Any]:
    """Policies as the environment knows them: differences are taken between steps, where there are none."""
    space = environment.policy_space
    return (
        space.snap
        if isinstance(space, BoundedPolicySpace) and space.steps.any()
        else lambda policies: policies
    )


def _general(environment: Environment) -> GeneralComposition:
    ready = getattr(environment, "ready", None)
    if isinstance(ready, ReadyComposition):
        return GeneralComposition.of(ready, len(environment.groups))
    snap, gradient, J = _snapped(environment), getattr(environment, "gradient", None), len(environment.groups)

    def g(outcomes: Array, policies: Any) -> Array:
        return nan_where_it_fails(environment.compose, outcomes.shape[:-1], outcomes, snap(policies))

    def slopes(outcomes: Array, policies: Any) -> Array:
        assert gradient is not None
        return nan_where_it_fails(gradient, outcomes.shape[:-1], outcomes, snap(policies), tail=(J,))

    return GeneralComposition(
        J,
        g,
        gradient=None if gradient is None else slopes,
        bounds=getattr(environment, "bounds", None),
        sense=environment.sense,
    )


def observation(
    agent: "Agent", environment: Environment, outcomes: Outcomes, policy: Any, objective: float
) -> tuple[Array, Array | None]:
    """What the agent is told of one step: every group (1, J) or the composed value (1,), and its noise.

    The composed value, `objective`, is nan in a round with a missing group: an aggregate agent learns nothing
    from it. Its noise variance is s^T Sigma s, with the slopes s_j = dg/df_j and the covariance Sigma of the
    groups' noise: sum_j s_j^2 var_j where that is independent. Where there are limits, such an agent is told
    their values beside it, (1, 1 + K); where there are several objectives, those of the others before them.
    An agent that is told every group is told the variances alone. nan stands for what is missing or unknown.
    """
    values = np.asarray(outcomes.values, dtype=float)[None]
    noise = (
        None if outcomes.noise_variance is None else np.asarray(outcomes.noise_variance, dtype=float)[None]
    )
    if agent.feedback == "decomposed":
        return values, noise if noise is None or noise.ndim == 2 else np.diagonal(noise, axis1=1, axis2=2)
    composed, variance = _composed(environment, values, noise, policy, objective)
    others = several(environment)[1 : getattr(agent, "objectives", 1)]
    beside = getattr(agent, "beside", None)
    if not others and beside is None:
        return composed, variance
    composed, variance = composed[:, None], None if variance is None else variance[:, None]
    for one in others:
        try:
            value = composed_value(one, values[0], policy)
        except SimulationError:  # its code fails at these outcomes
            value = float("nan")
        theirs, spread = _composed(one, values, noise, policy, value)
        composed = np.concatenate([composed, theirs[:, None]], axis=1)
        if variance is not None and spread is not None:
            variance = np.concatenate([variance, spread[:, None]], axis=1)
    return (composed, variance) if beside is None else _with_limits(composed, variance, beside, values, noise)


def _composed(
    environment: Environment, values: Array, noise: Array | None, policy: Any, objective: float
) -> tuple[Array, Array | None]:
    """A composed value (1,), and its noise variance where that of the groups is known."""
    composed = np.array([objective])
    if noise is None:
        return composed, None
    variance = composed_noise(environment, values, noise, np.asarray([policy]))
    return composed, np.where(np.isnan(composed) | ~(variance <= LARGEST**2), np.nan, variance)


def _with_limits(
    composed: Array, variance: Array | None, limits: OutcomeLimits, values: Array, noise: Array | None
) -> tuple[Array, Array | None]:
    """The composed values (1, n) and, beside them, those of limits, (1, n + K); their noise variances."""
    told = np.concatenate([composed, limits.values(values)], axis=1)
    if noise is None or variance is None:
        return told, None
    spread = noise if noise.ndim == 3 else noise[:, :, None] * np.eye(noise.shape[1])
    each = np.einsum("kj,njl,kl->nk", limits.A, spread, limits.A)
    each[:, [k for k, function in enumerate(limits.functions) if function is not None]] = np.nan
    return told, np.concatenate([variance, each], axis=1)


def composed_noise(environment: Environment, values: Array, noise: Array, policies: Any) -> Array:
    """s^T Sigma s of each row, s = dg/df, shape (n,).

    Of outcomes (n, J) and the variances (n, J) or covariances (n, J, J) of their noise.

    Where g has no finite slope, as at a kink, its change over one standard deviation to either side.
    """
    slopes = _weights(environment, policies)
    if slopes is None:
        variances = noise if noise.ndim == 2 else np.diagonal(noise, axis1=1, axis2=2)
        g, deviations = _general(environment), np.sqrt(variances)
        slopes = g.slopes(values, policies, deviations)
        for i, j in np.argwhere(np.isinf(slopes)):
            both = np.stack([values[i], values[i]])
            both[:, j] += deviations[i, j] * np.array([-1.0, 1.0])
            change = np.diff(g.unsigned(both, np.repeat(policies[i : i + 1], 2, axis=0)))[0]
            slopes[i, j] = change / (2.0 * deviations[i, j]) if deviations[i, j] > 0 else 0.0
    s = np.asarray(slopes, dtype=float)
    if noise.ndim == 2:
        total: Array = np.sum(s**2 * noise, axis=1)
        return total
    whole: Array = np.maximum(np.einsum("nj,njk,nk->n", s, noise, s), 0.0)
    return whole
