"""R0 from observed seasons: from seasons of a known R0, beside independent likelihoods, and refusals."""

import numpy as np
import pytest
from countries import country, ode
from scipy.stats import binom, nbinom

TODAY = np.array([0.2, 0.1, 0.5])
COLUMNS = {"current": TODAY, "susceptibility": np.array([1.0, 0.7, 0.5])}
NAMES = [f"band {j}" for j in range(3)]


def season(r0=1.7, coverage=TODAY, **options):
    return ode(3, columns=COLUMNS, r0=r0, **options).step(coverage).info


def rates_file(tmp_path, rates, name="rates.csv", groups=NAMES, **columns):
    header = ",".join(["group", "attack_rate", *columns])
    rows = zip(groups, rates, *columns.values(), strict=True)
    path = tmp_path / name
    path.write_text(header + "\n" + "\n".join(",".join(map(str, row)) for row in rows), encoding="utf-8")
    return str(path)


def fitted(calibrate, **options):
    return ode(3, columns=COLUMNS, **{"r0": None, "calibrate": calibrate, **options}).fit


@pytest.mark.parametrize("r0", [1.25, 1.7, 3.0])
@pytest.mark.parametrize("options", [{}, {"latent_period": 2.0}])
def test_the_attack_rates_of_a_known_r0_give_it_back(tmp_path, r0, options):
    exact = season(r0, **options)["attack_rate"].tolist()
    fit = fitted({"attack_rate": rates_file(tmp_path, exact, persons=[10_000] * 3)}, **options)
    assert fit.r0 == pytest.approx(r0, rel=1e-5)
    assert fit.misfit == pytest.approx(0, abs=1e-5)
    assert fit.interval[0] < r0 < fit.interval[1]


def test_the_environment_takes_the_fitted_r0_and_says_so(tmp_path):
    file = rates_file(tmp_path, season()["attack_rate"].tolist(), persons=[10_000] * 3)
    env = ode(3, columns=COLUMNS, r0=None, calibrate={"attack_rate": file})
    assert env.r0 == pytest.approx(1.7, rel=1e-5)
    low, high = env.fit.interval
    assert f"r0 = 1.7, 95 % {low:.4g} to {high:.4g}" in " ".join(env.findings)
    assert f"lognormal = [{np.log(1.7):.4f}, {env.fit.log_error:.4f}]" in " ".join(env.findings)
    # A member of an ensemble has its own r0, drawn from what was fitted.
    assert ode(3, columns=COLUMNS, r0=1.5, calibrate={"attack_rate": file}).r0 == pytest.approx(1.5)


def test_another_coverage_of_the_season_that_was_observed(tmp_path):
    exact = season(coverage=[0.0] * 3)["attack_rate"].tolist()
    file = rates_file(tmp_path, exact, persons=[10_000] * 3)
    assert fitted({"attack_rate": file, "coverage": 0.0}).r0 == pytest.approx(1.7, rel=1e-5)
    assert fitted({"attack_rate": file}).r0 > 1.9


def test_the_fit_and_its_interval_are_those_of_the_binomial_likelihood(tmp_path):
    persons, ill = np.array([400, 900, 700]), np.array([190, 300, 120])
    fit = fitted({"attack_rate": rates_file(tmp_path, (ill / persons).tolist(), persons=persons)})
    grid = np.exp(np.linspace(np.log(fit.r0) - 0.15, np.log(fit.r0) + 0.15, 151))
    shares = np.array([season(r0, days=365)["attack_rate"] for r0 in grid])
    likelihood = binom.logpmf(ill, persons, shares).sum(axis=1)
    assert grid[np.argmax(likelihood)] == pytest.approx(fit.r0, rel=1.1e-3)
    drop, top = likelihood.max() - 1.9207, np.argmax(likelihood)  # half the 95 % point of chi-squared
    low = np.interp(drop, likelihood[:top], np.log(grid[:top] / fit.r0))
    high = np.interp(-drop, -likelihood[top:], np.log(grid[top:] / fit.r0))
    narrow = fit.log_error / np.sqrt(max(1.0, fit.misfit))
    assert [low, high] == pytest.approx([-1.96 * narrow, 1.96 * narrow], rel=0.06)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say(tmp_path):
    rng = np.random.default_rng(5)
    shares, persons = season()["attack_rate"], np.array([300, 500, 400])
    held = 0
    for k in range(25):
        seen = rng.binomial(persons, shares) / persons
        file = rates_file(tmp_path, seen.tolist(), f"{k}.csv", persons=persons)
        low, high = fitted({"attack_rate": file}).interval
        held += low < 1.7 < high
    # 95 % are 24; widened where the misfit is above 1, so rather more.
    assert binom.cdf(held, 25, 0.95) > 0.01


def test_data_that_no_r0_explains_widen_the_interval(tmp_path):
    exact = season()["attack_rate"]
    off = fitted({"attack_rate": rates_file(tmp_path, exact * [1.2, 0.8, 1.1], persons=[5000] * 3)})
    on = fitted({"attack_rate": rates_file(tmp_path, exact, persons=[5000] * 3)})
    assert off.misfit > 5
    assert off.log_error == pytest.approx(on.log_error * np.sqrt(off.misfit), rel=0.1)


def test_standard_errors_weigh_the_rates(tmp_path):
    exact = season()["attack_rate"].tolist()
    fit = fitted({"attack_rate": rates_file(tmp_path, exact, standard_error=[0.01, 0.02, 0.01])})
    half = fitted({"attack_rate": rates_file(tmp_path, exact, standard_error=[0.005, 0.01, 0.005])})
    assert fit.r0 == pytest.approx(1.7, rel=1e-5)
    assert fit.log_error == pytest.approx(2 * half.log_error, rel=1e-3)


def test_rates_without_any_error_have_that_of_their_scatter():
    exact = season()["attack_rate"]
    fit = fitted({"attack_rate": (exact * [1.1, 1.0, 0.9]).tolist()})
    assert 1.5 < fit.r0 < 1.9
    assert fit.log_error > 0.01


def test_susceptibilities_come_back_relative_to_the_largest(tmp_path):
    file = rates_file(tmp_path, season()["attack_rate"].tolist(), persons=[3000] * 3)
    fit = ode(
        3, columns={"current": TODAY}, r0=None, calibrate={"attack_rate": file, "fit": "susceptibility"}
    ).fit
    assert fit.susceptibility == pytest.approx([1.0, 0.7, 0.5], rel=1e-5)
    assert fit.r0 == pytest.approx(1.7, rel=1e-5)
    assert fit.susceptibility_errors[0] == 0 and (fit.susceptibility_errors[1:] > 0.01).all()


@pytest.mark.slow
def test_susceptibilities_of_forty_groups(tmp_path):
    true = np.random.default_rng(0).uniform(0.4, 1.0, 40)
    true /= true.max()
    truth = ode(40, columns={"susceptibility": true}, r0=1.8)
    rates = truth.step(np.zeros(40)).info["attack_rate"].tolist()
    file = rates_file(tmp_path, rates, groups=truth.groups, persons=[2000] * 40)
    env = ode(40, r0=None, calibrate={"attack_rate": file, "fit": "susceptibility"})
    assert env.susceptibility == pytest.approx(true, rel=1e-4)
    assert env.r0 == pytest.approx(1.8, rel=1e-5)


def weekly(tmp_path, counts, names, first=1):
    path = tmp_path / "weeks.csv"
    rows = [",".join(map(str, [first + w, *row])) for w, row in enumerate(counts.tolist())]
    path.write_text("\n".join([",".join(["week", *names]), *rows]), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("by_group", [pytest.param(True, marks=pytest.mark.slow), False])
def test_weekly_counts_of_a_known_r0_give_it_back(tmp_path, by_group):
    true = ode(3, columns=COLUMNS, r0=1.7, days=140, initial_infected=2 * 0.001 * country(3).persons)
    course = true.season_ode.course((0.4 * TODAY)[:, None], "C")
    ends = np.arange(0, 141, 7.0)
    new = np.diff([np.interp(ends, course.days, one) for one in course.curves["C"][:, :, 0].T]).T * 0.02
    mean = new if by_group else new.sum(axis=1, keepdims=True)
    counts = nbinom.rvs(50, 50 / (50 + mean), random_state=3)
    file = weekly(tmp_path, counts, NAMES if by_group else ["cases"])
    fit = fitted({"weekly_counts": file, "reporting": 0.02}, days=140)
    assert fit.interval[0] < 1.7 < fit.interval[1]
    assert fit.log_error < 0.05
    assert fit.initial_infected == pytest.approx(true.initial_infected, rel=0.3)
    assert fit.expected.sum() == pytest.approx(counts.sum(), rel=0.1)


@pytest.mark.parametrize(
    ("rates", "columns", "groups", "message"),
    [
        ([0.1, 0.2, 1.0], {}, NAMES, "attack rate of group 'band 2' is 1; accepted: a share"),
        ([0.1, 0.0, 0.3], {}, NAMES, "attack rate of group 'band 1' is 0"),
        ([0.1, 0.2, 0.3], {}, ["band 0", "band 1", "65+"], "row 4: group: unknown group '65"),
        ([0.1, 0.2, 0.3], {}, ["band 0", "band 1", "band 1"], "'band 1' is there twice"),
        ([0.1, "x", 0.3], {}, NAMES, "row 3: attack_rate is 'x'"),
        ([0.1, 0.2, 0.3], {"persons": [10, 0, 10]}, NAMES, "column 'persons' has 0"),
        ([0.1], {}, NAMES[:1], "one attack rate says nothing of its own error"),
        ([0.99, 0.99, 0.99], {"persons": [9] * 3}, NAMES, "which no r0 gives"),
        ([0.0005] * 3, {"persons": [9] * 3}, NAMES, "which no r0 gives"),
    ],
)
def test_attack_rates_that_cannot_be_are_refused_in_one_line(tmp_path, rates, columns, groups, message):
    file = rates_file(tmp_path, rates, groups=groups, **columns)
    with pytest.raises(ValueError, match=message) as refusal:
        fitted({"attack_rate": file})
    assert "\n" not in str(refusal.value) and "rates.csv" in str(refusal.value)


@pytest.mark.parametrize(
    ("rates", "columns", "groups", "message"),
    [
        ([0.3, 0.2, 0.3], {}, NAMES, "say nothing of their error"),
        ([0.3, 0.2], {"persons": [9, 9]}, NAMES[:2], "no attack rate of group 'band 2'.* not identified"),
        ([0.3, 0.2, 0.9], {"persons": [9] * 3}, NAMES, "of group 'band 2' is 0.9, which no r0 gives"),
    ],
)
def test_susceptibilities_that_are_not_identified_are_refused(tmp_path, rates, columns, groups, message):
    file = rates_file(tmp_path, rates, groups=groups, **columns)
    with pytest.raises(ValueError, match=message):
        fitted({"attack_rate": file, "fit": "susceptibility"})


@pytest.mark.parametrize(
    ("calibrate", "message"),
    [
        ({}, "attack_rate or weekly_counts, one of them"),
        ({"attack_rates": "a.csv"}, "did you mean 'attack_rate'"),
        ({"attack_rate": "no-such.csv"}, "no-such.csv"),
        ({"attack_rate": [0.1, 0.2]}, "calibrate: attack_rate must be one number, or 3"),
        ({"attack_rate": [0.1, 0.2, 0.3], "fit": "all"}, "calibrate: fit='all' must be one of"),
        ({"attack_rate": [0.1, 0.2, 0.3], "coverage": 2}, "calibrate: coverage of group 'band 0' is 2"),
        ({"attack_rate": [0.1, 0.2, 0.3], "reporting": 0.1}, "reporting belongs to weekly_counts"),
        ({"weekly_counts": "w.csv"}, "reporting is missing"),
        ({"weekly_counts": "w.csv", "reporting": 2}, "reporting=2 must be a share"),
        ({"weekly_counts": "w.csv", "reporting": 0.1, "fit": "susceptibility"}, "needs attack_rate"),
    ],
)
def test_what_is_no_calibration_is_refused_in_one_line(calibrate, message):
    with pytest.raises(ValueError, match=message) as refusal:
        fitted(calibrate)
    assert "\n" not in str(refusal.value)


def test_counts_that_cannot_be_are_refused_in_one_line(tmp_path):
    counts = np.full((20, 1), 30)
    for bad, names, message in [
        (counts, ["band 9"], "column 'band 9': unknown group"),
        (counts, ["band 1"], "group 'band 0' has no column"),
        (-counts, ["cases"], "a count is -30"),
        (0 * counts, ["cases"], "nobody fell ill"),
        (np.full((60, 1), 30), ["cases"], "60 weeks are longer than the season"),
    ]:
        with pytest.raises(ValueError, match=message):
            fitted({"weekly_counts": weekly(tmp_path, bad, names), "reporting": 0.1})
    with pytest.raises(ValueError, match="row 2: week is '3'"):
        fitted({"weekly_counts": weekly(tmp_path, counts, ["cases"], first=3), "reporting": 0.1})
