"""Reproduction numbers and attack rates of the flu environments, from their definitions."""

import numpy as np
import pytest

from simulators import FluABM, FluODE
from simulators.population import survey


def radius(matrix):
    return np.abs(np.linalg.eigvals(matrix)).max()


@pytest.mark.parametrize("intervention", ["vaccination", "treatment"])
def test_a_given_r0_holds_at_the_given_infectious_period(intervention):
    env = FluODE(intervention=intervention, r0=1.9, infectious_period=7.0)
    assert radius(env.beta) * 7.0 == pytest.approx(1.9) and env.r0 == pytest.approx(1.9)
    susceptibility = survey.AGES[5].susceptibility
    shape = susceptibility[:, None] * env.contacts
    np.testing.assert_allclose(env.beta / env.beta[0, 0], shape / shape[0, 0])


def test_the_default_r0_is_that_of_a_season_with_the_coverage_of_2012():
    env, table = FluODE(infectious_period=5.0), survey.AGES[5]
    unprotected = (1 - table.efficacy * table.coverage)[:, None] * env.beta
    assert radius(unprotected) * 5.0 == pytest.approx(1.28)


def test_the_attack_rate_of_all_is_that_of_all_persons():
    env = FluABM(persons=2_000, replicates=2, days=200)
    env.reset(1)
    info = env.step(np.full(5, 0.1)).info
    infections = info["replicates"] @ env.population.sizes
    assert info["attack_rate_total"] == pytest.approx(infections.mean() / 2_000)
    assert info["attack_rate_total"] != pytest.approx(info["attack_rate"].mean(), rel=1e-3)
