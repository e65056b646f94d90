"""The published values of the flu model, and an integrator that shares no line with it."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from simulators import FluODE, SimulationError, check_environment, make
from simulators.population import survey

PUBLISHED = {
    (0.2, 0.2, 0.2, 0.2, 0.2): (1.0545157703, 1.7620824657, 0.4073924355, 0.0592275691, 0.1445859445),
    (0.3, 0.2, 0.12, 0.12, 0.12): (0.60471492, 1.72288791, 0.70340799, 0.10719372, 0.27530485),
    (0.12, 0.2, 0.3, 0.3, 0.3): (2.04052986, 1.88671325, 0.30212037, 0.04373736, 0.10463471),
}
EQUAL = np.full(5, 14.4 / 82)


@pytest.fixture(scope="module")
def treatment():
    return make("flu-ode", intervention="treatment", budget=None, bounds=(0, 1))


@pytest.fixture(scope="module")
def vaccination():
    return make("flu-ode")


def effective_r(env, x):
    """The spectral radius of `beta_ij S_i / (N_j removal_j)` (Diekmann, Heesterbeek & Metz 1990)."""
    if env.vaccinates:
        generation = (1 - env.efficacy * x)[:, None] * env.beta * env.infectious_period
    else:
        generation = env.beta / (x + 8e-8)
    return np.abs(np.linalg.eigvals(generation)).max()


def adaptive(env, x):
    """The sick days of a policy by SciPy's adaptive integrator, with R as a state of its own."""
    N, I0, J = env.population, env.initial_infected, len(env.groups)
    if env.intervention == "vaccination":
        S0, removal, deaths = N * (1 - x * env.efficacy) - I0, np.full(J, 1 / env.infectious_period), 0.0
    else:
        S0, removal, deaths = N - I0, np.asarray(x), 8e-8

    def slope(_, y):
        S, I, R, _ = y.reshape(4, J)  # noqa: E741
        infection = (env.beta @ (I / (S + I + R))) * S
        return np.concatenate([-infection, infection - (removal + deaths) * I, removal * I, I])

    start = np.concatenate([S0, I0, N - S0 - I0, np.zeros(J)])
    answer = solve_ivp(slope, (0, env.days), start, method="DOP853", rtol=1e-12, atol=1e-6)
    return answer.y[3 * J :, -1] / N.sum()


@pytest.mark.parametrize("x", PUBLISHED)
def test_treatment_reproduces_the_published_outcomes(treatment, x):
    assert treatment.expected([x])[0] == pytest.approx(PUBLISHED[x], rel=1e-6)


def test_treatment_reproduces_the_published_attack_rates(treatment):
    info = treatment.step([0.2] * 5).info
    published = [0.8052399, 0.8677419, 0.4142789, 0.2672537, 0.3179213]
    assert info["attack_rate"] == pytest.approx(published, abs=1e-6)
    assert info["attack_rate_total"] == pytest.approx(0.6855611, abs=1e-6)
    equal = treatment.step(EQUAL).info
    assert equal["attack_rate_total"] == pytest.approx(0.7418300, abs=1e-6)
    assert abs(equal["peak_day"] - 42.5) <= 1  # days are a step apart


def test_treatment_reproduces_the_published_totals(treatment):
    assert treatment.expected([EQUAL]).sum() == pytest.approx(4.2243078, rel=1e-6)
    infected = treatment.step([0.2] * 5).info["infected"]
    assert infected[0].sum() == pytest.approx(10_510.5)
    short = FluODE(intervention="treatment", budget=None, bounds=(0, 1), days=100, step_days=0.2)
    assert short.step([0.2] * 5).info["infected"][-1].sum() == pytest.approx(176_743.760, rel=1e-6)


def test_the_published_reproduction_number_is_0_4202_by_the_removal_rate(treatment):
    for x in (0.1, 0.2, 0.3):
        assert effective_r(treatment, np.full(5, x)) == pytest.approx(0.4202 / x, rel=3e-4)


def test_treatment_on_the_budget_plane_has_the_published_optimum():
    env = make("flu-ode", intervention="treatment")
    best = env.policy_space.project([0.1874, 0.1985, 0.1329, 0.1267, 0.1421])
    assert env.expected([best]).sum() == pytest.approx(4.0593483, abs=2e-4)
    others = np.array(
        [env.policy_space.project(x) for x in np.random.default_rng(0).uniform(0.12, 0.3, (200, 5))]
    )
    assert env.expected(others).sum(axis=1).min() > 4.0593
    assert env.current_policy is None


def test_vaccination_reproduces_the_planning_values(vaccination):
    env, coverage = vaccination, vaccination.current_policy
    assert env.r0 == pytest.approx(1.67, abs=0.005)
    assert effective_r(env, np.zeros(5)) == pytest.approx(env.r0)
    assert effective_r(env, coverage) == pytest.approx(1.28)
    doses = env.policy_space.constraint.ub[0]
    assert doses == pytest.approx(0.47, abs=0.005)
    assert doses == pytest.approx(coverage @ env.population / env.population.sum())
    policies = [np.zeros(5), coverage, np.full(5, doses), env.policy_space.project([0.967, 0.5303, 0, 0, 0])]
    nobody, practice, equal, best = env.expected(policies).sum(axis=1)
    assert nobody == pytest.approx(2.22, abs=0.005)
    assert practice == pytest.approx(1.06, abs=0.005)
    assert equal == pytest.approx(1.02, abs=0.005)
    assert best == pytest.approx(0.439, abs=0.0005)
    assert env.initial_infected.sum() / env.population.sum() == pytest.approx(0.0034, abs=5e-5)


def test_todays_practice_is_the_coverage_of_2012(vaccination):
    assert vaccination.current_policy.tolist() == [0.566, 0.35, 0.451, 0.662, 0.662]
    assert vaccination.current_policy_label == "coverage of 2012-13"
    nine = FluODE(groups=9).current_policy
    assert nine.tolist() == [0.566] * 4 + [0.35] * 2 + [0.451, 0.662, 0.662]
    assert FluODE(budget=0.2).current_policy is None


@pytest.mark.parametrize(
    ("options", "policies"),
    [
        ({}, [np.zeros(5), np.ones(5), np.eye(5)[0]]),
        ({"r0": 5.0}, [np.zeros(5)]),
        ({"r0": 0.5, "infectious_period": 10}, [np.zeros(5)]),
        ({"days": 30}, [np.zeros(5)]),
        ({"groups": 9}, [np.zeros(9)]),
        ({"contacts": "mistry-2021-oregon"}, [np.zeros(5)]),
        ({"intervention": "treatment"}, [np.full(5, 0.12), np.array([0.12, 0.12, 0.3, 0.3, 0.3])]),
        ({"intervention": "treatment", "bounds": (0, 1), "budget": None}, [np.zeros(5), 1 - np.eye(5)[0]]),
    ],
)
def test_outcomes_are_within_a_millionth_of_adaptive_integration(options, policies):
    env = FluODE(**options)
    exact = np.array([adaptive(env, x) for x in policies])
    assert env.expected(policies) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("options", [{}, {"groups": 9}, {"intervention": "treatment", "groups": 9}])
def test_a_policy_alone_and_among_a_thousand_others_has_the_same_bits(options):
    env, J = FluODE(**options), options.get("groups", 5)
    bounds = env.policy_space.bounds
    policies = np.random.default_rng(0).uniform(bounds.lb, bounds.ub, (1001, J))
    together = env.expected(policies)
    for k in (0, 1, 499, 500, 1000):
        assert np.array_equal(env.expected(policies[k : k + 1])[0], together[k])
    for n in (2, 3, 8, 501):
        assert np.array_equal(env.expected(policies[:n]), together[:n])
    quiet = FluODE(noise_variance=0, budget=None, **options)
    assert np.array_equal(quiet.step(policies[7]).values, together[7])
    assert np.array_equal(quiet.expected(policies[7:8])[0], together[7])
    assert np.array_equal(quiet.expected(policies[8:9])[0], together[8])


def test_a_step_is_the_expectation_plus_noise_of_the_stated_variance():
    env = FluODE(noise_variance=[0, 1, 4, 9, 16], step_days=2)
    expected = env.expected([np.full(5, 0.1)])[0]
    env.reset(0)
    noise = np.array([env.step(np.full(5, 0.1)).values for _ in range(200)]) - expected
    assert np.array_equal(noise[:, 0], np.zeros(200))
    assert noise[:, 1:].var(axis=0) == pytest.approx([1, 4, 9, 16], rel=0.35)
    assert env.step(np.full(5, 0.1)).noise_variance.tolist() == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("step_days", [8, 20])
def test_a_step_too_long_to_be_stable_is_a_simulation_error_with_its_policy(step_days):
    env = FluODE(r0=6, step_days=step_days)
    with pytest.raises(SimulationError, match="smaller step_days") as failure:
        env.step(np.full(5, 0.1))
    assert failure.value.policy.tolist() == [0.1] * 5


@pytest.mark.parametrize("options", [{}, {"intervention": "treatment"}, {"groups": 9, "noise_variance": 0}])
def test_the_flu_model_honours_the_contract(options):
    assert check_environment(FluODE(**options)) == []


def test_the_tables_agree_with_each_other():
    five, nine = survey.AGES[5], survey.AGES[9]
    parts = [slice(0, 4), slice(4, 6), slice(6, 7), slice(7, 8), slice(8, 9)]
    for column in ("population", "initial_infected", "noise_variance", "treatment_weights"):
        sums = [getattr(nine, column)[part].sum() for part in parts]
        assert sums == pytest.approx(getattr(five, column)), column
    contacts = survey.CONTACTS["del-valle-2013"]
    aggregated = np.array([[contacts[9][a, b].sum(axis=1).mean() for b in parts] for a in parts])
    differing = np.argwhere(np.abs(aggregated - contacts[5]) > 6e-3).tolist()
    assert differing == [[0, 4], [1, 4], [2, 3]]  # the three entries that the table's comment names
    shares = np.array([0.254, 0.395, 0.210, 0.046, 0.094])
    flows = survey.CONTACTS["mistry-2021-oregon"][5] * shares[:, None]
    assert flows == pytest.approx(flows.T, rel=0.02)
    assert flows.sum() == pytest.approx(12.3, abs=0.05)
