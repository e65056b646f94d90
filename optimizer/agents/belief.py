"""What an agent believes: its prior, the posterior given all that it was told, and where policies fail.

Time is an input of the kernels where the world lives on while it is asked: an old reading then says less of
the coming hour. Whoever asks what is believed says of which time.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optimizer.acquisition.caution import Caution
from optimizer.acquisition.draws import CandidateDraws
from optimizer.acquisition.feasibility import Answering, Feasibility, feasibility
from optimizer.acquisition.search import Model
from optimizer.agents.history import History, Told
from optimizer.agents.settings import AgentSettings
from optimizer.arrays import Array, Policies
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.kernels.composed import joined_features
from optimizer.posterior.candidates import CandidatePosterior
from optimizer.posterior.decomposed_gp import DecomposedGP
from optimizer.posterior.inputs import as_variances, prior_mean_at
from optimizer.posterior.listed import ListedPosterior, means_of_rows
from optimizer.prior.learning import learn_prior
from optimizer.prior.prior import Prior
from optimizer.space.mixed_space import MixedSpace
from optimizer.space.search_space import FiniteSpace, SearchSpace

log = logging.getLogger("policyloop")

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
    groups : Composition, optional
        Where the composed value is modelled and `settings.prior` is of its groups: their composition.
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
    """

    def __init__(
        self,
        space: SearchSpace,
        composition: BaseComposition,
        settings: AgentSettings,
        *,
        groups: Composition | None = None,
        drawing: bool = False,
    ) -> None:
        self.space = space
        self.composition = composition
        self.settings = settings
        self.design_size = max(5, 2 * space.d)
        none: Policies = np.empty(0, dtype=np.int64) if space.finite else np.empty((0, space.d))
        self.history = History(none, composition.groups)
        self.prior: Prior | None = None
        self.model: Model | None = None
        self.draws: CandidateDraws | None = None
        self._drawing = drawing
        self._groups: tuple[Composition, Array] | None = None  # whose prior is composed, and their noise
        prior = settings.prior
        self._feasible: tuple[int, float | None, Feasibility] | None = None  # after so many told, at a time
        self._said = False
        self._lost: list[Array] = []  # policies of the unit box whose step was lost
        self._learn_at = self.design_size if prior is None else None
        if prior is not None:
            if groups is not None:
                self._groups = groups, prior.noise_variances
                prior = prior.composed(groups)
            self._form(prior)

    def features(self, policies: Policies, time: float | None) -> Array:
        """What kernels see (n, p): features of policies, the time, and weights that a kernel composes by."""

        def timed(policies: Policies) -> Array:
            features = self.space.features(policies)
            return features if time is None else np.column_stack([features, np.full(len(features), time)])

        return timed(policies) if self._groups is None else joined_features(timed, self._groups[0])(policies)

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

    def prior_deviation(self, policies: Policies, time: float | None) -> float:
        """Largest standard deviation of the objective at policies before any observation."""
        assert self.prior is not None
        means = np.stack([prior_mean_at(mean, policies) for mean in self.prior.means], axis=1)
        variances = self._prior_variances(policies, time)
        return float(np.sqrt(np.fmax.reduce(self.composition.moments(means, variances, policies).variance)))

    def _prior_variances(self, policies: Policies, time: float | None) -> Array:
        """Variances of the groups (n, J) before any observation."""
        assert self.prior is not None
        features = self.features(policies, time)
        return np.stack([kernel.diag(features) for kernel in self.prior.kernels], axis=1)

    def noise(self, policies: Policies, Y: Array, stated: ArrayLike | None) -> Array | None:
        """Noise variances (n, J) that are known, nan where not; of a composed value sum_j g_j^2 sigma_j^2."""
        own: Array | None = None
        if self._groups is not None:
            composition, noise = self._groups
            own = composition.variance(np.broadcast_to(noise, (len(Y), composition.groups)), policies)[
                :, None
            ]
        if stated is None:
            return own
        given = np.asarray(stated, dtype=float).reshape(Y.shape)
        as_variances(np.where(np.isnan(given), 0.0, given), Y.shape)  # refuses what is no variance
        return given if own is None else np.where(np.isnan(given), own, given)

    def observe(self, told: Told) -> None:
        """The Bayesian update of every group (Algorithm 2, line 7); at times the prior is learned anew."""
        self.history.add(told)
        try:
            self._learn_from(told)
        except Exception:
            self.history.forget()
            self._rebuild()
            raise
        self._say_what_is_missing()

    def _rebuild(self) -> None:
        """The posterior of all that was told: an update that failed may have reached some groups only."""
        if self.prior is not None:
            self._form(self.prior)
            for each in self.history:
                self._update(each)

    def _say_what_is_missing(self) -> None:
        """Say once of which groups too little was observed to learn from, where an agent waits for them."""
        if self._said or self.prior is not None or len(self.history.observed) < 2 * self.design_size:
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

    def _learn_from(self, told: Told) -> None:
        if self._learn_at is not None and self.history.suffices(self._learn_at):
            self._learn_at = 2 * len(self.history.observed)
            self._form(self.learn())
            for each in self.history:
                self._update(each)
        elif self.model is not None:
            self._update(told)

    def learn(self) -> Prior:
        """The prior of every group that all that was told speaks for."""
        X = np.concatenate([self.features(told.policies, told.time) for told in self.history])
        settings = self.settings
        return learn_prior(
            settings.family, X, self.history.Y, noise_variances=self.history.noise, seed=settings.seed
        )

    def _update(self, told: Told) -> None:
        self.at(told.time).observe(told.policies, told.Y, told.noise)
        if self.draws is not None:
            rows = self.space.rows_of(told.policies) if isinstance(self.space, MixedSpace) else told.policies
            self.draws.observe(rows, told.Y, told.noise)

    def _form(self, prior: Prior) -> None:
        """Begin anew from a prior, with no observation."""
        self.prior = prior
        parts = prior.kernels, prior.noise_variances, self.composition, prior.means
        if isinstance(self.space, FiniteSpace) and not self.settings.context:
            features = self.features(np.arange(self.space.size), None)
            self.draws = CandidateDraws(prior, features) if self._drawing else None
            self.model = CandidatePosterior(*parts, features=features, storage=self.settings.storage)
            return
        space = self.space
        if isinstance(space, MixedSpace) and space.listed is not None and not self.settings.context:
            features, storage = self.features(space.listed, None), self.settings.storage
            self.model = ListedPosterior(*parts, space=space, features=features, storage=storage)
            if self._drawing:
                self.draws = CandidateDraws(replace(prior, means=means_of_rows(prior.means, space)), features)
            return
        weighted = self._groups is not None and self._groups[0].constant_weights is None
        embed: Callable[[Policies], Array] | None = None
        if weighted or self.settings.context or self.space.embed is not None:
            embed = lambda policies: self.features(policies, None)  # noqa: E731 - a function is never copied
        self.model = DecomposedGP(*parts, embed=embed)


def hallucinate(model: Any, policy: Any) -> None:
    """Let a policy return its posterior mean: the variance falls, and the mean stays."""
    at = np.asarray([policy])
    model.observe(at, model.predict_groups(at)[0])
