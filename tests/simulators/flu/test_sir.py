import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import simpson, solve_ivp

from simulators.flu import sir

POPULATION = np.array([4e5, 6e5, 2e5])
BETA = np.array([[0.30, 0.10, 0.02], [0.12, 0.25, 0.05], [0.05, 0.10, 0.12]])
INFECTED = np.array([[400.0], [100.0], [50.0]])


def season(beta=BETA, removal=0.25, days=200.0, n_steps=400, n=1, **options):
    infected = np.repeat(INFECTED, n, axis=1)
    susceptible = POPULATION[:, None] - infected
    rates = np.broadcast_to(removal, infected.shape)
    return sir.integrate(
        beta, POPULATION, susceptible, infected, rates, days=days, n_steps=n_steps, **options
    )


def adaptive(beta, removal, deaths, days):
    """The same dynamics written with R as a state of its own, by SciPy's adaptive integrator."""

    def slope(_, y):
        S, I, R, _ = y.reshape(4, 3)  # noqa: E741
        infection = (beta @ (I / (S + I + R))) * S
        return np.concatenate([-infection, infection - (removal + deaths) * I, removal * I, I])

    I0 = INFECTED[:, 0]
    start = np.concatenate([POPULATION - I0, I0, np.zeros(6)])
    answer = solve_ivp(slope, (0, days), start, method="DOP853", rtol=1e-11, atol=1e-7)
    return answer.y[:, -1].reshape(4, 3)


@pytest.mark.parametrize("deaths", [0.0, 8e-8, 0.02])
def test_the_integrator_agrees_with_scipy(deaths):
    removal = np.array([0.1, 0.25, 0.4])
    S, I, _, A = adaptive(BETA, removal, deaths, 60.0)  # noqa: E741
    end = season(removal=removal[:, None], deaths=deaths, days=60.0, n_steps=240)
    assert end.susceptible[:, 0] == pytest.approx(S, rel=1e-6)
    assert end.infected[:, 0] == pytest.approx(I, rel=1e-6)
    assert end.infected_days[:, 0] == pytest.approx(A, rel=1e-6)


def test_halving_the_step_divides_the_error_by_about_sixteen():
    exact = season(days=60.0, n_steps=4000).infected_days
    errors = [np.abs(season(days=60.0, n_steps=n).infected_days - exact).max() for n in (60, 120)]
    assert 12 < errors[0] / errors[1] < 20


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.05))
def test_people_are_conserved(seed, deaths):
    """Susceptible, infected, removed and dead always add up to the population of the first day."""
    rng = np.random.default_rng(seed)
    removal = rng.uniform(0.05, 0.5, (3, 1))
    end = season(beta=rng.uniform(0, 0.5, (3, 3)), removal=removal, deaths=deaths)
    gone = (removal + deaths) * end.infected_days
    assert (end.susceptible + end.infected + gone)[:, 0] == pytest.approx(POPULATION, rel=1e-11)
    assert (end.susceptible >= 0).all()
    assert (end.infected >= 0).all()


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 0.5))
def test_the_end_of_an_epidemic_satisfies_the_final_size_relation(seed, removal):
    """log(S_i(inf) / S_i(0)) = -sum_j (beta_ij / gamma) (R_j(inf) - R_j(0)) / N_j, whatever the course."""
    rng = np.random.default_rng(seed)
    shape = rng.uniform(0.05, 1.0, (3, 3))
    beta = shape * rng.uniform(1.5, 4.0) * removal / np.abs(np.linalg.eigvals(shape)).max()
    end = season(beta=beta, removal=removal, days=150 / removal, n_steps=6000)
    assert end.infected.max() < 1e-3
    removed = POPULATION - end.susceptible[:, 0]  # nobody was removed on the first day
    left = np.log(end.susceptible[:, 0] / (POPULATION - INFECTED[:, 0]))
    assert left == pytest.approx(-(beta / removal) @ (removed / POPULATION), rel=1e-6)


def test_a_policy_alone_and_among_others_has_the_same_bits():
    rng = np.random.default_rng(0)
    removal = rng.uniform(0.1, 0.5, (3, 2 * sir.BLOCK + 1))
    together = season(removal=removal, n=removal.shape[1], n_steps=100)
    for k in (0, 1, 2, sir.BLOCK - 1, sir.BLOCK, 2 * sir.BLOCK):
        alone = season(removal=removal[:, k : k + 1], n_steps=100)
        assert np.array_equal(alone.infected_days[:, 0], together.infected_days[:, k])


def test_recording_the_curve_changes_no_bit_and_its_area_is_the_sick_days():
    silent, recorded = season(), season(record=True)
    assert silent.curve.size == silent.days.size == 0
    assert np.array_equal(silent.infected_days, recorded.infected_days)
    assert recorded.days[[0, -1]].tolist() == [0.0, 200.0]
    assert np.array_equal(recorded.curve[0], INFECTED)
    assert np.array_equal(recorded.curve[-1], recorded.infected)
    area = simpson(recorded.curve[:, :, 0], x=recorded.days, axis=0)
    assert area == pytest.approx(recorded.infected_days[:, 0], rel=1e-6)
