"""The agents of the paper: a model, an acquisition and a search space, joined by ask and tell.

`GPAgent` runs Algorithm 2 (D-GPUCB) with decomposed feedback and the UCB acquisition, and with a general
composition Algorithm 3. The other named agents differ in one of the three parts: aggregate feedback models
the composed value (J = 1); EI, MPI and Thompson sampling replace the acquisition.
"""

import copy
import functools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from optimizer.acquisition.exploration import Exploration
from optimizer.acquisition.moments import Acquisition
from optimizer.acquisition.samples import SampledAcquisition
from optimizer.acquisition.search import Model, acquisition_kinds, incumbents, maximise
from optimizer.acquisition.thompson import CandidateDraws, feasible_rows, joint_draw, random_policies
from optimizer.agents.agent import CREDIBLE, Agent, Feedback, Recommendation
from optimizer.agents.context import ContextFeatures
from optimizer.agents.history import History, Told
from optimizer.arrays import Array, Policies
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.composition.propagation import credible_interval
from optimizer.kernels.composed import joined_features
from optimizer.posterior.candidates import CandidatePosterior
from optimizer.posterior.decomposed_gp import DecomposedGP
from optimizer.posterior.inputs import as_observations, as_variances, prior_mean_at
from optimizer.posterior.solved_rows import RowStorage
from optimizer.prior.prior import Prior
from optimizer.space.search_space import SearchSpace

AcquisitionName = Literal["ucb", "ei", "mpi", "ts"]

MARGIN = 0.01
"""By how much MPI wants to improve, in prior standard deviations of the objective: the customary value."""


class GPAgent(Agent):
    """An agent with Gaussian process models of the groups, or of the composed value.

    Parameters
    ----------
    name : str
        Name in tables and figures.
    space : SearchSpace
        Where policies come from.
    composition : Composition, or GeneralComposition
        The known g of the groups, also for aggregate feedback.
    exploration : Exploration
        beta_t of the UCB acquisition.
    feedback : {"decomposed", "aggregate"}
        Whether every group is observed, or the composed value alone.
    acquisition : {"ucb", "ei", "mpi", "ts"}
        How the next policy is picked; "ts" is Thompson sampling of every group.
    prior : Prior, optional
        Priors of the groups; of the objective where `own_prior` is true. Without one, the agent learns it
        from its own rounds: the first `design_size` of them are a Sobol design, and kernels are learned anew
        whenever the number of observations has doubled.
    own_prior : bool, default=False
        For aggregate feedback: `prior` is one of the composed values, not of the groups to be composed. Under
        a general composition it has to be.
    family : str, default="rbf"
        Kernel family where the agent learns its own.
    seed : int, default=0
        Of the random starts of the search.
    storage : RowStorage, optional
        How the posterior over a large candidate set is stored.
    context : bool, default=False
        Whether `ask` and `tell` come with a context, such as the time, which kernels see as last feature.

    Raises
    ------
    ValueError
        If a prior of groups is to be composed by a general g.
    """

    def __init__(
        self,
        name: str,
        space: SearchSpace,
        composition: BaseComposition,
        exploration: Exploration,
        *,
        feedback: Feedback,
        acquisition: AcquisitionName,
        prior: Prior | None = None,
        own_prior: bool = False,
        family: str = "rbf",
        seed: int = 0,
        storage: RowStorage | None = None,
        context: bool = False,
    ) -> None:
        super().__init__(name, space, composition.sign, seed)
        self.feedback = feedback
        self.exploration = exploration
        self.acquisition = acquisition
        self.family = family
        self.storage = storage
        self.composition = composition if feedback == "decomposed" else composition.own()
        self.design_size = max(5, 2 * space.d)
        self._clock = ContextFeatures(space.features) if context else None
        self._features: Callable[[Policies], Array] = self._clock or space.features
        self._prior = prior
        self._composed: tuple[Composition, Array] | None = None  # of groups' priors, and their noise
        self._model: Model | None = None
        self._draws: CandidateDraws | None = None
        self._learn_at = self.design_size if prior is None else None
        none: Policies = np.empty(0, dtype=np.int64) if space.finite else np.empty((0, space.d))
        self._history = History(none, self.composition.groups)
        if prior is not None:
            if feedback == "aggregate" and not own_prior:
                if not isinstance(composition, Composition):
                    raise ValueError(
                        f"{name} needs a prior of the composed values: no general g composes one"
                    )
                self._composed = composition, prior.noise_variances
                self._features = joined_features(self._features, composition)
                prior = prior.composed(composition)
            self._model = self._build(prior)

    @property
    def observed(self) -> Policies:
        """Policies told with at least one finite observation, in order."""
        return self._history.observed

    def ask(self, n: int = 1, context: Any = None, pending: ArrayLike | None = None) -> Policies:
        """The policies that maximise the acquisition; several at once by hallucination (GP-BUCB).

        Each policy after the first is chosen as if the earlier ones had returned their posterior mean
        (Desautels et al. 2014), and so is every one after those that are `pending`: asked for before, tried
        somewhere now, not told yet.
        """
        self._set_context(context)
        waiting = [] if pending is None or not np.size(pending) else list(self.as_policies(pending))
        # Made where something is drawn: a finite UCB search draws nothing.
        rng = functools.cache(lambda: self.rng(len(waiting)))
        t = self.rounds + len(waiting)
        if self._model is None:
            return self.space.sobol(t + n, self.seed)[t:]
        cautious = self._cautious(self._model)
        if self.acquisition == "ts" or (n == 1 and not waiting):  # draws differ by themselves
            return np.asarray([self._choose(cautious, t + 1, rng) for _ in range(n)])
        model, chosen = copy.deepcopy(cautious), []
        for policy in waiting:
            _hallucinate(model, policy)
        for i in range(n):
            policy = self._choose(model, t + 1 + i, rng)
            chosen.append(policy)
            if i + 1 < n:
                _hallucinate(model, policy)
        return np.asarray(chosen)

    def _cautious(self, model: Model, *, asking: bool = True) -> Model:
        """The model as a search sees it: where policies failed, it expects little.

        A policy that failed has no value and teaches none, but an agent that forgot it would ask for it for
        ever. So for the search alone it is as if every group had returned the bad end of its credible
        interval: near what was observed that says little, elsewhere it leads away. Where failures go on while
        asking, it is the bad end of the prior's interval, which leads away from what the model is sure of.
        Where time goes on, a failure says nothing of the next moment.
        """
        failed = self._history.failed
        if not failed or self._clock is not None:
            return model
        model, lasting = copy.deepcopy(model), len(failed) - self._history.streak if asking else len(failed)
        for i, policy in enumerate(failed):
            at = np.asarray([policy])
            means, variances = model.predict_groups(at)
            spread = self._prior_variances(at) if i > lasting else variances
            better = np.sign(model.composition.sign * model.composition.slopes(means, at))
            model.observe(at, means - better * CREDIBLE * np.sqrt(spread))
        return model

    def _choose(self, model: Model, t: int, rng: Callable[[], np.random.Generator]) -> Any:
        if self.acquisition == "ts":
            return self._best_of_a_draw(model, rng())
        return maximise(self.space, model, self._acquisition(model, t, rng), rng, self._history)

    def _acquisition(
        self, model: Model, t: int, rng: Callable[[], np.random.Generator]
    ) -> Acquisition | SampledAcquisition:
        kinds = acquisition_kinds(self.composition)
        if self.acquisition == "ucb":
            return kinds.ucb(self.exploration.beta(t))
        observed = self.observed
        known = observed if len(observed) else self.space.sample(64, rng())
        incumbent = float(np.fmax.reduce(model.predict(known)[0]))
        if self.acquisition == "ei":
            return kinds.ei(incumbent)
        return kinds.mpi(incumbent, MARGIN * self._prior_deviation(known))

    def _prior_deviation(self, policies: Policies) -> float:
        """Largest standard deviation of the objective before any observation."""
        assert self._prior is not None
        means = np.stack([prior_mean_at(mean, policies) for mean in self._prior.means], axis=1)
        variances = self._prior_variances(policies)
        return float(np.sqrt(np.fmax.reduce(self.composition.moments(means, variances, policies)[1])))

    def _prior_variances(self, policies: Policies) -> Array:
        """Variances of the groups (n, J) before any observation."""
        assert self._prior is not None
        features = self._features(policies)
        return np.stack([kernel.diag(features) for kernel in self._prior.kernels], axis=1)

    def _best_of_a_draw(self, model: Model, rng: np.random.Generator) -> Any:
        """Thompson sampling: where one draw of every group, composed, is best."""
        if self._draws is not None:
            policies = feasible_rows(self.space)
            drawn = self._draws.draw(rng)[policies]
        else:
            assert isinstance(model, DecomposedGP)
            extra = None if self.space.finite else incumbents(model, self.observed)
            policies = random_policies(self.space, rng, extra)
            drawn = joint_draw(model, policies, rng)
        values = self.composition.compose(drawn, policies)
        return policies[np.argmax(np.where(np.isnan(values), -np.inf, values))]

    def _set_context(self, context: Any) -> None:
        if self._clock is not None:
            self._clock.set(context)
        elif context is not None:
            raise ValueError(f"{self.name} has no input for a context")

    def tell(
        self,
        policies: ArrayLike,
        observations: ArrayLike,
        noise_variance: ArrayLike | None = None,
        context: Any = None,
    ) -> None:
        """Learn from observations (n, J), or (n,) for aggregate feedback; see `Agent.tell`.

        A missing group (nan) skips that group's update only. A failed policy teaches nothing, and is avoided.
        """
        self._set_context(context)
        policies = self.as_policies(policies)
        Y = as_observations(observations, len(policies), self.composition.groups)
        told = Told(policies, Y, self._noise(policies, Y, noise_variance), context)
        self.rounds += len(policies)
        self._history.add(told)
        complete = np.isfinite(Y).all(axis=1)
        self.note_observed(policies[complete], self.composition.unsigned(Y[complete], policies[complete]))
        if self._learn_at is not None and self._history.suffices(self._learn_at):
            self._learn_at = 2 * len(self.observed)
            self._model = self._build(self._history.learn_prior(self.family, self._features_of, self.seed))
            for told in self._history:
                self._observe(self._model, told)
        elif self._model is not None:
            self._observe(self._model, told)

    def _noise(self, policies: Policies, Y: Array, noise_variance: ArrayLike | None) -> Array | None:
        """Noise variances (n, J); for the composed value of groups, sum_j g_j(x)^2 sigma_j^2."""
        if noise_variance is not None:
            return as_variances(np.asarray(noise_variance, dtype=float).reshape(Y.shape), Y.shape)
        if self._composed is None:
            return None
        composition, noise = self._composed
        groups = np.broadcast_to(noise, (len(Y), composition.groups))
        return composition.variance(groups, policies)[:, None]

    def _observe(self, model: Model, told: Told) -> None:
        self._set_context(told.context)
        model.observe(told.policies, told.Y, told.noise)
        if self._draws is not None:
            self._draws.observe(told.policies, told.Y, told.noise)

    def _features_of(self, told: Told) -> Array:
        self._set_context(told.context)
        return self._features(told.policies)

    def _build(self, prior: Prior) -> Model:
        self._prior = prior
        if self.space.finite and self._clock is None:
            features = self._features(np.arange(self.space.size or 0))
            if self.acquisition == "ts":
                self._draws = CandidateDraws(prior, features)
            return CandidatePosterior(
                prior.kernels,
                prior.noise_variances,
                self.composition,
                prior.means,
                features=features,
                storage=self.storage,
            )
        plain = self._features == self.space.features and self.space.embed is None
        return DecomposedGP(
            prior.kernels,
            prior.noise_variances,
            self.composition,
            prior.means,
            embed=None if plain else self._features,
        )

    def predict(self, policies: ArrayLike, context: Any = None) -> tuple[Array, Array]:
        """Posterior mean of the objective, in its own sign, and standard deviation at policies, each (n,).

        nan while the agent has no model yet.
        """
        if context is not None:
            self._set_context(context)
        policies = self.as_policies(policies)
        if self._model is None:
            return np.full(len(policies), np.nan), np.full(len(policies), np.nan)
        mean, variance = self._model.predict(policies)
        return self.composition.sign * mean, np.sqrt(variance)

    def recommend(self, context: Any = None) -> Recommendation:
        """The policy with the best posterior mean over the whole space, not the best observation."""
        if context is not None:
            self._set_context(context)
        best, value = self._best
        if self._model is None:
            policy = self.space.sobol(1, self.seed)[0] if best is None else best
            return Recommendation(policy, *(float("nan"),) * 3, best_observed=best, best_observed_value=value)
        acquisition = acquisition_kinds(self.composition).mean
        cautious = self._cautious(self._model, asking=False)
        policy = maximise(self.space, cautious, acquisition, self.rng, self._history)
        at = np.asarray([policy])
        groups: dict[str, Array] = {}
        means, variances = self._model.predict_groups(at)
        if self.feedback == "decomposed":
            half = CREDIBLE * np.sqrt(variances[0])
            groups = {"group_means": means[0], "group_low": means[0] - half, "group_high": means[0] + half}
        mean, variance = self._model.predict(at)
        middle = self.composition.sign * float(mean[0])
        if isinstance(self.composition, GeneralComposition):
            low, high = credible_interval(self.composition, means, variances, at)
        else:
            half_width = CREDIBLE * float(np.sqrt(variance[0]))
            low, high = middle - half_width, middle + half_width
        return Recommendation(
            policy, middle, low, high, best_observed=best, best_observed_value=value, **groups
        )


def _hallucinate(model: Model, policy: Any) -> None:
    """Let a policy return its posterior mean: the variance falls, and the mean stays."""
    at = np.asarray([policy])
    model.observe(at, model.predict_groups(at)[0])
