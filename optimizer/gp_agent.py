"""The agents of the paper: a model, an acquisition and a search space, joined by ask and tell.

`GPAgent` runs Algorithm 2 (D-GPUCB) with decomposed feedback and the UCB acquisition. The other named agents
differ in one of the three parts: aggregate feedback models the composed value (J = 1), EI and MPI replace the
acquisition.
"""

import copy
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optimizer.acquisitions import UCB, Acquisition, ExpectedImprovement, ProbabilityOfImprovement
from optimizer.agents import CREDIBLE, Agent, Feedback, Recommendation
from optimizer.candidate_posterior import CandidatePosterior
from optimizer.composed_kernel import joined_features
from optimizer.composition import Composition, Policies
from optimizer.decomposed_gp import DecomposedGP, as_observations
from optimizer.exploration import Exploration
from optimizer.gaussian_process import as_variances
from optimizer.kept_rows import RowStorage
from optimizer.kernel_learning import learn_prior
from optimizer.prior import Prior
from optimizer.search_space import SearchSpace

Array = NDArray[np.float64]
AcquisitionName = Literal["ucb", "ei", "mpi"]

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
    composition : Composition
        The known g of the groups, also for aggregate feedback.
    exploration : Exploration
        beta_t of the UCB acquisition.
    feedback : {"decomposed", "aggregate"}
        Whether every group is observed, or the composed value alone.
    acquisition : {"ucb", "ei", "mpi"}
        How the next policy is picked.
    prior : Prior, optional
        Priors of the groups; of the objective where `own_prior` is true. Without one, the agent learns it
        from its own rounds: the first `design_size` of them are a Sobol design, and kernels are learned anew
        whenever the number of observations has doubled.
    own_prior : bool, default=False
        For aggregate feedback: `prior` is one of the composed values, not of the groups to be composed.
    family : str, default="rbf"
        Kernel family where the agent learns its own.
    seed : int, default=0
        Of the random starts of the search.
    storage : RowStorage, optional
        How the posterior over a large candidate set is stored.
    """

    def __init__(
        self,
        name: str,
        space: SearchSpace,
        composition: Composition,
        exploration: Exploration,
        *,
        feedback: Feedback,
        acquisition: AcquisitionName,
        prior: Prior | None = None,
        own_prior: bool = False,
        family: str = "rbf",
        seed: int = 0,
        storage: RowStorage | None = None,
    ) -> None:
        super().__init__(name, space, composition.sign, seed)
        self.feedback = feedback
        self.exploration = exploration
        self.acquisition = acquisition
        self.family = family
        self.storage = storage
        self.composition = composition if feedback == "decomposed" else composition.own()
        self.design_size = max(5, 2 * space.d)
        self._features: Callable[[Policies], Array] = space.features
        self._group_prior: Prior | None = None
        self._outer = composition
        self._model: DecomposedGP | CandidatePosterior | None = None
        self._learn_at = self.design_size if prior is None else None
        self._told: list[tuple[Policies, Array, Array | None]] = []
        none: Policies = np.empty(0, dtype=np.int64) if space.finite else np.empty((0, space.d))
        self._observed = [none]
        if prior is not None:
            if feedback == "aggregate" and not own_prior:
                self._group_prior = prior
                self._features = joined_features(space.features, composition)
                prior = prior.composed(composition)
            self._model = self._build(prior)

    @property
    def observed(self) -> Policies:
        """Policies told with at least one finite observation, in order."""
        return np.concatenate(self._observed)

    def ask(self, n: int = 1, context: Any = None) -> Policies:
        """The policies that maximise the acquisition; several at once by hallucination (GP-BUCB).

        For n > 1 each policy after the first is chosen as if the earlier ones had returned their posterior
        mean (Desautels et al. 2014).
        """
        if context is not None:
            raise ValueError(f"{self.name} has no input for a context")
        rng = self.rng()
        if self._model is None:
            return self.space.sobol(self.rounds + n, self.seed)[self.rounds :]
        if n == 1:
            return np.asarray([self._choose(self._model, self.rounds + 1, rng)])
        model, chosen = copy.deepcopy(self._model), []
        for i in range(n):
            policy = self._choose(model, self.rounds + 1 + i, rng)
            chosen.append(policy)
            model.observe(np.asarray([policy]), model.predict_groups(np.asarray([policy]))[0])
        return np.asarray(chosen)

    def _choose(self, model: DecomposedGP | CandidatePosterior, t: int, rng: np.random.Generator) -> Any:
        return self._maximise(model, self._acquisition(model, t, rng), rng)[0]

    def _acquisition(
        self, model: DecomposedGP | CandidatePosterior, t: int, rng: np.random.Generator
    ) -> Acquisition:
        if self.acquisition == "ucb":
            return UCB(self.exploration.beta(t))
        observed = self.observed
        known = observed if len(observed) else self.space.sample(64, rng)
        incumbent = float(model.predict(known)[0].max())
        if self.acquisition == "ei":
            return ExpectedImprovement(incumbent)
        return ProbabilityOfImprovement(incumbent, MARGIN * float(np.sqrt(model.prior_variance(known).max())))

    def _maximise(
        self, model: DecomposedGP | CandidatePosterior, acquisition: Acquisition, rng: np.random.Generator
    ) -> tuple[Any, float]:
        if isinstance(model, CandidatePosterior):
            return self.space.maximise(lambda rows: acquisition.score(*model.predict(rows)), None, rng)

        def value_and_gradient(X: Array) -> tuple[Array, Array]:
            mean, variance, mean_slope, variance_slope = model.predict_with_gradients(X)
            in_mean, in_variance = acquisition.partials(mean, variance)
            gradient = in_mean[:, None] * mean_slope + in_variance[:, None] * variance_slope
            return acquisition.score(mean, variance), gradient

        return self.space.maximise(
            lambda X: acquisition.score(*model.predict(X)),
            value_and_gradient,
            rng,
            extra=self._incumbents(model),
        )

    def _incumbents(self, model: DecomposedGP) -> Array | None:
        """The few observed policies with the best posterior means: good starts once something is known."""
        observed = self.observed
        if not len(observed):
            return None
        distinct = np.unique(np.asarray(observed, dtype=float), axis=0)
        return distinct[np.argsort(-model.predict(distinct)[0], kind="stable")[:3]]

    def tell(
        self, policies: ArrayLike, observations: ArrayLike, noise_variance: ArrayLike | None = None
    ) -> None:
        """Learn from observations (n, J), or (n,) for aggregate feedback; see `Agent.tell`.

        A missing group (nan) skips that group's update only.
        """
        policies = self.as_policies(policies)
        Y = as_observations(observations, len(policies), self.composition.groups)
        noise = self._noise(policies, Y, noise_variance)
        self.rounds += len(policies)
        self._told.append((policies, Y, noise))
        self._observed.append(policies[np.isfinite(Y).any(axis=1)])
        complete = np.isfinite(Y).all(axis=1)
        self.note_observed(policies[complete], self.composition.unsigned(Y[complete], policies[complete]))
        if self._learn_at is not None and self._may_learn(self._learn_at):
            self._learn_at = 2 * len(self.observed)
            self._relearn()
        elif self._model is not None:
            self._model.observe(policies, Y, noise)

    def _noise(self, policies: Policies, Y: Array, noise_variance: ArrayLike | None) -> Array | None:
        """Noise variances (n, J); for the composed value of groups, sum_j g_j(x)^2 sigma_j^2."""
        if noise_variance is not None:
            return as_variances(np.asarray(noise_variance, dtype=float).reshape(Y.shape), Y.shape)
        if self._group_prior is None:
            return None
        groups = np.broadcast_to(self._group_prior.noise_variances, (len(Y), self._outer.groups))
        return self._outer.variance(groups, policies)[:, None]

    def _may_learn(self, observations: int) -> bool:
        """Whether so many policies were observed, and every group in at least two of them."""
        groups = sum(np.isfinite(Y).sum(axis=0) for _, Y, _ in self._told)
        return len(self.observed) >= observations and int(np.min(groups)) >= 2

    def _relearn(self) -> None:
        """Learn the prior from the agent's own rounds, and observe them again under it."""
        policies = np.concatenate([p for p, _, _ in self._told])
        Y = np.concatenate([y for _, y, _ in self._told])
        noises = [noise for _, _, noise in self._told if noise is not None]
        noise = np.concatenate(noises).mean(axis=0) if len(noises) == len(self._told) else None
        prior = learn_prior(self.family, self._features(policies), Y, noise_variances=noise, seed=self.seed)
        self._model = self._build(prior)
        for told in self._told:
            self._model.observe(*told)

    def _build(self, prior: Prior) -> DecomposedGP | CandidatePosterior:
        if self.space.finite:
            return CandidatePosterior(
                prior.kernels,
                prior.noise_variances,
                self.composition,
                prior.means,
                features=self._features(np.arange(self.space.size or 0)),
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

    def recommend(self) -> Recommendation:
        """The policy with the best posterior mean over the whole space, not the best observation."""
        best, value = self._best
        if self._model is None:
            policy = self.space.sobol(1, self.seed)[0] if best is None else best
            return Recommendation(policy, *(float("nan"),) * 3, best_observed=best, best_observed_value=value)
        policy = self._maximise(self._model, UCB(0.0), self.rng())[0]
        at = np.asarray([policy])
        mean, deviation = (float(part[0]) for part in self._signed_moments(at))
        groups: dict[str, Array] = {}
        if self.feedback == "decomposed":
            means, variances = self._model.predict_groups(at)
            half = CREDIBLE * np.sqrt(variances[0])
            groups = {"group_means": means[0], "group_low": means[0] - half, "group_high": means[0] + half}
        return Recommendation(
            policy,
            mean,
            mean - CREDIBLE * deviation,
            mean + CREDIBLE * deviation,
            best_observed=best,
            best_observed_value=value,
            **groups,
        )

    def _signed_moments(self, policies: Policies) -> tuple[Array, Array]:
        """Posterior mean, in the objective's own sign, and standard deviation at policies."""
        assert self._model is not None
        mean, variance = self._model.predict(policies)
        return self.composition.sign * mean, np.sqrt(variance)
