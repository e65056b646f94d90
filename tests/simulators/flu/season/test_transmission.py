"""Hashed draws, durations, accumulated hazards and the contacts asked once."""

import numpy as np
import pytest
from scipy import stats

from simulators.flu.season.durations import durations, geometric
from simulators.flu.season.next_generation import reproduction_number, transmission_rate
from simulators.flu.season.transmission import ContactRows, EventCalendar, HazardClock, contact_rows
from simulators.population.draws import limits, smallest, uniforms, words
from simulators.population.network import ContactNetwork, symmetric
from simulators.population.pairs import key

GROUPS = ("a", "b")


def network(N, first, second, *layers):
    """N persons of one group who meet in the same pairs in every layer."""
    pairs = symmetric(N, key(first, second, N))
    weights = dict.fromkeys(layers, 1.0)
    return ContactNetwork(dict.fromkeys(layers, pairs), weights, np.zeros(N, dtype=np.int8), GROUPS)


def star(leaves):
    """One person who meets all others, and nobody else meets anybody."""
    return network(leaves + 1, np.zeros(leaves, dtype=np.int32), np.arange(1, leaves + 1), "only")


def infections(hazard, length, leaves=20_000, key=1):
    """Whom the centre of a star infects, and when, if infectious for `length` days from day 1."""
    clock = HazardClock(np.asarray(hazard, dtype=float)[None, None])
    keys = words(np.uint64(key), np.arange(leaves + 1))
    kind = np.zeros(leaves + 1, dtype=np.int8)
    rows = ContactRows(star(leaves))
    return rows.transmissions(keys, clock, kind, np.array([0]), np.array([1]), np.array([1 + length]))


def test_draws_are_those_of_splitmix64():
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert words(np.uint64(1234567), np.arange(5)).tolist() == published


def test_draws_of_neighbouring_keys_and_counters_are_uniform_and_unrelated():
    keys = words(np.uint64(3), np.arange(300))
    table = uniforms(words(np.repeat(keys, 300), np.tile(np.arange(300), 300))).reshape(300, 300)
    assert stats.kstest(table.ravel(), "uniform").pvalue > 1e-3
    for other in (table[1:, :], table[:, 1:], table.T):
        a, b = table[: len(other), : other.shape[1]].ravel(), other.ravel()
        keep = a != b
        assert abs(np.corrcoef(a[keep], b[keep])[0, 1]) < 4 / np.sqrt(keep.sum())


def test_a_limit_lets_pass_what_the_uniform_number_says():
    draws = words(np.uint64(0), np.arange(10_000))
    for p in (0.0, 1e-3, 0.5, 1.0):
        below = uniforms(draws) < p
        assert not (below & ~(draws < limits(np.array([p])))).any()
        assert (draws < limits(np.array([p]))).sum() == below.sum()


def test_choosing_more_only_adds_to_the_chosen():
    members = np.arange(100, 300)
    draws = words(np.uint64(5), members)
    few, many = smallest(draws, members, 20), smallest(draws, members, 90)
    assert len(set(few)) == 20 and len(set(many)) == 90 and set(few) < set(many)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (4.0, stats.geom(0.25).pmf),
        ([0.2, 0.5, 0.3], lambda d: np.select([d == 1, d == 2, d == 3], [0.2, 0.5, 0.3])),
        (
            stats.gamma(4, scale=0.5),
            lambda d: stats.gamma.cdf(d, 4, scale=0.5) - stats.gamma.cdf(d - 1, 4, scale=0.5),
        ),
        (stats.geom(0.4), stats.geom(0.4).pmf),
        (1, lambda d: float(d == 1)),
    ],
)
def test_durations_have_the_distribution_asked_for(value, expected):
    lasting = durations("latent_period", value, 2)
    n = 40_000
    days = lasting.draw((np.arange(n) + 0.5) / n, np.tile([0, 1], n // 2))
    for d in range(1, 8):
        assert (days == d).mean() == pytest.approx(expected(np.float64(d)), abs=2e-4)
    assert days.min() >= 1
    assert lasting.mean[0] == pytest.approx(days.mean(), rel=2e-3)


def test_a_period_of_a_thousand_years_outlasts_any_season():
    days = durations("infectious_period", 365_000, 1).draw(np.array([0.5]), np.array([0]))
    assert days[0] > 10_000


def test_a_group_with_a_lower_rate_is_never_ill_for_less_time():
    u = np.linspace(0, 0.999, 500)
    slow, fast = (geometric(np.array([0.1, 0.3])).draw(u, np.full(500, j)) for j in (0, 1))
    assert (slow >= fast).all()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1, "infectious_period=-1 must be a finite number >= 1"),
        (0.5, "infectious_period=0.5 must be"),
        ("long", "infectious_period='long' must be"),
        ([0.5, 0.6], "probabilities of 1, 2, .. days"),
        ([-0.5, 1.5], "probabilities of 1, 2, .. days"),
        (stats.norm(3, 1), "infectious_period must be a distribution over positive days"),
    ],
)
def test_a_wrong_period_is_refused(value, message):
    with pytest.raises(ValueError, match=message) as refusal:
        durations("infectious_period", value, 5)
    assert "\n" not in str(refusal.value)


def test_the_clock_finds_the_day_on_which_the_hazard_accumulates_to_the_threshold():
    rng = np.random.default_rng(0)
    hazard = rng.uniform(0, 1, (3, 4, 30)) * (rng.random((3, 4, 30)) < 0.7)
    clock, n = HazardClock(hazard), 500
    layer, kind = rng.integers(3, size=n), rng.integers(4, size=n)
    begin, end = rng.integers(1, 8, size=n), rng.integers(8, 32, size=n)
    thresholds = rng.exponential(2, size=n)
    which, days = clock.crossings(layer, kind, begin, end, thresholds)
    found = dict(zip(which.tolist(), days.tolist(), strict=True))
    for k in range(n):
        total, expected = 0.0, None
        for day in range(begin[k], end[k]):
            total += hazard[layer[k], kind[k], day - 1]
            if expected is None and total > thresholds[k]:
                expected = day
        assert found.get(k) == expected
        assert clock.greatest(begin, end)[k] >= total - 1e-9


def test_a_contact_transmits_with_the_probability_and_on_the_days_of_a_constant_hazard():
    h, D, n = 0.2, 4, 20_000
    persons, days = infections([h] * 10, D, n)
    assert len(set(persons.tolist())) == len(persons)
    share = np.bincount(days, minlength=6)[1:6] / n
    expected = np.exp(-h * np.arange(5)) * -np.expm1(-h) * (np.arange(5) < D)
    assert share == pytest.approx(expected, abs=4 * np.sqrt(0.25 / n))


def test_a_change_of_hazard_leaves_what_happened_before_it_and_stops_what_would_follow():
    persons, days = infections([0.2] * 10, 6)
    closed = infections([0.2, 0.2, 0, 0, 0.2, 0.2, 0, 0, 0, 0], 6)
    earlier = days < 3
    before = closed[1] < 3
    assert dict(zip(persons[earlier], days[earlier], strict=True)) == dict(
        zip(closed[0][before], closed[1][before], strict=True)
    )
    assert set(np.unique(closed[1])) == {1, 2, 5, 6}
    assert set(closed[0]) < set(persons)


def test_draws_of_one_infector_do_not_depend_on_who_else_is_infectious():
    rng = np.random.default_rng(1)
    first, second = np.triu_indices(60, 1)
    keep = rng.random(len(first)) < 0.4
    rows = ContactRows(network(60, first[keep], second[keep], "x", "y"))
    clock, keys = HazardClock(np.full((2, 1, 20), 0.1)), words(np.uint64(9), np.arange(60))
    kind = np.zeros(60, dtype=np.int8)
    infectors, begin, end = np.array([3, 8, 50]), np.array([2, 2, 3]), np.array([6, 9, 5])
    together = rows.transmissions(keys, clock, kind, infectors, begin, end)
    alone = [rows.transmissions(keys, clock, kind, infectors[[i]], begin[[i]], end[[i]]) for i in range(3)]
    assert together[0].tolist() == np.concatenate([a[0] for a in alone]).tolist()
    assert together[1].tolist() == np.concatenate([a[1] for a in alone]).tolist()


def test_nobody_infectious_infects_nobody():
    persons, days = ContactRows(star(5)).transmissions(
        words(np.uint64(0), np.arange(6)),
        HazardClock(np.full((1, 1, 9), 1.0)),
        np.zeros(6, dtype=np.int8),
        np.empty(0, dtype=np.int32),
        np.empty(0, dtype=np.int64),
        np.empty(0, dtype=np.int64),
    )
    assert len(persons) == len(days) == 0


def test_the_calendar_gives_everybody_once_on_the_day():
    calendar = EventCalendar(9)
    calendar.put(np.array([4, 5, 6, 7], dtype=np.int32), np.array([3, 1, 3, 12]))
    calendar.put(np.array([8], dtype=np.int32), np.array([3]))
    assert calendar.take(1).tolist() == [5]
    assert calendar.take(2).tolist() == []
    assert calendar.take(3).tolist() == [4, 6, 8]
    assert calendar.take(3).tolist() == []


def test_the_reproduction_number_is_the_mean_number_of_contacts_infected():
    rows = contact_rows(star(10))  # mean contacts of a person: 20 / 11
    always = durations("infectious_period", [0, 0, 1], 2)
    expected = 20 / 11 * -np.expm1(-0.5 * 3)
    assert reproduction_number(0.5, rows, np.ones(2), always) == pytest.approx(expected)
    rate = transmission_rate(1.2, rows, np.array([0.5, 1.0]), always)
    assert reproduction_number(rate, rows, np.array([0.5, 1.0]), always) == pytest.approx(1.2)
    assert transmission_rate(0, rows, np.ones(2), always) == 0
    with pytest.raises(ValueError, match="r0=5 is out of reach on this network; it must be at most 1.8"):
        transmission_rate(5, rows, np.ones(2), always)


def test_nobody_susceptible_puts_every_reproduction_number_out_of_reach():
    with pytest.raises(
        ValueError, match=r"r0=1 is out of reach: with susceptibility \[0.0, 0.0\] .*must be 0"
    ):
        transmission_rate(1, contact_rows(star(4)), np.zeros(2), durations("infectious_period", 4, 2))
