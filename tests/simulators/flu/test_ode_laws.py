"""Laws that hold for every flu season, whatever its parameters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulators import FluODE

shares = st.lists(st.floats(0, 1), min_size=5, max_size=5).map(np.array)
seasons = st.fixed_dictionaries(
    {
        "r0": st.floats(0.8, 4.0),
        "infectious_period": st.floats(2.0, 10.0),
        "contacts": st.sampled_from(["del-valle-2013", "mistry-2021-oregon"]),
        "efficacy": st.floats(0, 1),
    }
)


@settings(max_examples=30, deadline=None)
@given(seasons, shares, st.integers(0, 4), st.floats(0, 1))
def test_more_vaccine_in_one_group_never_makes_any_group_sicker(options, x, j, share):
    env = FluODE(budget=None, **options)
    more = x.copy()
    more[j] += share * (1 - x[j])
    before, after = env.expected([x, more])
    # In exact arithmetic never, at any time; the allowance is for the integrator's error.
    assert (after <= before * (1 + 1e-7)).all()


@settings(max_examples=12, deadline=None)
@given(seasons, shares)
def test_a_long_season_satisfies_the_final_size_relation(options, x):
    period = options["infectious_period"]
    env = FluODE(budget=None, days=80 * period, step_days=period / 30, **options)
    rates, N = env.beta * env.infectious_period, env.population
    info = env.step(x).info
    I0 = env.initial_infected
    S0 = np.maximum(N * (1 - env.efficacy * x) - I0, 0)
    removed = info["attack_rate"] * N
    if info["infected"][-1].sum() > 1 or (S0 <= 0).any():  # still going on, or nobody to infect
        return
    left = np.log((S0 + I0 - removed) / S0)
    assert left == pytest.approx(-rates @ (removed / N), rel=1e-5, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(seasons, shares)
def test_sick_days_are_the_removed_times_the_infectious_period(options, x):
    """With a constant removal rate, everybody ever infected is sick for one infectious period on average."""
    env = FluODE(budget=None, noise_variance=0, **options)
    outcomes = env.step(x)
    ever = outcomes.info["attack_rate"] * env.population
    removed = (ever - outcomes.info["infected"][-1]) / env.population.sum()
    assert outcomes.values == pytest.approx(removed * env.infectious_period, rel=1e-9)
    assert (outcomes.info["attack_rate"] >= 0).all()
    assert (outcomes.info["attack_rate"] <= 1 + 1e-12).all()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(0.02, 1), min_size=5, max_size=5))
def test_sick_days_under_treatment_are_those_gone_by_the_rate_of_leaving(x):
    """The integral of I_j is (N_j(0) - S_j - I_j at the end) / (x_j + 8e-8)."""
    env = FluODE(intervention="treatment", budget=None, bounds=(0, 1), noise_variance=0)
    outcomes = env.step(x)
    ever = outcomes.info["attack_rate"] * env.population
    gone = ever - outcomes.info["infected"][-1]
    integral = outcomes.values * env.population.sum()
    assert integral == pytest.approx(gone / (np.array(x) + 8e-8), rel=1e-8)
