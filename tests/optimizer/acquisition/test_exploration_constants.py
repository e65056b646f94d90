"""beta_t of the paper's section 7 with every constant of it, and with the groups of a general g."""

import numpy as np
import pytest
from scipy.optimize import Bounds

from optimizer import ConstantBeta, ContinuousBeta, FiniteBeta, GeneralComposition, SearchSpace, make_agent


def continuous(t, d, delta, J=1, a=1.0, b=1.0, r=1.0):
    confidence = 2 * np.log(2 * J * t**2 * np.pi**2 / (3 * delta))
    return confidence + 2 * d * np.log(t**2 * d * b * r * np.sqrt(np.log(4 * d * a / delta)))


@pytest.mark.parametrize("t", [1, 2, 17])
@pytest.mark.parametrize(
    "constants", [{}, {"J": 4}, {"a": 3.0}, {"b": 0.5}, {"r": 2.5}, {"J": 2, "a": 2.0, "b": 3.0, "r": 0.7}]
)
def test_continuous_beta_has_every_constant_of_section_7(t, constants):
    options = {"groups" if name == "J" else name: value for name, value in constants.items()}
    schedule = ContinuousBeta(3, 0.05, scale_down=5.0, **options)
    assert schedule.beta(t) == pytest.approx(continuous(t, 3, 0.05, **constants) / 5)


def test_an_agent_of_every_group_under_a_general_g_has_the_groups_inside_its_continuous_beta():
    space = SearchSpace(Bounds([0.0, 0.0], [1.0, 2.0]))
    g = GeneralComposition(3, lambda F, X: F.prod(axis=-1))
    for name, J in (("d-gpucb", 3), ("d-ei", 3), ("gp-ucb", 1)):
        found = make_agent(name, space, g, kernel="own").exploration
        assert found.beta(6) == pytest.approx(continuous(6, 2, 0.1, J) / 5)


def test_no_beta_is_negative_and_none_fails_where_its_logarithm_would():
    assert FiniteBeta(1, delta=0.99).beta(1) == pytest.approx(2 * np.log(np.pi**2 / (6 * 0.99)))
    assert ContinuousBeta(1, delta=0.9, b=1e-9).beta(1) == 0.0
    assert np.isfinite(ContinuousBeta(1, delta=0.5, a=0.01).beta(1))  # 4 d a < delta
    assert ConstantBeta(0.0).beta(3) == 0.0
