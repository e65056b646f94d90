"""One choice of a policy: where it is looked for, and what an acquisition may ask about the round."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from optimizer.acquisition.caution import LOWEST, Caution
from optimizer.acquisition.chance import LimitChance
from optimizer.acquisition.draws import CandidateDraws
from optimizer.arrays import Array, Policies
from optimizer.composition.linear import Composition
from optimizer.posterior.candidates import CandidatePosterior
from optimizer.posterior.decomposed_gp import DecomposedGP
from optimizer.posterior.listed import ListedPosterior
from optimizer.space.search_space import SearchSpace

Model = DecomposedGP | CandidatePosterior | ListedPosterior

KEPT = 0.5
"""The probability of keeping all limits from which an observed policy counts as one that does."""
LEAST = 1e-300
"""A probability below which only its logarithm tells policies apart."""


@dataclass(frozen=True)
class Search:
    """A search for the next policy.

    Attributes
    ----------
    space : SearchSpace
        Where to look.
    model : DecomposedGP, or CandidatePosterior
        The posterior, as the search sees it.
    history : callable
        Gives the policies observed so far, in order.
    beta : float
        beta_t of the round.
    rng : callable
        Gives the generator of all that the round draws; a search that draws nothing never asks for it.
    prior_deviation_at : callable
        The largest standard deviation of the objective, before any observation, at policies.
    draws : CandidateDraws, optional
        Draws from the groups' posteriors over a finite space, where the acquisition wants them.
    taken : list of policies
        Chosen for the same batch, or waiting to be told: in a space that is not real at all another one is
        chosen while there are others.
    caution : Caution, optional
        What to avoid, where policies have failed.
    limits : LimitChance, optional
        Whether policies keep the limits on outcomes, where there are any.
    level : float, optional
        The probability of that to which a search by a score that is no logarithm is restricted; `KEPT` unless
        given.
    near : sequence of policies
        Where to begin besides: the answer to a question like this one, say.
    open : SearchSpace, optional
        The part of a finite space from which the policy is to be; all of it unless given.
    """

    space: SearchSpace
    model: Any
    history: Callable[[], Policies]
    beta: float
    rng: Callable[[], np.random.Generator]
    prior_deviation_at: Callable[[Policies], float]
    draws: CandidateDraws | None = None
    taken: Sequence[Any] = ()
    caution: Caution | None = None
    limits: LimitChance | None = None
    level: float | None = None
    near: Sequence[Any] = ()
    open: SearchSpace | None = None

    @cached_property
    def observed(self) -> Policies:
        """The policies observed so far that may be tried, in order."""
        observed = self.history()
        return observed[self.space.contains(observed)] if len(observed) else observed

    @cached_property
    def known(self) -> Policies:
        """Where the incumbent is looked for: the policies observed, at first random ones.

        And those that are taken, of which the posterior believes its mean (Ginsbourger et al. 2010): else the
        next of a batch would be promised the same improvement again, at the same policy.
        """
        if not len(self.observed):
            return self.space.sample(64, self.rng())
        if not len(self.taken):
            return self.observed
        taken = np.asarray(self.taken)
        return np.concatenate([self.observed, taken[self.space.contains(taken)]])

    @cached_property
    def incumbent(self) -> float:
        """The best posterior mean at an observed policy, of the signed objective.

        With limits, of those that probably keep them; nan where none does.
        """
        means = posterior_means(self.model, self.known)
        if self.limits is not None:
            means = np.where(self.limits.probability(self.known) >= KEPT, means, np.nan)
        return float(np.fmax.reduce(means))

    @property
    def prior_deviation(self) -> float:
        """The largest standard deviation of the objective at an observed policy, before any observation."""
        return self.prior_deviation_at(self.known)

    def leaders(self) -> Array | None:
        """The few observed policies with the best posterior means, good starts once something is known.

        And those that are `near`. Of a general objective that of the groups' means: at thousands of policies,
        variances cost far more than all else in a search.
        """
        near = np.array(self.near, dtype=float).reshape(-1, self.space.d)
        near = near[self.space.contains(near)] if len(near) else near
        if not len(self.observed):
            return near if len(near) else None
        distinct = np.unique(np.asarray(self.observed, dtype=float), axis=0)
        means = (
            self.model.composition.compose(self.model.predict_group_means(distinct), distinct)
            if isinstance(self.model, DecomposedGP)
            else self.model.predict(distinct).mean
        )
        best: Array = distinct[np.argsort(-means, kind="stable")[:3]]
        return np.concatenate([best, near])

    def maximise(
        self,
        value: Callable[[Policies], Array],
        value_and_gradient: Callable[[Array], tuple[Array, Array]],
        *,
        logarithmic: bool = False,
    ) -> Any:
        """The policy (d,) with the highest value, or the candidate's row; see `SearchSpace.maximise`.

        A `logarithmic` value is weighed by the probability of keeping limits; by any other one the search is
        restricted to policies that keep them with the `level`; where none does, to the one that most nearly
        does.
        """
        confined = None if logarithmic else self._confined
        if confined is not None and confined.level < LEAST:
            return self.most_certain()
        cautions = [one for one in (self.caution, confined) if one]
        if logarithmic and self.limits is not None:
            value, value_and_gradient = weighed(self.limits, value, value_and_gradient)
        if self.space.finite:
            return (self.open or self.space).maximise(self._restricted(value, cautions))[0]
        for caution in cautions:
            value, value_and_gradient = caution.priced(value, value_and_gradient)
        # Last: a price is made of the range of values, in which those of taken policies have no place.
        value = self.among_others(value)
        return self.space.maximise(value, value_and_gradient, self.rng(), extra=self.leaders())[0]

    def restricted(self, value: Callable[[Policies], Array]) -> Callable[[Policies], Array]:
        """The value, below all others at separate policies that are taken or probably fail."""
        return self._restricted(value, [self.caution] if self.caution else [])

    def _restricted(
        self, value: Callable[[Policies], Array], cautions: Sequence[Caution]
    ) -> Callable[[Policies], Array]:
        value = self.among_others(value)
        for caution in cautions:
            value = caution.restricted(value)
        return value

    @property
    def _confined(self) -> Caution | None:
        """What the search avoids because of limits."""
        if self.limits is None:
            return None
        level = KEPT if self.level is None else self.level
        return Caution(self.space, self.limits, self.observed, self.observed[:0], level)

    def most_certain(self) -> Any:
        """The policy that keeps the limits with the highest probability."""
        assert self.limits is not None
        return replace(self, limits=None).maximise(self.limits.log, self.limits.log_with_gradient)

    def among_others(self, value: Callable[[Policies], Array]) -> Callable[[Policies], Array]:
        """The value, below all others where a policy is taken and the space is one of separate policies."""
        if not self.taken or not self.space.discrete:
            return value
        taken = np.asarray(self.taken)

        def lowered(policies: Policies) -> Array:
            values = value(policies)
            held = (np.asarray(policies)[:, None] == taken[None]).reshape(len(values), len(taken), -1)
            return np.where(held.all(axis=2).any(axis=1), LOWEST, values)

        return lowered


def posterior_means(model: Any, policies: Policies) -> Array:
    """Posterior means of the signed objective (n,), without the variances where they follow without."""
    if isinstance(model, DecomposedGP) and isinstance(model.composition, Composition):
        return model.composition.compose(model.predict_group_means(policies), policies)
    means: Array = model.predict(policies).mean
    return means


def weighed(
    limits: LimitChance,
    value: Callable[[Policies], Array],
    value_and_gradient: Callable[[Array], tuple[Array, Array]],
) -> tuple[Callable[[Policies], Array], Callable[[Array], tuple[Array, Array]]]:
    """A logarithmic value and its gradient, plus the logarithm of the probability that limits are kept."""

    def of(policies: Policies) -> Array:
        return value(policies) + limits.log(policies)

    def with_gradient(X: Array) -> tuple[Array, Array]:
        values, gradients = value_and_gradient(X)
        log, change = limits.log_with_gradient(X)
        return values + log, gradients + change

    return of, with_gradient
