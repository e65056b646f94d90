"""What an agent believes: its prior, the posterior given all that it was told, and where policies fail.

Time is an input of the kernels where the world lives on while it is asked: an old reading then says less of
the coming hour. Whoever asks what is believed says of which time.
"""

import copy
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optimizer.acquisition.caution import Caution
from optimizer.acquisition.draws import CandidateDraws
from optimizer.acquisition.feasibility import Answering, Feasibility, feasibility
from optimizer.acquisition.search import Model
from optimizer.agents.contradictions import contradiction
from optimizer.agents.history import History, Told
from optimizer.agents.settings import AgentSettings
from optimizer.agents.surprises import Surprise, surprises
from optimizer.arrays import Array, Policies
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.kernels.composed import joined_features
from optimizer.posterior.candidate_mixture import CandidateMixture
from optimizer.posterior.candidates import CandidatePosterior
from optimizer.posterior.decomposed_gp import DecomposedGP
from optimizer.posterior.inputs import as_variances, prior_mean_at, stated_or_own
from optimizer.posterior.kept_noise import KeptNoise
from optimizer.posterior.listed import ListedPosterior, means_of_rows
from optimizer.prior.learned import Learned
from optimizer.prior.mixture import PriorMixture
from optimizer.prior.own_rounds import OwnRounds
from optimizer.prior.prior import Prior, joined
from optimizer.space.finite_space import FiniteSpace
from optimizer.space.mixed_space import MixedSpace
from optimizer.space.search_space import SearchSpace

log: logging.Logger = logging.getLogger("policyloop")

KEPT_NUMBERS = 5e7
"""Numbers that mixtures over candidates may keep (400 MB): more observations have fewer components."""
ALIKE = 0.01
"""How far apart policies that are lost are still the same, as a share of every entry's range."""


class Belief:
    """The Gaussian processes of an agent: one a group, or one of the composed value (J = 1).

    Parameters
    ----------
    space : SearchSpace
        Whose policies are told.
    composition : BaseComposition
        Of what is modelled: the groups', or that of the objective alone.
    settings : AgentSettings
        The prior, or the family from which one is learned; the seed; whether time is an input; storage.
    groups : sequence of Composition, optional
        Where composed values are modelled and `settings.prior` is of their groups: their compositions, the
        objective's first. Only it may have weights that vary, and only where there is no other.
    drawing : bool, default False
        Whether the acquisition draws from the posterior.

    Attributes
    ----------
    prior : Prior or None
        None until one is given or learned.
    model : DecomposedGP, CandidatePosterior or None
        The posterior of Algorithm 1, for a world that does not live; see `at`.
    history : History
        All that was told.
    design_size : int
        Observations from which a prior is first learned.
    surprises : list of Surprise
        What was told last and had been predicted otherwise, if there was a model.
    checked : (int, Prior, bool) or None
        After how many told, and by which prior, the data were last found to contradict what is predicted; see
        `optimizer.agents.recommending`.
    """

    def __init__(
        self,
        space: SearchSpace,
        composition: BaseComposition,
        settings: AgentSettings,
        *,
        groups: Sequence[Composition] = (),
        drawing: bool = False,
    ) -> None:
        self.space = space
        self.composition = composition
        self.settings = settings
        self.design_size: int = max(5, 2 * space.d)
        none: Policies = np.empty(0, dtype=np.int64) if space.finite else np.empty((0, space.d))
        self.history: History = History(none, composition.groups)
        self.prior: Prior | None = None
        self._given: Prior | None = None
        self.model: Model | CandidateMixture | None = None
        self.draws: CandidateDraws | None = None
        self._drawing = drawing
        self._groups = tuple(groups)  # whose prior is composed
        self._groups_noise = np.empty(0)
        prior = settings.prior
        self.own: OwnRounds | None = None
        if prior is None or (settings.goes_on and not groups):
            self.own = OwnRounds(settings.family, settings.seed, prior)
        self._postponed = False
        self._feasible: tuple[int, float | None, Feasibility] | None = None  # after so many told, at a time
        self.surprises: list[Surprise] = []
        self.checked: tuple[int, Prior | None, bool] | None = None
        self._said = self._contradicted = False
        self._lost: list[Array] = []  # policies of the unit box whose step was lost
        if prior is not None:
            if groups:
                self._groups_noise = prior.noise_variances
                prior = joined([prior.composed(one) for one in groups])
            self._given = prior
            self._form(prior)

    def composed_by(self, composition: BaseComposition) -> "Belief":
        """The same belief of the same groups, composed by another g; it shares all that was observed."""
        other = copy.copy(self)
        other.composition, other.model = composition, copy.copy(self.model)
        if other.model is not None:
            other.model.composition = composition
        return other

    def features(self, policies: Policies, time: float | None) -> Array:
        """What kernels see (n, p): features of policies, the time, and weights that a kernel composes by."""

        def timed(policies: Policies) -> Array:
            features = self.space.features(policies)
            return features if time is None else np.column_stack([features, np.full(len(features), time)])

        return joined_features(timed, self._groups[0])(policies) if self._groups else timed(policies)

    def at(self, time: float | None) -> Any:
        """The posterior at a time; where there is none, as it is."""
        if time is None or self.model is None:
            return self.model
        assert isinstance(self.model, DecomposedGP)
        return self.model.seen_by(lambda policies: self.features(policies, time))

    def lost_before(self, policy: Policies) -> bool:
        """Note that the step of a policy (1, d) or (1,) was lost; whether that of one like it was before."""
        unit = self.space.to_unit(policy)[0]
        again = any(np.abs(unit - before).max(initial=0.0) <= ALIKE for before in self._lost)
        self._lost.append(unit)
        return again

    def caution(self, time: float | None, least: float) -> Caution | None:
        """What a search at a time avoids, given the policies that failed; None where none has.

        A policy that failed has no value, and teaches none: that it failed is evidence of another kind. Where
        time goes on, it is evidence for a while, and so is a reading with a missing group: an agent that
        wants to know the group would ask the same silent channel for ever.
        """
        history = self.history
        if not history.failures and (time is None or not history.gaps):
            return None
        told, known = len(history.Y), np.isfinite(history.Y)
        worked = np.asarray(known.any(axis=1) if time is None else known.all(axis=1))
        policies = history.policies
        if self._feasible is None or self._feasible[:2] != (told, time):
            model = (
                feasibility(self.space, policies, worked)
                if time is None
                else Answering(self.space, policies, worked, history.times, time)
            )
            self._feasible = told, time, model
        failed = policies[~worked] if time is None else policies[:0]
        return Caution(self.space, self._feasible[2], policies[worked], failed, least)

    def prior_deviation(
        self, policies: Policies, time: float | None, composition: BaseComposition | None = None
    ) -> float:
        """Largest standard deviation of the objective, or another composition, before any observation."""
        assert self.prior is not None
        means = np.stack([prior_mean_at(mean, policies) for mean in self.prior.means], axis=1)
        variances = self.prior_variances(policies, time)
        moments = (composition or self.composition).moments(means, variances, policies)
        return float(np.sqrt(np.fmax.reduce(moments.variance)))

    def prior_variances(self, policies: Policies, time: float | None) -> Array:
        """Variances of the groups (n, J) before any observation."""
        assert self.prior is not None
        features = self.features(policies, time)
        return np.stack([kernel.diag(features) for kernel in self.prior.kernels], axis=1)

    def noise(self, policies: Policies, Y: Array, stated: ArrayLike | None) -> Array | None:
        """Noise variances (n, J), nan where unknown; of a composed value they are sum_j g_j^2 sigma_j^2."""
        own: Array | None = None
        if self._groups:
            spread = np.broadcast_to(self._groups_noise, (len(Y), len(self._groups_noise)))
            own = np.stack([one.variance(spread, policies) for one in self._groups], axis=1)
        if stated is None:
            return own
        given = np.asarray(stated, dtype=float).reshape(Y.shape)
        as_variances(np.where(np.isnan(given), 0.0, given), Y.shape)  # refuses what is no variance
        return given if own is None else np.where(np.isnan(given), own, given)

    def observe(self, told: Told) -> None:
        """The Bayesian update of every group (Algorithm 2, line 7); what learns its prior learns it anew.

        After a surprise it does so at once.
        """
        self.history.add(told)
        before = self.learned
        try:
            self._learn_from(told)
        except Exception:
            self.history.forget()
            if self.own is not None:
                self.own.last = before
            self._rebuild()
            raise
        self._say_what_is_missing()
        self._say_if_contradicted(told)

    @property
    def learned(self) -> Learned | None:
        """What was learned last from the agent's own rounds; None where nothing was."""
        return self.own.last if self.own is not None else None

    def postpone(self) -> None:
        """Only remember what is told, until `recall` says what was learned of it."""
        self._postponed = self.own is not None

    def recall(self, learned: Learned) -> None:
        """Take over what was learned of all that was told; ValueError where it cannot be of this belief."""
        if self.own is None or learned.family != self.own.family.name:
            raise ValueError(
                f"what was learned is of the kernel family {learned.family}, and not of this agent"
            )
        if len(learned.groups) != self.history.Y.shape[1]:
            raise ValueError(f"what was learned is of {len(learned.groups)} groups, and not of this agent")
        self._postponed, self.own.last = False, learned
        self._rebuild(together=True)

    def _rebuild(self, *, together: bool = False) -> None:
        """The posterior of all that was told, one by one or `together`, as where it was just learned from."""
        if self.learned is not None:
            self._form_mixture(self.learned.mixture())
        elif (given := self._given) is not None:
            self._form(given)
        else:
            self.prior = self.model = self.draws = None
        if self.model is None:
            return
        told = self.history
        if together and not self.settings.context:
            self._update(Told(told.policies, told.Y, told.noise, None))
            return
        for each in told:
            self._update(each)

    def _say_what_is_missing(self) -> None:
        """Say once of which groups too little was observed to learn from, where an agent waits for them."""
        if (
            self._said
            or self._postponed
            or self.prior is not None
            or len(self.history.observed) < 2 * self.design_size
        ):
            return
        counts = np.isfinite(self.history.Y).sum(axis=0)
        groups = ", ".join(f"{j} ({count} times)" for j, count in enumerate(counts.tolist()) if count < 2)
        if groups:
            self._said = True
            log.warning(
                "after %d rounds there is too little of group %s to learn from: until every group was "
                "observed twice, policies are those of a design",
                len(self.history.observed),
                groups,
            )

    def _say_if_contradicted(self, told: Told) -> None:
        """Say once that what is said to be free of noise seems not to be; all repeats count equally then."""
        if self._contradicted or self.prior is None or told.time is not None:
            return
        variances = self.prior_variances(told.policies, None)
        found = contradiction(self.history, told, self.prior.noise_variances, variances)
        if found is not None:
            self._contradicted = True
            log.warning(
                "at policy %s group %d was %.6g, and is %.6g now, although its noise is said to be zero: it "
                "seems not to be, and the mean of such repeats is believed",
                np.asarray(found.policy).tolist(),
                found.j,
                found.before,
                found.now,
            )

    def _learn_from(self, told: Told) -> None:
        """Update every group, or learn its prior anew where it is time."""
        self.surprises = []
        if self._postponed:
            return
        if self.model is not None:
            self.surprises = self._surprises(told)
        if self.own is None:
            self._update(told)
            return
        surprised = bool(self.surprises)
        T = len(self.history.observed)
        if self.history.suffices(self.design_size) and self.own.due(T, surprised):
            self._learn(surprised)
        elif self.model is not None:
            self._update(told)

    def _surprises(self, told: Told) -> list[Surprise]:
        assert self.prior is not None
        means, variances = self.at(told.time).predict_groups(told.policies)
        noise = stated_or_own(told.noise, self.prior.noise_variances, told.Y.shape)
        return surprises(told.Y, means, variances, noise)

    def _learn(self, surprised: bool) -> None:
        """Learn the priors of all groups from all that was told, and begin anew from them."""
        assert self.own is not None
        X = np.concatenate([self.features(told.policies, told.time) for told in self.history])
        told = self.history
        rows = self._candidates
        room = math.inf if rows is None else KEPT_NUMBERS / (told.Y.size * len(rows))
        self.own.learn(X, told.Y, told.noise, surprised=surprised, room=room)
        self._rebuild(together=True)

    def _update(self, told: Told) -> None:
        self.at(told.time).observe(told.policies, told.Y, told.noise)
        if self.draws is not None:
            rows = self.space.rows_of(told.policies) if isinstance(self.space, MixedSpace) else told.policies
            self.draws.observe(rows, told.Y, told.noise)

    def _form(self, prior: Prior) -> None:
        """Begin anew from a prior, with no observation."""
        self.prior = prior
        parts = prior.kernels, prior.noise_variances, self.composition, prior.means
        space, rows = self.space, self._candidates
        if rows is None:
            self.model = DecomposedGP(*parts, embed=self._embed(), kept=self.kept)
            return
        features, storage = self.features(rows, None), self.settings.storage
        if isinstance(space, MixedSpace):
            self.model = ListedPosterior(*parts, space=space, features=features, storage=storage)
            prior = replace(prior, means=means_of_rows(prior.means, space))
        else:
            self.model = CandidatePosterior(*parts, features=features, storage=storage)
        if self._drawing:
            self.draws = CandidateDraws(prior, features)

    def _form_mixture(self, prior: PriorMixture) -> None:
        """Begin anew from a prior whose hyperparameters are uncertain; one component is `_form`'s."""
        self.draws = None
        if len(prior.components) == 1:
            self._form(prior.most_probable)
            return
        self.prior = prior.most_probable
        parts = prior.groups, self.composition, prior.means
        rows = None if self._drawing else self._candidates
        if rows is None:
            self.model = DecomposedGP.of_mixtures(*parts, embed=self._embed(), kept=self.kept)
            return
        mixture = CandidateMixture(*parts, features=self.features(rows, None))
        space = self.space
        self.model = ListedPosterior.of(mixture, space) if isinstance(space, MixedSpace) else mixture

    @property
    def _candidates(self) -> Policies | None:
        """All policies, where they are few enough to be a list and no time is an input."""
        if self.settings.context:
            return None
        if isinstance(self.space, FiniteSpace):
            return np.arange(self.space.size)
        return self.space.listed if isinstance(self.space, MixedSpace) else None

    @property
    def kept(self) -> Sequence[KeptNoise] | None:
        """What of the noise stays with its policy, a group; time has to be the last feature."""
        return self.settings.kept_noise if self.settings.context and not self._groups else None

    def _embed(self) -> Callable[[Policies], Array] | None:
        """What makes features of policies, where kernels see more than the policies themselves."""
        weighted = bool(self._groups) and self._groups[0].constant_weights is None
        if weighted or self.settings.context or self.space.embed is not None or self.space.finite:
            return lambda policies: self.features(policies, None)  # a function is never copied
        return None


def hallucinate(model: Any, policy: Any, groups: Sequence[int] | None = None) -> None:
    """Let a policy return its posterior mean: the variance falls, the mean stays (all but, in a mixture).

    Of all groups, or of some.
    """
    at = np.asarray([policy])
    means = model.predict_groups(at)[0]
    if groups is not None:
        means = np.where(np.isin(np.arange(means.shape[1]), groups), means, np.nan)
    model.observe(at, means)
