"""Intervals over trials, against closed forms, SciPy's tests, published numbers and their own promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scenarios.results.intervals import (
    FEWEST,
    POSITIVE,
    SHARE,
    gain_interval,
    holm,
    jackknife_ends,
    mean_and_ends,
    mean_interval,
    paired_p_value,
)

VALUES = np.array([1.0, 2.0, 4.0, 8.0, 3.0])


def test_a_means_interval_is_students_t():
    low, high = stats.ttest_1samp(VALUES, 0).confidence_interval(0.95)
    assert mean_interval(VALUES) == pytest.approx({"mean": 3.6, "low": low, "high": high})


def test_fewer_than_five_values_have_no_interval_and_none_has_no_mean():
    assert FEWEST == 5
    assert mean_interval([1.0, 2.0, 4.0, 8.0]) == {"mean": 3.75, "low": None, "high": None}
    assert mean_interval([2.0, np.nan], POSITIVE) == {"mean": 2.0, "low": None, "high": None}
    assert mean_interval([]) == {"mean": None, "low": None, "high": None}
    gain = gain_interval([1.0, 1.0, 1.0, 2.0], [2.0, 2.0, 3.0, 3.0], minimise=True)
    assert gain == {"mean": 50.0, "low": None, "high": None}
    assert np.isnan(jackknife_ends(1.0, np.ones(4))).all()
    assert paired_p_value([1.0, 2.0, 3.0, 4.0]) is None


def test_of_what_is_not_negative_the_interval_is_students_of_the_logarithm():
    found = mean_interval(VALUES, POSITIVE)
    half = stats.t.ppf(0.975, 4) * stats.sem(VALUES) / 3.6  # the delta method: d log(m) = dm / m
    ends = np.exp(np.log(3.6) + np.array([-half, half]))
    assert [found["low"], found["high"]] == pytest.approx(ends)


def test_of_a_share_it_is_students_of_the_logit():
    shares = np.array([0.0, 0.1, 0.2, 0.1, 0.3])
    found = mean_interval(shares, SHARE)
    m = shares.mean()
    half = stats.t.ppf(0.975, 4) * stats.sem(shares) / (m * (1 - m))
    ends = 1 / (1 + np.exp(-(np.log(m / (1 - m)) + np.array([-half, half]))))
    assert [found["low"], found["high"]] == pytest.approx(ends)


@given(st.lists(st.floats(0, 1), min_size=5, max_size=30))
def test_an_interval_stays_inside_its_range_around_its_mean(values):
    for within in (POSITIVE, SHARE):
        found = mean_interval(values, within)
        room = 1e-12
        assert within[0] <= found["low"] <= found["mean"] + room
        assert found["mean"] - room <= found["high"] <= within[1]


def test_a_mean_at_the_end_of_its_range_is_its_own_interval():
    for value in (0.0, 1.0):
        assert mean_interval([value] * 6, SHARE) == {"mean": value, "low": value, "high": value}


def test_rounding_below_zero_counts_as_zero_and_a_negative_regret_is_not_hidden():
    assert mean_interval([0.0, 1.0, 2.0, 1.0, -1e-12], POSITIVE)["low"] > 0
    wrong = [-0.5, 1.0, 2.0, 1.0, 0.5]
    assert mean_interval(wrong, POSITIVE) == mean_interval(wrong)


def test_a_band_is_the_interval_of_every_column():
    table = np.random.default_rng(0).exponential(size=(7, 4))
    for within in (POSITIVE, (-math.inf, math.inf)):
        for column, band in zip(table.T, np.transpose(mean_and_ends(table, within)), strict=True):
            assert list(mean_interval(column, within).values()) == pytest.approx(list(band))


def test_where_the_references_mean_cannot_be_told_from_zero_the_gain_has_no_interval():
    reference = np.array([-1.0, 2.0, -3.0, 4.0, 0.5])
    assert stats.ttest_1samp(reference, 0).pvalue > 0.05
    found = gain_interval(reference + 1, reference, minimise=True)
    assert found["mean"] == pytest.approx(-200) and found["low"] is None and found["high"] is None


def test_fiellers_interval_holds_the_gains_that_a_t_test_does_not_reject():
    rng = np.random.default_rng(3)
    reference = rng.normal(10, 3, 8)
    agent = 0.7 * reference + rng.normal(0, 1, 8)
    for sign in (1, -1):  # of a maximised objective below zero the gain is over its size
        ours, theirs = (agent, reference) if sign > 0 else (-agent, -reference)
        found = gain_interval(ours, theirs, minimise=sign > 0)
        gains = np.linspace(0, 60, 6001)
        apart = reference - agent - gains[:, None] / 100 * reference
        kept = gains[stats.ttest_1samp(apart, 0, axis=1).pvalue >= 0.05]
        assert [found["low"], found["high"]] == pytest.approx([kept[0], kept[-1]], abs=0.011)


def test_no_gain_in_regret_is_above_all_of_it():
    reference, agent = np.array([1.0, 1.2, 3.0, 2.0, 1.5]), np.array([0.0, 0.0, 0.9, 0.0, 0.0])
    found = gain_interval(agent, reference, minimise=True, most=100.0)
    assert found["high"] == 100.0 < gain_interval(agent, reference, minimise=True)["high"]


def test_the_reference_gains_nothing_over_itself():
    assert gain_interval(VALUES, VALUES, minimise=True) == {"mean": 0.0, "low": 0.0, "high": 0.0}


def test_the_jackknife_of_a_mean_is_students_t():
    left_out = [np.delete(VALUES, i).mean() for i in range(5)]
    ends = stats.ttest_1samp(VALUES, 0).confidence_interval(0.95)
    assert jackknife_ends(3.6, left_out) == pytest.approx(tuple(ends))


@pytest.mark.parametrize("n", [5, 10])
def test_intervals_contain_the_truth_as_often_as_they_say(n):
    # 800 studies: a share of 0.95 is told with a standard error of 0.008.
    rng = np.random.default_rng(n)
    inside = np.zeros(3)
    for _ in range(800):
        reference = rng.lognormal(0, 0.3, n)
        agent = 0.8 * reference * rng.lognormal(0, 0.2, n)
        mean = np.exp(0.045)
        truths = (mean, 100 * (1 - 0.8 * np.exp(0.02)), 0.3)
        found = (
            mean_interval(reference, POSITIVE),
            gain_interval(agent, reference, minimise=True, most=100.0),
            mean_interval(rng.beta(3, 7, n), SHARE),
        )
        inside += [one["low"] <= truth <= one["high"] for one, truth in zip(found, truths, strict=True)]
    assert (np.abs(inside / 800 - 0.95) < 0.025).all(), inside / 800


def test_paired_p_values_are_of_the_paired_t_test():
    first, second = VALUES, np.array([0.5, 2.5, 3.0, 5.0, 3.5])
    assert paired_p_value(first - second) == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert paired_p_value(np.zeros(5)) == 1.0


def test_holms_correction_agrees_with_published_examples():
    # Wikipedia, "Holm-Bonferroni method": four p-values, of which H1 and H4 are rejected at 0.05.
    corrected = holm([0.01, 0.04, 0.03, 0.005])
    assert corrected == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert (corrected <= 0.05).tolist() == [True, False, False, True]
    # Wright: Adjusted p-values for simultaneous inference, Biometrics 48 (1992), as R's p.adjust gives it.
    assert holm([0.9, 0.6, 0.7]) == pytest.approx([1.0, 1.0, 1.0])
    assert holm([]).tolist() == []
