"""One check reads all outcomes: real numbers, one a group, of a size to compute with."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from simulators import Outcomes, SimulationError
from simulators.contract.observed import as_values, checked

GROUPS = ("a", "b")


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.0],
        (np.float32(1), np.int8(2)),
        np.array([1, 2], dtype=np.uint8),
        np.array([1, 2], dtype=object),
        np.ma.array([1.0, 2.0], mask=[False, False]),
        [Fraction(1), np.array([2.0])],
        np.array([1, 2], dtype=np.longdouble),
    ],
)
def test_real_numbers_of_every_type_are_floats(values):
    read = as_values(values, GROUPS)
    assert type(read) is np.ndarray and read.dtype == float and read.tolist() == [1.0, 2.0]


def test_what_is_read_is_a_copy_and_none_is_missing():
    values, noise = np.array([1.0, 2.0]), np.array([0.1, 0.2])
    read = checked(Outcomes(values, noise), GROUPS)
    values[:], noise[:] = 9.0, 9.0
    assert read.values.tolist() == [1.0, 2.0] and read.noise_variance.tolist() == [0.1, 0.2]
    assert np.isnan(as_values([None, np.nan], GROUPS)).all()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1 + 0j, 2], r"the outcome of a is \(1\+0j\), not a number"),
        (np.array([1, 2]) + 0j, "the outcome of a is .*, not a number"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), "the outcome of b is masked"),
        ([1.0, np.ma.masked], "the outcome of b is .*, not a number"),
        (["1", "2"], "the outcome of a is '1', not a number"),
        ([True, 2], "the outcome of a is True, not a number"),
        (np.array([True, False]), "the outcome of a is .*True.*, not a number"),
        ([Decimal(1), 2], "the outcome of a is Decimal"),
        (np.array([1, 2], "timedelta64[s]"), "the outcome of a is .*, not a number"),
        ([1.0], r"outcomes must have shape \(2,\), one a group, not \(1,\)"),
        ([[1.0, 2.0]], r"outcomes must have shape \(2,\)"),
        (np.ones((2, 1, 2)), r"outcomes must have shape \(2,\)"),
        (3.0, r"outcomes must have shape \(2,\), one a group, not \(\)"),
        ([1.0, [2.0, 3.0]], r"the outcome of b is \[2.0, 3.0\], not a number"),
        ([np.inf, 1], "the outcome of a is infinite"),
        ([10**400, 1], "the outcome of a is infinite"),
        ([1, -1e61], r"the outcome of b is -1e\+61; accepted: up to 1e\+60"),
    ],
)
def test_anything_else_is_refused_in_one_line_that_names_the_group(values, words):
    with pytest.raises(SimulationError, match=words) as refusal:
        checked(Outcomes(values), GROUPS)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        ([np.inf, 1], "must be finite"),
        ([1e121, 1], "must be finite"),
        ([-1e-9, 1], "a variance not negative"),
        (["1", "2"], "must be numbers, not text"),
        ([1j, 1], "must be numbers, not complex ones"),
        ([True, True], "must be numbers, not truth values"),
        (np.ma.array([1, 1], mask=[True, False]), "some are masked"),
        ([[1, 0], [0]], "in rows of one length"),
        ([1], "must be 2 variances or a 2 x 2 covariance"),
    ],
)
def test_noise_is_read_by_the_same_rules(noise, words):
    with pytest.raises(SimulationError, match=words):
        checked(Outcomes([1.0, 2.0], noise), GROUPS)
