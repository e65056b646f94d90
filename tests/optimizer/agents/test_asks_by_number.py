"""Which beta_t an agent asks for, and which policy it then takes, against brute force."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer import (
    Composition,
    ConstantBeta,
    Exploration,
    FiniteBeta,
    Prior,
    SearchSpace,
    default_exploration,
    make_agent,
)

GRID = np.random.default_rng(0).random((60, 2))
KERNELS = [ConstantKernel(2.0) * RBF(0.25), RBF([0.4, 0.2])]
NOISE = np.array([0.01, 0.09])
PRIOR = Prior(KERNELS, NOISE, [0.3, 0.0])
WEIGHTS = np.array([1.0, -2.0])
TRUTH = np.stack([np.sin(5 * GRID[:, 0]), GRID[:, 1] ** 2], axis=1)


class Asked(Exploration):
    """Remembers every t that it is asked for."""

    def __init__(self):
        super().__init__(0.1, 1.0)
        self.rounds = []

    def _unscaled(self, t):
        self.rounds.append(t)
        return 4.0


def told(rows, values):
    """Posterior mean and standard deviation of the groups (n, 2) by scikit-learn; unknown values pass."""
    means, deviations = np.empty((2, len(GRID), 2))
    for j, kernel in enumerate(KERNELS):
        if len(rows):
            gp = GaussianProcessRegressor(kernel, alpha=NOISE[j], optimizer=None)
            gp.fit(GRID[rows], values[:, j] - PRIOR.means[j])
            means[:, j], deviations[:, j] = gp.predict(GRID, return_std=True)
        else:
            means[:, j], deviations[:, j] = 0.0, np.sqrt(kernel.diag(GRID))
    return means + PRIOR.means, deviations


def moments(rows, values):
    means, deviations = told(rows, values)
    return means @ WEIGHTS, np.sqrt(deviations**2 @ WEIGHTS**2)


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_round_t_is_asked_for_with_beta_t(name):
    exploration, g = Asked(), Composition(2, weights=WEIGHTS)
    agent = make_agent(name, SearchSpace(candidates=GRID), g, prior=PRIOR, exploration=exploration)
    for t in (1, 2, 3):
        row = agent.ask()
        assert exploration.rounds == [t]
        exploration.rounds.clear()
        lost = np.full((1, 2), np.nan) if t == 2 else TRUTH[row]  # a round that failed is a round
        agent.tell(row, lost if name == "d-gpucb" else g.unsigned(lost, row))
    agent.ask(4)
    assert exploration.rounds == [4, 5, 6, 7]
    exploration.rounds.clear()
    agent.ask(2, pending=[7, 8, 9])
    assert exploration.rounds == [7, 8]


@pytest.mark.parametrize("beta", [0.0, 1.0, 9.0])
def test_every_policy_asked_for_has_the_highest_upper_confidence_bound(beta):
    agent = make_agent(
        "d-gpucb",
        SearchSpace(candidates=GRID),
        Composition(2, weights=WEIGHTS),
        prior=PRIOR,
        exploration=ConstantBeta(beta),
    )
    rows = np.empty(0, dtype=int)
    for _ in range(8):
        mean, deviation = moments(rows, TRUTH[rows])
        row = agent.ask()
        assert row[0] == np.argmax(mean + np.sqrt(beta) * deviation)
        agent.tell(row, TRUTH[row])
        rows = np.append(rows, row)


def test_a_batch_is_asked_for_as_if_its_first_had_returned_their_means():
    """GP-BUCB (Desautels et al. 2014): the mean stays, the deviation falls, and beta_t goes on."""
    beta = FiniteBeta(60, delta=0.1, scale_down=5.0)
    agent = make_agent(
        "d-gpucb",
        SearchSpace(candidates=GRID),
        Composition(2, weights=WEIGHTS),
        prior=PRIOR,
        exploration=beta,
    )
    rows = np.array([3, 30, 41])
    agent.tell(rows, TRUTH[rows])
    mean, _ = moments(rows, TRUTH[rows])
    chosen = np.array([50])  # pending: asked for before, not told yet
    for t in (5, 6, 7, 8):
        at = np.append(rows, chosen)
        _, deviation = moments(at, TRUTH[at])
        root = np.sqrt(2 * np.log(60 * t**2 * np.pi**2 / 0.6) / 5)
        chosen = np.append(chosen, np.argmax(mean + root * deviation))
    assert agent.ask(4, pending=[50]).tolist() == chosen[1:].tolist()


@pytest.mark.parametrize(("sense", "sign"), [("maximize", 1.0), ("minimize", -1.0)])
@pytest.mark.parametrize("name", ["d-ei", "d-mpi"])
@pytest.mark.parametrize("seed", range(6))
def test_improvement_is_over_the_best_mean_at_an_observed_policy(name, sense, sign, seed):
    space = SearchSpace(candidates=GRID)
    agent = make_agent(name, space, Composition(2, weights=WEIGHTS, sense=sense), prior=PRIOR)
    rows = np.random.default_rng(seed).permutation(60)[: 4 + 5 * seed]
    agent.tell(rows, TRUTH[rows])
    mean, deviation = moments(rows, TRUTH[rows])
    z = (sign * mean - (sign * mean)[rows].max()) / deviation
    if name == "d-ei":
        best = np.argmax(deviation * (z * norm.cdf(z) + norm.pdf(z)))
    else:  # by a hundredth of the objective's deviation before any observation
        best = np.argmax(z - 0.01 * np.sqrt(2.0 + 4.0) / deviation)
    assert agent.ask()[0] == best


def test_the_margin_of_improvement_is_in_prior_deviations_of_the_objective():
    """Where functions vary by hundreds and were observed within a few, the margin decides."""
    differing = 0
    for seed in range(8):
        kernels = [ConstantKernel(9e4) * RBF(0.5), ConstantKernel(4e4) * RBF(0.5)]
        agent = make_agent(
            "d-mpi",
            SearchSpace(candidates=GRID),
            Composition(2, weights=WEIGHTS),
            prior=Prior(kernels, NOISE, [0.0, 0.0]),
        )
        rows = np.random.default_rng(seed).permutation(60)[:12]
        agent.tell(rows, TRUTH[rows])
        means, deviations = np.empty((2, len(GRID), 2))
        for j, kernel in enumerate(kernels):
            gp = GaussianProcessRegressor(kernel, alpha=NOISE[j], optimizer=None).fit(
                GRID[rows], TRUTH[rows, j]
            )
            means[:, j], deviations[:, j] = gp.predict(GRID, return_std=True)
        mean, deviation = means @ WEIGHTS, np.sqrt(deviations**2 @ WEIGHTS**2)
        gain = mean - mean[rows].max()
        best = np.argmax((gain - 0.01 * np.sqrt(9e4 + 4 * 4e4)) / deviation)
        assert agent.ask()[0] == best
        differing += best != np.argmax((gain - 0.01) / deviation)
    assert differing > 2


def test_default_schedules_are_the_papers_with_its_delta_and_scale():
    finite = default_exploration(SearchSpace(candidates=GRID))
    assert finite.beta(3) == pytest.approx(2 * np.log(60 * 9 * np.pi**2 / (6 * 0.1)) / 5)
    general = default_exploration(SearchSpace(candidates=GRID), 0.05, 2.0, groups=4)
    assert general.beta(3) == pytest.approx(2 * np.log(60 * 4 * 9 * np.pi**2 / (6 * 0.05)) / 2)


@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_the_second_of_a_batch_is_to_improve_on_what_is_believed_of_the_first(seed):
    """Expected improvement by scikit-learn, of a process that has seen its own mean there ."""
    grid = np.linspace(0, 1, 61)[:, None]
    kernel = ConstantKernel(1.0) * RBF([0.25])
    rng = np.random.default_rng(seed)
    rows = rng.choice(61, 4, replace=False)
    y = np.sin(7 * grid[rows, 0]) + rng.normal(0, 0.01, 4)
    prior = Prior([kernel], np.full(1, 1e-4), [0.0])
    agent = make_agent("d-ei", SearchSpace(candidates=grid), Composition(1, weights=[1.0]), prior=prior)
    agent.tell(rows, y[:, None])

    def improvement(rows, y, known):
        gp = GaussianProcessRegressor(kernel, alpha=1e-4, optimizer=None).fit(grid[rows], y)
        m, s = gp.predict(grid, return_std=True)
        z = (m - m[known].max()) / s
        return m, s * (z * norm.cdf(z) + norm.pdf(z))

    m, first = improvement(rows, y, rows)
    both = np.append(rows, first.argmax())
    others = np.arange(61) != first.argmax()
    second = np.where(others, improvement(both, np.append(y, m[first.argmax()]), both)[1], -1.0)
    stale = np.where(others, improvement(both, np.append(y, m[first.argmax()]), rows)[1], -1.0)
    np.testing.assert_array_equal(agent.ask(2), [first.argmax(), second.argmax()])
    assert second.argmax() != stale.argmax()
