"""The integrator with stages, beside SciPy's adaptive one and the final-size relation."""

import numpy as np
import pytest
from countries import country, ode
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from simulators.flu import seir, sir

POPULATION = np.array([4e5, 6e5, 2e5])
BETA = np.array([[0.30, 0.10, 0.02], [0.12, 0.25, 0.05], [0.05, 0.10, 0.12]])
INFECTED = np.array([400.0, 100.0, 50.0])
IMMUNE = np.array([0.1, 0.3, 0.2])
REMOVAL = 0.25
RISK = np.array([0.01, 0.02, 0.1])


def susceptible(n=1):
    return np.repeat((POPULATION * (1 - IMMUNE) - INFECTED)[:, None], n, axis=1)


def course(stages, days=120.0, n_steps=1200, n=1, **options):
    first = np.repeat(INFECTED[:, None], n, axis=1)
    return seir.integrate(
        BETA, POPULATION, susceptible(n), first, REMOVAL, stages, days=days, n_steps=n_steps, **options
    )


def adaptive(stages, days, dense=False):
    """The same written with fractions of each compartment, R as a state of its own."""
    sigma = 1 / stages.latent if stages.latent else None
    risk = np.zeros(3) if stages.hospitalisation is None else stages.hospitalisation

    def slope(_, y):
        S, E, I, R, V, H, A, C = y.reshape(8, 3)  # noqa: E741
        catching = S * (BETA @ (I / POPULATION))
        onset = sigma * E if sigma else catching
        return np.concatenate(
            [
                R / stages.waning + V / stages.vaccine_waning - catching,
                catching - onset,
                onset - REMOVAL * I,
                REMOVAL * I - R / stages.waning,
                -V / stages.vaccine_waning,
                risk * onset - H / stages.stay,
                I,
                catching,
            ]
        )

    zero = np.zeros(3)
    start = [susceptible()[:, 0], zero, INFECTED, zero, POPULATION * IMMUNE, zero, zero, zero]
    return solve_ivp(
        slope, (0, days), np.concatenate(start), method="DOP853", rtol=1e-10, atol=1e-6, dense_output=dense
    )


@pytest.mark.parametrize(
    "stages",
    [
        seir.Stages(latent=1.9),
        seir.Stages(latent=0.5, waning=60.0),
        seir.Stages(vaccine_waning=30.0),
        seir.Stages(latent=3.0, waning=200.0, vaccine_waning=90.0, hospitalisation=RISK, stay=5.0),
        seir.Stages(hospitalisation=RISK, stay=2.0),
    ],
)
def test_the_integrator_agrees_with_scipy(stages):
    found = course(stages, record="SEIVH")
    exact = adaptive(stages, 120.0).y[:, -1].reshape(8, 3)
    S, E, I, R, V, H, A, C = exact  # noqa: E741
    for letter, state in zip("SEIVH", (S, E, I, V, H), strict=True):
        assert found.curves[letter][-1, :, 0] == pytest.approx(state, rel=1e-6, abs=1e-4), letter
    assert found.infected_days[:, 0] == pytest.approx(A, rel=1e-7)
    assert found.infections[:, 0] == pytest.approx(C, rel=1e-7)
    assert found.least[:, 0] == pytest.approx(np.min([S, E, I, V, R], axis=0), rel=1e-5, abs=1e-3)


def test_without_stages_it_is_the_sir_model():
    plain = sir.integrate(
        BETA,
        POPULATION,
        susceptible(),
        INFECTED[:, None],
        np.full((3, 1), REMOVAL),
        days=120.0,
        n_steps=1200,
    )
    staged = course(seir.Stages())
    assert staged.infected_days == pytest.approx(plain.infected_days, rel=1e-12)
    assert susceptible() - staged.infections == pytest.approx(plain.susceptible, rel=1e-12)


def test_halving_the_step_divides_the_error_by_about_sixteen():
    stages = seir.Stages(latent=2.0, waning=100.0)
    exact = course(stages, days=60.0, n_steps=8000).infected_days
    errors = [np.abs(course(stages, days=60.0, n_steps=n).infected_days - exact).max() for n in (120, 240)]
    assert 12 < errors[0] / errors[1] < 20


def test_beds_at_the_peak_are_those_of_the_day_on_which_most_are_taken_in_all():
    stages = seir.Stages(latent=2.0, hospitalisation=RISK, stay=6.0)
    times = np.linspace(0, 200, 200_001)
    beds = adaptive(stages, 200.0, dense=True).sol(times)[15:18]
    top = np.argmax(beds.sum(axis=0))
    found = course(stages, days=200.0, n_steps=400).peak_beds[:, 0]
    assert found == pytest.approx(beds[:, top], rel=1e-4)
    assert found.sum() == pytest.approx(beds.sum(axis=0).max(), rel=1e-6)
    # Not each group's own peak: those are on other days, and more together.
    assert beds.max(axis=1).sum() > found.sum() * (1 + 1e-5)


def test_a_policy_alone_and_among_others_has_the_same_bits():
    stages = seir.Stages(latent=2.0, waning=100.0, hospitalisation=RISK, stay=6.0)
    rng = np.random.default_rng(0)
    S0 = susceptible(seir.BLOCK + 3) * rng.uniform(0.2, 1.0, seir.BLOCK + 3)
    I0 = np.repeat(INFECTED[:, None], seir.BLOCK + 3, axis=1)

    def run(rows):
        return seir.integrate(
            BETA, POPULATION, S0[:, rows], I0[:, rows], REMOVAL, stages, days=90.0, n_steps=90, record="I"
        )

    together = run(slice(None))
    for k in (0, 1, seir.BLOCK - 1, seir.BLOCK, seir.BLOCK + 2):
        alone = run(slice(k, k + 1))
        for name in ("infected_days", "infections", "peak_beds"):
            assert np.array_equal(getattr(alone, name)[:, 0], getattr(together, name)[:, k]), name
        assert np.array_equal(alone.curves["I"][..., 0], together.curves["I"][..., k])


@settings(max_examples=15, deadline=None)
@given(st.floats(0, 4), st.floats(20, 1000), st.floats(20, 1000))
def test_nobody_is_lost(latent, waning, vaccine_waning):
    stages = seir.Stages(latent if latent > 0.3 else 0.0, waning, vaccine_waning)
    found = course(stages, n_steps=600, record="SEIV")
    inside = sum(found.curves[letter] for letter in "SEIV")
    assert (inside <= POPULATION[:, None] * (1 + 1e-12)).all()
    assert (found.least >= -1e-6).all()


def final_size(env, immune):
    """Who is ever infected, by a fixed point of log(S(inf) / S(0)) = -sum_j beta_ij D A_j / N_j."""
    S0 = env.population * (1 - immune) - env.initial_infected
    A = env.population * 0.9
    for _ in range(20_000):
        force = env.beta @ (A / env.population) * env.infectious_period
        A, before = S0 * -np.expm1(-force) + env.initial_infected, A
        if np.abs(A - before).max() < 1e-7:
            break
    return A


@pytest.mark.parametrize("J", [1, 5, 40])
@pytest.mark.parametrize("latent_period", [0.0, 2.0])
def test_the_end_of_a_season_is_its_final_size_with_and_without_a_latent_period(J, latent_period):
    env = ode(
        J,
        columns={"susceptibility": np.linspace(0.5, 1, J), "infectivity": np.linspace(1, 0.7, J)},
        latent_period=latent_period,
        days=1500,
        r0=1.8,
        noise_variance=0,
    )
    x = np.linspace(0.1, 0.6, J)
    infections = env.step(x).info["infections"]
    assert infections == pytest.approx(final_size(env, 0.4 * x), rel=1e-6)


@pytest.mark.parametrize(("r0", "attack"), [(1.2, 0.3137), (1.5, 0.5828), (2.0, 0.7968), (3.0, 0.9405)])
def test_one_group_has_the_attack_rates_of_kermack_and_mckendrick(r0, attack):
    """The roots of 1 - z = exp(-r0 z), as textbooks print them."""
    assert brentq(lambda z: 1 - z - np.exp(-r0 * z), 1e-6, 1) == pytest.approx(attack, abs=5e-5)
    env = ode(1, r0=r0, initial_infected=1e-3, days=4000)
    assert env.step([0.0]).info["attack_rate_total"] == pytest.approx(attack, abs=1e-4)


@pytest.mark.parametrize(("latent", "period"), [(0.0, 4.0), (2.0, 4.0), (1.6, 2.4)])
def test_an_epidemic_grows_as_wallinga_and_lipsitch_say(latent, period):
    """R0 = (1 + r latent) (1 + r period): Proceedings of the Royal Society B 274:599 (2007)."""
    env = ode(3, r0=1.7, latent_period=latent, infectious_period=period, initial_infected=1e-12, days=150)
    info = env.step([0.0] * 3).info
    total = info["infected"].sum(axis=1)
    late = np.searchsorted(info["days"], [100, 149])
    growth = np.diff(np.log(total[late]))[0] / np.diff(info["days"][late])[0]
    assert (1 + growth * latent) * (1 + growth * period) == pytest.approx(1.7, rel=1e-4)


def test_immunity_that_wanes_brings_more_infections_and_never_fewer():
    one = country(5)
    x = np.full(5, 0.5)
    sizes = [
        ode(5, **options).step(x).info["infections"]
        for options in ({}, {"vaccine_waning_period": 365.0}, {"waning_period": 90.0})
    ]
    assert (sizes[1] > sizes[0]).all() and (sizes[2] > sizes[0]).all()
    assert (sizes[0] < one.persons).all()


@pytest.mark.parametrize(
    "options",
    [
        {"latent_period": 2.0},
        {"latent_period": 0.3, "r0": 3.0},
        {"outcome": "peak beds", "latent_period": 1.0},
    ],
)
def test_the_usual_step_is_within_a_millionth(options):
    columns = {"hospitalisation": np.full(5, 0.01)}
    x = np.random.default_rng(0).uniform(0, 0.5, (3, 5))
    usual = ode(5, columns=columns, **options).expected(x)
    fine = ode(5, columns=columns, **options, step_days=0.05).expected(x)
    assert usual == pytest.approx(fine, rel=2e-5 if "outcome" in options else 1e-6)
