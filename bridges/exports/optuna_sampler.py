"""Our agents as a sampler of Optuna: the objective reports every group's outcome, and returns their total.

>>> def objective(trial):
...     x = trial.suggest_float("x", 0, 1)
...     outcomes = {"children": (x - 0.2) ** 2, "adults": (x - 0.6) ** 2}
...     report_outcomes(trial, outcomes)
...     return sum(outcomes.values())
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import LinearConstraint

from bridges.environments.answers import group_names, read_answer
from bridges.exports.optuna_space import OptunaSpace, distribution_of
from bridges.extras import missing
from bridges.feedback import composition as composition_of
from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.names import GP_AGENTS, make_agent
from optimizer.arrays import Array
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.prior.prior import Prior
from optimizer.space.polytope import stack_rows
from simulators.contract.environment import Environment, SimulationError

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial


try:
    from optuna.distributions import BaseDistribution, CategoricalDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import IntersectionSearchSpace
    from optuna.study import StudyDirection
    from optuna.trial import TrialState
except ModuleNotFoundError as error:
    raise missing(error, "the Optuna sampler") from error

OUTCOMES, NOISE, ASKED = "policyloop:outcomes", "policyloop:noise_variance", "policyloop:asked"
"""Attributes of a trial: what was reported by group, its noise variances, and the coordinates asked for."""

AGREE = 1e-6
"""Relative difference by which an objective's value may differ from the composition of its outcomes."""


def report_outcomes(
    trial: Trial,
    outcomes: Mapping[str, float | None] | Sequence[float],
    noise_variance: Mapping[str, float] | Sequence[float] | None = None,
) -> None:
    """Report what a trial did to every group; to be called in the objective.

    Parameters
    ----------
    trial : optuna.trial.Trial
        The trial.
    outcomes : mapping of group to number, or sequence of J numbers
        In the order of the sampler's groups; nan or None where a group is missing. A trial that is pruned
        afterwards teaches those groups that it reported.
    noise_variance : mapping or sequence, optional
        Variance of each outcome's noise, where it is known.

    Raises
    ------
    ValueError
        If a value is no number; names its group.
    """
    trial.set_user_attr(OUTCOMES, _plain("outcome", outcomes))
    if noise_variance is not None:
        trial.set_user_attr(NOISE, _plain("noise_variance", noise_variance))


class AgentSampler(BaseSampler):
    """A GP agent that samples an Optuna study's parameters.

    Works with `study.optimize`, with `n_jobs` and with several processes on one storage: trials that are
    still running count as if they had returned their posterior mean. Failed and pruned trials teach nothing,
    but for those groups that a pruned one reported; nor do trials of others that are between the steps of the
    search space, or beyond it.

    Parameters
    ----------
    groups : sequence of str
        Names of the J groups that the objective reports (`report_outcomes`).
    search_space : mapping of str to optuna distribution, optional
        Parameters of any kind, by the steps and choices that they have; log-scaled integers on at most
        `optuna_space.LOG_VALUES` values. Without it, those that all completed trials had in common; the first
        trial is then random.
    agent : str, default="d-gpucb"
        One of `optimizer.GP_AGENTS`. Those with aggregate feedback learn from the objective's value, and need
        no outcomes.
    weights : array_like of shape (J,), or callable, default=1.0
        The objective is `sum_j weights_j * outcome_j` (Definition 1): constants, or a function from policies
        (n, d), in the order of the search space, to weights (n, J). A policy's entries are the parameters'
        values; of a categorical one its choice's place, from 0.
    compose : callable, optional
        Instead, any function of outcomes (n, J) and policies (n, d) that gives the objective (n,), with a
        value for every outcome (Definition 2).
    constraint : scipy.optimize.LinearConstraint, optional
        On the parameters in the order of `search_space`, such as a budget. A log-scaled or categorical one
        has the weight 0 there.
    prior : Prior, optional
        Priors of the groups; without one, the agent learns kernels from the study.
    seed : int, default=0
        Of all that is drawn.

    Raises
    ------
    ValueError
        If the agent is unknown, groups are impossible, or the constraint has no search space, or weighs what
        has no size.
    """

    def __init__(
        self,
        groups: Sequence[str],
        search_space: Mapping[str, BaseDistribution] | None = None,
        *,
        agent: str = "d-gpucb",
        weights: ArrayLike | Callable[[Array], Array] = 1.0,
        compose: Callable[[Array, Array], Array] | None = None,
        constraint: LinearConstraint | None = None,
        prior: Prior | None = None,
        seed: int = 0,
    ) -> None:
        if agent not in GP_AGENTS:
            raise ValueError(f"agent={agent!r}; accepted: {', '.join(GP_AGENTS)}")
        self.groups: tuple[str, ...] = group_names([groups] if isinstance(groups, str) else groups)
        self.agent = agent
        self._weights, self._compose, self._constraint = weights, compose, constraint
        self._prior, self._seed = prior, seed
        self._known: BaseComposition | None = None
        self._composition("minimize")  # what cannot be composed is refused here
        self._space = None if search_space is None else dict(search_space)
        _check_space(self._space, constraint)
        self._start()

    @classmethod
    def of(cls, environment: Environment, **options: Any) -> AgentSampler:
        """The sampler of an environment's policies: its labels are the parameters.

        Parameters
        ----------
        environment : Environment
            Gives groups, search space, constraint and composition. Create the study with its sense.
        **options
            As for the constructor: `agent`, `prior`, `seed`.

        Raises
        ------
        ValueError
            If its policies are candidates, which no distribution of Optuna describes.

        Notes
        -----
        Whole numbers are integer parameters, categories categorical ones of their names.
        """
        space = environment.policy_space
        if space.bounds is None:
            raise ValueError(f"{environment.name} has candidates for policies; accepted: a bounded space")
        levers = zip(space.labels, space.levers, strict=True)
        made = cls(
            environment.groups,
            {label: distribution_of(lever) for label, lever in levers},
            constraint=space.constraint,
            **options,
        )
        made._known = composition_of(environment)
        return made

    def _start(self) -> None:
        self._independent = RandomSampler(seed=self._seed)
        self._lock = threading.Lock()
        self._study: Any = None
        self._common = IntersectionSearchSpace()
        self._learner: GPAgent | None = None
        self._seen: set[int] = set()
        self._warned: set[str] = set()

    def __getstate__(self) -> dict[str, Any]:
        passing = ("_independent", "_lock", "_study", "_common", "_learner", "_seen", "_warned")
        return {key: value for key, value in vars(self).items() if key not in passing}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start()

    def reseed_rng(self) -> None:
        """Draw anew in another worker what is sampled independently."""
        self._independent.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Refuse a study of several directions."""
        if len(study.directions) > 1:
            raise ValueError(
                f"directions: the study has {len(study.directions)}; accepted: one, that of the "
                "objective which the groups make up"
            )

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that the agent chooses."""
        if self._space is not None:
            return self._space
        with self._lock:
            found = self._common.calculate(study)
        return {label: one for label, one in found.items() if not one.single()}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A random value, for parameters that the agent does not choose."""
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The agent's next policy, after it was told all trials that have finished."""
        if not search_space:
            return {}
        with self._lock:
            # Not a cached list: other processes may share the storage.
            trials = study.get_trials(deepcopy=False)
            learner = self._taught(study, search_space, trials)
            running = [t for t in trials if t.state is TrialState.RUNNING and t.number != trial.number]
            asked = [t.system_attrs[ASKED] for t in running if ASKED in t.system_attrs]
            asked = [x for x in asked if len(x) == len(search_space)]
            policy = learner.ask(1, pending=np.array(asked, dtype=float))[0]
            study._storage.set_trial_system_attr(trial._trial_id, ASKED, policy.tolist())
        return OptunaSpace(search_space).parameters(policy)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Check what was reported, and warn once of each parameter that is not sampled as the trial asks.

        A completed trial has to report every group as a number, and return their composition.
        """
        self._warn_of(trial.distributions)
        if state is not TrialState.COMPLETE or GP_AGENTS[self.agent][0] == "aggregate":
            return
        if OUTCOMES not in trial.user_attrs:
            raise ValueError(
                f"trial {trial.number} reported no outcomes: the objective has to call "
                f"report_outcomes(trial, ...) with one number for each of {', '.join(self.groups)}"
            )
        try:
            outcomes = read_answer(trial.user_attrs[OUTCOMES], self.groups)
        except SimulationError as error:
            raise ValueError(f"trial {trial.number}: {error}") from error
        space = self._space or self.infer_relative_search_space(study, trial)
        coded = OptunaSpace(space)
        if values is None or np.isnan(outcomes).any() or coded.coordinates(trial.params) is None:
            return
        policies = coded.values(trial.params)[None]
        g = float(self._composition("maximize").unsigned(outcomes[None], policies)[0])
        if not np.isclose(g, values[0], rtol=AGREE, atol=AGREE * np.abs(outcomes).max()):
            raise ValueError(
                f"trial {trial.number} returned {values[0]:.12g}, but its outcomes compose to {g:.12g}: "
                "give the sampler the objective's weights, or compose"
            )

    def _warn_of(self, suggested: Mapping[str, BaseDistribution]) -> None:
        for label, distribution in suggested.items():
            if label in self._warned or distribution.single():
                continue
            if self._space is None or self._space.get(label) == distribution:
                continue
            if label in self._space:
                problem = (
                    f"is {self._space[label]} in the search space, but the trial suggests {distribution}"
                )
            else:
                problem = "is not in the search space: its values are random"
            self._warned.add(label)
            warnings.warn(f"parameter {label!r} {problem}", stacklevel=2)

    def _composition(
        self, sense: Literal["maximize", "minimize"], space: OptunaSpace | None = None
    ) -> BaseComposition:
        """The composition of outcomes at coordinates of a space; without one, at parameters' values."""
        J, weights = len(self.groups), self._weights
        if self._known is not None:
            return self._known
        if self._compose is not None:
            return GeneralComposition(
                J, self._compose if space is None else space.of_numbers(self._compose), sense=sense
            )
        if callable(weights) and space is not None:
            weights = space.of_numbers(weights)
        return Composition(J, weights=weights, sense=sense)

    def _taught(self, study: Study, space: dict[str, BaseDistribution], trials: list[FrozenTrial]) -> GPAgent:
        """The agent, told what it has not been told yet; a new one for another study or search space."""
        now, coded = (id(study._storage), study._study_id, list(space.items())), OptunaSpace(space)
        if self._learner is None or now != self._study:
            self._study, self._seen = now, set()
            sense: Literal["maximize", "minimize"] = (
                "maximize" if study.direction is StudyDirection.MAXIMIZE else "minimize"
            )
            g = self._composition(sense, coded)
            if (g.sign > 0) != (sense == "maximize"):
                raise ValueError(
                    f"direction={sense!r} of the study; the environment's objective has the other"
                )
            made = make_agent(
                self.agent,
                coded.search_space(self._constraint),
                g,
                prior=self._prior,
                kernel="own" if isinstance(g, GeneralComposition) else "composed",
                seed=self._seed,
            )
            assert isinstance(made, GPAgent)
            self._learner = made
        for trial in trials:
            if not trial.state.is_finished() or trial.number in self._seen:
                continue
            self._seen.add(trial.number)
            policy = coded.coordinates(trial.params)
            if policy is not None and coded.may_be_told(self._learner.space, policy):
                self._tell(self._learner, policy[None], trial)
        return self._learner

    def _tell(self, learner: GPAgent, policy: Array, trial: FrozenTrial) -> None:
        complete = trial.state is TrialState.COMPLETE
        if learner.feedback == "aggregate":
            learner.tell(policy, [trial.value if complete and trial.value is not None else np.nan])
            return
        outcomes, noise = np.full(len(self.groups), np.nan), None
        if trial.state is not TrialState.FAIL and OUTCOMES in trial.user_attrs:
            try:
                outcomes = read_answer(trial.user_attrs[OUTCOMES], self.groups)
            except SimulationError:
                return  # what a trial of others means by it, nobody knows
            if NOISE in trial.user_attrs:
                noise = read_answer(trial.user_attrs[NOISE], self.groups)
                noise = np.where(np.isnan(outcomes), 0.0, noise)[None]
        learner.tell(policy, outcomes[None], noise)


class DGPUCBSampler(AgentSampler):
    """`AgentSampler` with the agent D-GPUCB."""


def _check_space(space: dict[str, Any] | None, constraint: LinearConstraint | None) -> None:
    if constraint is None:
        return
    if space is None:
        raise ValueError("constraint: accepted only with a search_space, whose order is its own")
    rows, _, _ = stack_rows([constraint], len(space))
    for (label, distribution), column in zip(space.items(), rows.T, strict=True):
        sized = not isinstance(distribution, CategoricalDistribution) and not distribution.log
        if not sized and column.any():
            raise ValueError(
                f"constraint: {label!r} is {distribution}, which has no size there; accepted: the weight 0"
            )


def _plain(what: str, values: Any) -> Any:
    """Numbers that JSON takes, by group or in order."""
    if isinstance(values, Mapping):
        return {str(group): _number(f"{what} of {group!r}", value) for group, value in values.items()}
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{what}s={values!r} must be one number a group")
    return [_number(f"{what} {index}", value) for index, value in enumerate(values)]


def _number(what: str, value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, SupportsFloat) or np.size(value) != 1:  # type: ignore[arg-type]
        raise ValueError(f"{what} is {value!r}; accepted: a number, nan or None")
    return None if np.isnan(number := float(value)) else number
