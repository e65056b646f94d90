"""What a step states of its noise arrives as it is: nothing enters as zero, and correlations are kept."""

import numpy as np
import pytest
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF

import bridges
from bridges.feedback import composed_noise, observation
from bridges.priors.samples import mean_noise
from optimizer import Composition, Prior, SearchSpace, make_agent
from optimizer.agents.history import History, Told
from scenarios.study.records import StoredRound
from simulators import Environment, Outcomes, PolicySpace, SimulationError, check_environment
from simulators.contract.observed import checked
from simulators.contract.validation import noise_of_groups

SIGMA = np.array([[0.5, 0.3, 0.0], [0.3, 0.4, 0.1], [0.0, 0.1, 0.2]])


class World(Environment):
    groups = ("a", "b", "c")
    group_units = ("", "", "")
    objective_unit = ""
    sense = "maximize"
    policy_space = PolicySpace(["x"], [""], bounds=Bounds([0.0], [1.0]))
    stated = SIGMA
    lost = ()

    def step(self, policy):
        values = np.array([1.0, 2.0, 3.0]) + self.rng.multivariate_normal(np.zeros(3), SIGMA)
        values[list(self.lost)] = np.nan
        return Outcomes(values, None if self.stated is None else np.array(self.stated))

    def weights(self, policies):
        return np.tile([1.0, -2.0, 0.5], (len(policies), 1))


class Product(World):
    def weights(self, policies):
        return None

    def compose(self, outcomes, policies):
        return np.asarray(outcomes).prod(axis=-1)


@pytest.mark.parametrize("kind", [World, Product])
def test_an_aggregate_agents_noise_is_that_of_the_composed_value(kind):
    """Against the variance of many composed values."""
    world = kind()
    at = np.array([[0.5]])
    mean = np.array([[1.0, 2.0, 3.0]])
    variance = composed_noise(world, mean, SIGMA[None], at)[0]
    small = 1e-4 * SIGMA
    draws = mean + np.random.default_rng(0).multivariate_normal(np.zeros(3), small, 200_000)
    sampled = world.compose(draws, np.tile(at, (200_000, 1))).var() / 1e-4
    assert variance == pytest.approx(sampled, rel=0.02)
    independent = composed_noise(world, mean, np.diag(SIGMA)[None], at)[0]
    assert abs(independent - sampled) > 0.2 * sampled


def test_a_decomposed_agent_is_told_the_diagonal():
    agent = bridges.make_agent("d-gpucb", World(), prior=Prior([RBF(0.5)] * 3, np.ones(3), [0.0] * 3))
    _, noise = observation(agent, World(), Outcomes(np.ones(3), SIGMA), [0.5], 0.0)
    assert noise == pytest.approx(np.diag(SIGMA)[None])


def test_what_is_missing_has_no_noise_rather_than_none_at_all():
    values = np.array([1.0, np.nan, 2.0])
    assert checked(Outcomes(values, np.array([0.1, 0.2, 0.3])), "abc").noise_variance == pytest.approx(
        [0.1, np.nan, 0.3], nan_ok=True
    )
    noise = checked(Outcomes(values, SIGMA), "abc").noise_variance
    assert np.isnan(noise[1]).all() and np.isnan(noise[:, 1]).all()
    assert noise[np.ix_([0, 2], [0, 2])] == pytest.approx(SIGMA[np.ix_([0, 2], [0, 2])])
    observed = [
        Outcomes(values, np.array([0.1, np.nan, 0.3])),
        Outcomes(np.ones(3), np.array([0.3, 0.25, 0.3])),
    ]
    assert mean_noise(observed) == pytest.approx([0.2, 0.25, 0.3])  # 0.25, and not the mean of it and 0


def test_a_failed_or_partial_round_changes_nobodys_stated_noise():
    history = History(np.empty((0, 1)), 2)
    x = np.array([[0.5]])
    history.add(Told(x, np.array([[1.0, 2.0]]), np.array([[0.01, 0.25]]), None))
    for _ in range(3):
        history.add(Told(x, np.array([[1.0, np.nan]]), np.array([[0.01, np.nan]]), None))
    history.add(Told(x, np.full((1, 2), np.nan), None, None))
    assert np.nanmean(history.noise, axis=0) == pytest.approx([0.01, 0.25])


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("name", ["d-gpucb", "d-ts"])
def test_an_agent_takes_its_own_noise_where_an_observation_states_none(name, finite):
    grid = np.linspace(0, 1, 9)[:, None]
    space = SearchSpace(candidates=grid) if finite else SearchSpace(Bounds([0.0], [1.0]))
    prior = Prior([RBF(0.5)] * 2, np.array([0.3, 0.7]), [0.0, 0.0])
    agent = make_agent(name, space, Composition(2), prior=prior)
    policy = [4] if finite else grid[[4]]
    agent.tell(policy, [[1.0, 2.0]], [[np.nan, 0.2]])
    means, _ = agent.belief.model.predict_groups(agent.as_policies(policy))
    assert means[0] == pytest.approx([1.0 / 1.3, 2.0 / 1.2])


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (np.ones(2), "3 variances or a 3 x 3 covariance; got shape"),
        ([0.1, -0.1, 0.1], "not negative"),
        (SIGMA + np.array([[0, 0.1, 0], [0, 0, 0], [0, 0, 0]]), "symmetric"),
        ([[1, 2, 0], [2, 1, 0], [0, 0, 1]], "no eigenvalue below 0; the least is -1"),
        ([[np.inf, 0, 0], [0, 1, 0], [0, 0, 1]], "finite"),
    ],
)
def test_what_is_no_covariance_is_refused_in_one_line(noise, message):
    with pytest.raises(ValueError, match=message) as caught:
        noise_of_groups("noise_variance", noise, 3)
    assert "\n" not in str(caught.value)
    with pytest.raises(SimulationError, match="noise_variance"):
        checked(Outcomes(np.ones(3), np.array(noise)), "abc")

    class Wrong(World):
        stated = noise

    assert any("noise_variance" in finding for finding in check_environment(Wrong()))


def test_the_checker_takes_a_covariance():
    assert not [finding for finding in check_environment(World()) if "noise_variance" in finding]


def test_a_covariance_is_stored_and_read_again():
    world = World()
    agent = bridges.make_agent("random", world)
    (one,) = bridges.Loop(world, agent, 1).run(1)
    record = StoredRound.of(1, "random", one)
    assert StoredRound.stored(record.columns()).as_round().noise_variance == pytest.approx(SIGMA)


class Root(World):
    """A cube root of the first group, whose slope at zero is infinite, plus the second."""

    def weights(self, policies):
        return None

    def compose(self, outcomes, policies):
        return np.cbrt(outcomes[..., 0]) + outcomes[..., 1]

    def gradient(self, outcomes, policies):
        with np.errstate(divide="ignore"):
            steep = 1 / (3 * np.cbrt(outcomes[..., 0]) ** 2)
        return np.stack([steep, np.ones_like(steep), np.zeros_like(steep)], axis=-1)


@pytest.mark.parametrize("whole", [False, True])
def test_at_a_kink_the_slope_is_the_change_over_one_deviation_to_either_side(whole):
    """Of the cube root about zero: 2 cbrt(s) over 2 s, from a variance and not from a deviation."""
    sigma = SIGMA if whole else np.diag(np.diag(SIGMA))
    s = np.array([np.cbrt(np.sqrt(0.5)) / np.sqrt(0.5), 1.0, 0.0])
    values, policy = np.array([[0.0, 2.0, 3.0]]), np.array([[0.5]])
    noise = sigma[None] if whole else np.diag(sigma)[None]
    assert composed_noise(Root(), values, noise, policy) == pytest.approx(s @ sigma @ s)
    certain = np.array([[0.0, 0.4, 0.2]])  # a group that is known exactly adds no noise
    assert composed_noise(Root(), values, certain, policy) == pytest.approx(0.4)
