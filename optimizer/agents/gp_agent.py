"""The agents of the paper: a belief, an acquisition and a search space, joined by ask and tell.

`GPAgent` runs Algorithm 2 (D-GPUCB) with decomposed feedback and the UCB acquisition, and under a general
composition propagated by its bounds B_j Algorithm 3; other propagations differ from it in line 4. The other
named agents differ in one of the three parts: aggregate feedback models the composed value (J = 1); EI, MPI
and Thompson sampling replace the acquisition. The loop over t is `bridges.Loop`'s.
"""

import copy
import functools
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optimizer.acquisition.acquisition import Acquisition
from optimizer.acquisition.caution import ASKED, RECOMMENDED, Caution
from optimizer.acquisition.chance import LimitChance
from optimizer.acquisition.exploration import Exploration
from optimizer.acquisition.names import acquisition_of
from optimizer.acquisition.search import Search
from optimizer.agents.agent import CREDIBLE, Agent, Feedback, Query, Recommendation
from optimizer.agents.aggregate import composed_of
from optimizer.agents.belief import Belief, hallucinate
from optimizer.agents.design import first_policies
from optimizer.agents.history import Told
from optimizer.agents.recommending import objective_interval, recommended
from optimizer.agents.settings import AgentSettings
from optimizer.agents.spending import Purse, most_telling
from optimizer.agents.surprises import Surprise
from optimizer.agents.trade_off import TradeOff
from optimizer.arrays import Array, Policies
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.composition.outcome_limits import OutcomeLimits
from optimizer.posterior.inputs import as_observations
from optimizer.prior.learned import Learned
from optimizer.space.finite_space import FiniteSpace
from optimizer.space.search_space import SearchSpace

KNOWN = 1e-8
"""Share of the prior variance below which a candidate counts as known exactly."""
log = logging.getLogger("policyloop")


class GPAgent(Agent):
    """An agent with Gaussian process models of the groups, or of the composed value.

    Parameters
    ----------
    name : str
        Name in tables and figures.
    space : SearchSpace
        Where policies come from.
    composition : Composition, or GeneralComposition
        The known g of the groups, also for aggregate feedback; a general one with its propagation.
    settings : AgentSettings
        All else.
    feedback : {"decomposed", "aggregate"}
        Whether every group is observed, or the composed value alone.
    acquisition : str
        How the next policy is picked where the settings name no other: a name of `acquisition_names()`.

    Attributes
    ----------
    composition : BaseComposition
        Of what is modelled.
    exploration : Exploration
        beta_t.
    belief : Belief
        What is believed after all that was told.
    trade_off : TradeOff or None
        How several objectives are weighed, where there are several.

    Raises
    ------
    ValueError
        If a prior of groups is to be composed by a general g, or of limits that are not linear; if several
        objectives are to be propagated by bounds, or their values to have a prior.
    """

    def __init__(
        self,
        name: str,
        space: SearchSpace,
        composition: BaseComposition,
        settings: AgentSettings,
        *,
        feedback: Feedback,
        acquisition: str,
    ) -> None:
        super().__init__(name, space, composition.sign, settings.seed)
        self.settings = settings
        self._ranges, self._composed = settings.outcome_range, composition
        self.feedback = feedback
        self.acquisition: type[Acquisition] = acquisition_of(settings.acquisition or acquisition)
        groups: Sequence[Composition] = ()
        inside_beta = 1
        self._limits, self._certainty = settings.limits, settings.limit_probability
        if feedback == "aggregate":
            if settings.prior is not None and (settings.kernel == "composed" or self._limits):
                groups = composed_of(name, composition, settings)
            if settings.objectives:
                self.objectives = len(settings.objectives)
            others = self.objectives - 1 + (0 if self._limits is None else len(self._limits))
            composition = composition.own(others)
            self.beside = settings.limits
            self._limits = self._limits and self._limits.of_values(self.objectives)
        elif isinstance(composition, GeneralComposition) or settings.objectives:
            inside_beta = composition.groups
        self.composition: BaseComposition = composition
        self.trade_off: TradeOff | None = (
            TradeOff.of(settings, composition, feedback) if settings.objectives else None
        )
        self.exploration: Exploration = settings.schedule(space, inside_beta)
        self.belief: Belief = Belief(
            space, composition, settings, groups=groups, drawing=self.acquisition.random
        )
        self.spending = settings.spending(space, feedback == "decomposed")
        self._timed, self._said = settings.context, False
        self._now: float | None = float("nan") if settings.context else None
        self._near: Sequence[Any] = ()

    def asked(
        self,
        composition: BaseComposition,
        *,
        within: SearchSpace | None = None,
        limits: OutcomeLimits | None = None,
        limit_probability: float = 0.95,
        near: Sequence[Any] = (),
    ) -> "GPAgent":
        """An agent that believes the same of the groups, asked another question; it is never told more.

        It shares all that was observed. Its searches begin `near` some policies besides. A general
        composition comes with its propagation. ValueError where the composed value alone is known.
        """
        if self.feedback != "decomposed":
            raise ValueError(f"{self.name} knows nothing of the groups, and cannot be asked otherwise")
        other = copy.copy(self)
        other.settings = replace(
            self.settings, within=within, limits=limits, limit_probability=limit_probability
        )
        other._limits, other._certainty, other._near = limits, limit_probability, near
        other.composition = other._composed = composition
        other.belief = self.belief.composed_by(composition)
        other._sign, other._best = composition.sign, (None, float("nan"))
        return other

    @property
    def observed(self) -> Policies:
        """Policies told with at least one finite observation, in order."""
        return self.belief.history.observed

    def times_observed(self, policy: Any) -> int:
        """How many rounds have observed a policy (d,), or a candidate's row."""
        same = np.asarray(self.observed == np.asarray(policy))
        return int(same.reshape(len(same), -1).all(axis=1).sum()) if len(same) else 0

    def ask(self, n: int = 1, context: Any = None, pending: ArrayLike | None = None) -> Policies | Query:
        """The policies to sample next: lines 3 to 5 of Algorithms 2 and 3.

        Several at once by hallucination (GP-BUCB, Desautels et al. 2014): each is chosen as if the earlier
        ones had returned their posterior mean, and so had those that are `pending`: asked for before, tried
        somewhere now, not told yet.
        """
        self._now = self._time(context)
        waiting = [] if pending is None or not np.size(pending) else list(self.as_policies(pending))
        t = self.rounds + len(waiting)
        # Before there is a prior (the input of Algorithm 2), a Sobol design, the same for all agents.
        if self.belief.model is None:
            spending = self.settings.spending(self.space, parts=False)
            heard = [*self.belief.history.policies, *waiting]
            return first_policies(self.space, self.seed, t, n, heard, spending)
        # Line 3: the posterior of every group, whose mu_{j,t-1} and sigma^2_{j,t-1} the search asks for.
        model = self.belief.at(self._now)
        self._say_if_known(model)
        if not self.acquisition.random and (n > 1 or waiting):
            model = copy.deepcopy(model)
            for policy in waiting:
                hallucinate(model, policy)
        caution = self.belief.caution(self._now, ASKED)
        chosen: list[Any] = []
        groups: list[list[int]] = []
        rng = functools.cache(lambda: self.rng(len(waiting)))
        purse = None if self.spending is None else self.spending.purse(n)
        while len(chosen) < n:
            beta = self.exploration.beta(t + 1 + len(chosen))
            searched = model
            if self.trade_off is not None:  # of several objectives, by another weighing for each policy
                known = self._search(model, beta, rng, caution).known
                weights = self.trade_off.drawn(self.seed, t + len(chosen))
                searched = self.trade_off.weighed(model, known, weights)
            # Line 4: of these the composition makes mu_{t-1} and sigma^2_{t-1}, where the search asks.
            search = self._search(searched, beta, rng, caution, [*waiting, *chosen], purse)
            # Line 5: x_t = argmax mu_{t-1}(x) + sqrt(beta_t) sigma_{t-1}(x), where the acquisition is UCB.
            chosen.append(self.acquisition.of(search).choose(search))
            seen = self._groups(searched, chosen, purse)
            if seen is not None:
                groups.append(seen)
            if not self.acquisition.random and len(chosen) < n:
                hallucinate(model, chosen[-1], seen)
        return Query(np.asarray(chosen), groups) if groups else np.asarray(chosen)

    def _groups(self, model: Any, chosen: Sequence[Any], purse: Purse | None) -> list[int] | None:
        """Which groups to observe of the policy chosen last, where the agent picks them; it is paid for."""
        policy = chosen[-1]
        blocks: Sequence[tuple[Any, float]] | None = None
        if self.settings.observe == "chosen":
            blocks = self.settings.blocks
        if purse is not None:
            blocks = purse.blocks(policy, chosen)
        cost = groups = None
        if blocks and self.feedback == "decomposed":
            assert self.belief.prior is not None
            groups, cost = most_telling(model, policy, self.belief.prior.noise_variances, blocks)
        if purse is not None:
            purse.pay(policy, cost)
        return groups

    def tell(
        self,
        policies: ArrayLike,
        observations: ArrayLike,
        noise_variance: ArrayLike | None = None,
        context: Any = None,
    ) -> None:
        """Lines 6 and 7 of Algorithm 2: y_{j,t} was sampled, and updates every group; see `Agent.tell`.

        Observations are (n, J), or (n,) for aggregate feedback. A missing group (nan) skips that group's
        update only. A failed policy teaches nothing, and is avoided.
        """
        self._now = self._time(context)
        policies = self.as_policies(policies)
        # Line 6: the y_{j,t} that the environment's step has sampled, and their noise.
        Y = as_observations(observations, len(policies), self.composition.groups)
        told = Told(policies, Y, self.belief.noise(policies, Y, noise_variance), self._now)
        complete = np.isfinite(Y).all(axis=1)
        if self._limits is not None:
            complete &= self._limits.kept(Y)  # what breaks them is not the best
        objective = self.composition.unsigned(Y[complete], policies[complete])
        # Line 7: the Bayesian update to mu_{j,t} and sigma^2_{j,t}. Where it cannot be, nothing has changed.
        self.belief.observe(told)
        self.rounds += len(policies)
        self.note_observed(policies[complete], objective)

    @property
    def learned(self) -> Learned | None:
        """See `Agent.learned`."""
        return self.belief.learned

    @property
    def surprises(self) -> Sequence[Surprise]:
        """See `Agent.surprises`."""
        return self.belief.surprises

    def postpone(self) -> None:
        """See `Agent.postpone`."""
        self.belief.postpone()

    def recall(self, learned: Learned) -> None:
        """See `Agent.recall`."""
        self.belief.recall(learned)

    def _say_if_known(self, model: Any) -> None:
        """Say once that there is nothing left to learn: all candidates were tried, and are known exactly."""
        if self._said or self._timed or not isinstance(self.space, FiniteSpace):
            return
        if self.rounds < len(self.space.rows):
            return
        variance = model.predict(self.space.rows).variance
        if variance.max() <= KNOWN * self.belief.prior_deviation(self.space.rows, None) ** 2:
            self._said = True
            log.warning(
                "%s knows all %d candidates exactly after %d rounds: further rounds repeat what is known",
                self.name,
                len(self.space.rows),
                self.rounds,
            )

    def lose(
        self, policies: ArrayLike, observations: ArrayLike, context: Any = None, *, partly: bool = False
    ) -> None:
        """Count the rounds; a policy that is lost again, or one next to it, counts as one that fails.

        Else an agent would ask for ever for a policy at which a model never ends. See `Agent.lose`.
        """
        self._now = self._time(context)
        for i, policy in enumerate(self.as_policies(policies)):
            at = np.asarray([policy])
            if self._timed or partly or not self.belief.lost_before(at):
                self.rounds += 1
            else:
                self.tell(at, np.asarray(observations)[[i]])

    def _search(
        self,
        model: Any,
        beta: float,
        rng: Any,
        caution: Caution | None,
        taken: Sequence[Any] = (),
        purse: Purse | None = None,
    ) -> Search:
        """The search of a round on a posterior."""
        return Search(
            self.settings.within or self.space,
            model,
            lambda: self.observed,
            beta,
            rng,
            lambda policies: self.belief.prior_deviation(policies, self._now, model.composition),
            self.belief.draws,
            taken,
            caution,
            None if self._limits is None else LimitChance(model, self._limits),
            near=self._near,
            open=None if purse is None else purse.narrowed(self.settings.within or self.space, taken),
        )

    def search(self) -> Search:
        """A search for a policy on what is believed now."""
        return self._search(
            self.belief.at(self._now), 0.0, self.rng, self.belief.caution(self._now, RECOMMENDED)
        )

    def _time(self, context: Any) -> float | None:
        """The time that a call is for, which it has to say where time is an input, and only there."""
        if not self._timed:
            if context is not None:
                raise ValueError(f"{self.name} has no input for a context")
            return None
        if np.ndim(context) or not np.isfinite(np.asarray(context, dtype=float)):
            raise ValueError(f"context must be one finite number, such as the time, not {context!r}")
        return float(np.asarray(context, dtype=float))

    def predict(self, policies: ArrayLike, context: Any = None) -> tuple[Array, Array]:
        """Posterior mean of the objective, in its own sign, and standard deviation at policies, each (n,).

        nan while the agent has no model yet. In a world that lives at the time given, or the last one heard
        of.
        """
        if context is not None:
            self._now = self._time(context)
        policies = self.as_policies(policies)
        if self.belief.model is None:
            return np.full(len(policies), np.nan), np.full(len(policies), np.nan)
        mean, variance = self.belief.at(self._now).predict(policies)
        return self.composition.sign * mean, np.sqrt(variance)

    def recommend(self, context: Any = None) -> Recommendation:
        """The policy with the best posterior mean over the whole space, or the best of those tried.

        Where policies failed, one that works with a probability of 0.9 at least. See
        `optimizer.agents.recommending` for when one that was tried is preferred.
        """
        if context is not None:
            self._now = self._time(context)
        best, value = self._best
        if self.belief.model is None:
            policy = self.space.sobol(1, self.seed)[0] if best is None else best
            return Recommendation(policy, *(float("nan"),) * 3, best_observed=best, best_observed_value=value)
        model = self.belief.at(self._now)
        caution = None if self._timed else self.belief.caution(None, RECOMMENDED)
        search = self._search(model, 0.0, self.rng, caution)
        if self.trade_off is not None:
            search = replace(search, model=self.trade_off.weighed(model, search.known))
        if search.limits is not None:
            search = replace(search, level=self._certainty)
        return self.predicted(recommended(self.belief, self._now, search))

    def predicted(self, policy: Any, context: Any = None) -> Recommendation:
        """What a policy (d,), or a candidate's row, would be recommended with; see `Agent.recommend`."""
        if context is not None:
            self._now = self._time(context)
        best, value = self._best
        model = self.belief.at(self._now)
        at = np.asarray([policy])
        groups: dict[str, Array] = {}
        means, variances = model.predict_groups(at)
        if self.feedback == "decomposed":
            half = CREDIBLE * np.sqrt(variances[0])
            ends = means[0], means[0] - half, means[0] + half
            mean_, low_, high_ = (
                ends if self._ranges is None else (np.clip(end, *self._ranges.T) for end in ends)
            )
            groups = {"group_means": mean_, "group_low": low_, "group_high": high_}
        middle, low, high = objective_interval(
            self.composition, means, variances, at, self._ranges, self._composed
        )
        return Recommendation(
            policy,
            middle,
            low,
            high,
            tried=self.times_observed(policy),
            best_observed=best,
            best_observed_value=value,
            **groups,
        )
