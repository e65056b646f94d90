"""beta_t against the paper."""

import numpy as np
import pytest

from optimizer import ConstantBeta, ContinuousBeta, FiniteBeta


def test_finite_beta_is_theorem_2s():
    t, n, delta = 7, 1000, 0.05
    assert FiniteBeta(n, delta, 5.0).beta(t) == pytest.approx(
        2 * np.log(n * t**2 * np.pi**2 / (6 * delta)) / 5, rel=1e-12
    )
    assert FiniteBeta(n, delta, groups=3).beta(t) == pytest.approx(
        2 * np.log(n * 3 * t**2 * np.pi**2 / (6 * delta)), rel=1e-12
    )


def test_finite_beta_of_an_astronomic_space_is_finite():
    assert FiniteBeta(100**12).beta(1) == pytest.approx(2 * (12 * np.log(100) + np.log(np.pi**2 / 0.6)))


def test_continuous_beta_is_section_7s():
    t, d, delta = 4, 5, 0.1
    direct = 2 * np.log(2 * t**2 * np.pi**2 / (3 * delta)) + 2 * d * np.log(
        t**2 * d * np.sqrt(np.log(4 * d / delta))
    )
    assert ContinuousBeta(d, delta).beta(t) == pytest.approx(direct, rel=1e-12)
    assert ContinuousBeta(d, delta, scale_down=5).beta(t) == pytest.approx(direct / 5, rel=1e-12)
    assert ConstantBeta(4.0, scale_down=2.0).beta(99) == 2.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FiniteBeta(0), "size"),
        (lambda: FiniteBeta(5, delta=1.5), "delta"),
        (lambda: ContinuousBeta(2, scale_down=0.0), "scale_down"),
        (lambda: ConstantBeta(-1.0), "beta"),
    ],
)
def test_bad_schedules_are_refused_in_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
