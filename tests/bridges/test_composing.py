"""Rows in which foreign code fails are nan, and nothing else is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridges.composing import TRIES, nan_where_it_fails, watched_failures


def total_below(limit):
    def call(values):
        if (values > limit).any():
            raise SystemExit(2)
        return values.sum(axis=-1)

    return call


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_exactly_the_rows_that_fail_are_nan(fails):
    values = np.where(np.array(fails)[:, None], 5.0, 1.0) * np.ones((1, 3))
    found = nan_where_it_fails(total_below(2), (len(fails),), values)
    assert np.isnan(found).tolist() == fails and set(found[~np.isnan(found)]) <= {3.0}


def test_rows_of_several_axes_keep_their_places():
    values = np.arange(24.0).reshape(2, 4, 3)
    found = nan_where_it_fails(total_below(12.5), (2, 4), values)
    assert found[0].tolist() == [3, 12, 21, 30] and np.isnan(found[1]).all()
    slopes = nan_where_it_fails(lambda v: total_below(12.5)(v)[..., None] * v, (2, 4), values, tail=(3,))
    assert slopes.shape == (2, 4, 3) and np.isnan(slopes[1]).all() and slopes[0, 1].tolist() == [36, 48, 60]


def test_calls_are_bounded_inputs_are_copies_and_the_first_failure_is_known():
    calls = []

    def call(values):
        calls.append(len(values))
        values[:] = 0
        raise ValueError("never")

    values = np.ones((20_000, 1))
    with watched_failures() as failed:
        assert np.isnan(nan_where_it_fails(call, (20_000,), values)).all()
    assert len(calls) <= TRIES + 1 and (values == 1).all() and failed == ["ValueError: never"]


def test_a_wrong_shape_is_no_failure_of_rows_and_ctrl_c_no_failure_at_all():
    with pytest.raises(ValueError, match=r"must return shape \(2,\), not \(\)"):
        nan_where_it_fails(np.sum, (2,), np.ones((2, 3)))
    with pytest.raises(ValueError, match="must be numbers, not complex ones"):
        nan_where_it_fails(lambda v: v[:, 0] + 0j, (2,), np.ones((2, 3)))

    def stopped(values):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nan_where_it_fails(stopped, (2,), np.ones((2, 3)))
