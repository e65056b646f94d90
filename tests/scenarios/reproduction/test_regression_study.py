"""The comparison of decomposed with ordinary regression, against scikit-learn and NumPy."""

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

import bridges
import simulators
from optimizer import Prior
from scenarios.errors import UserError
from scenarios.reproduction.regression_run import (
    LagKernel,
    RegressionSetting,
    compare_regressions,
    regression_run,
    shared_priors,
)
from scenarios.reproduction.regression_study import RegressionStudy, regression_study

SMALL = RegressionSetting("rbf", groups=(1, 3), observations=6, seed=11)


def gap(kernel, noise, X, y, truth, points, prior_mean=0.0):
    """What scikit-learn's regression, refitted, predicts too much."""
    peer = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y - prior_mean)
    return peer.predict(points) + prior_mean - truth


def test_both_errors_are_those_of_refitted_regressors():
    points = np.linspace(0, 1, 60)[:, None]
    kernels, means = [RBF(0.3), Matern(0.5, nu=1.5), RationalQuadratic(0.4, 0.2)], [0.5, -1.0, 0.0]
    noise = np.array([1e-2, 2e-2, 5e-2])
    truth = np.stack([np.sin(5 * points[:, 0]), points[:, 0] ** 2, np.cos(9 * points[:, 0])], axis=1)
    observed, at = np.random.default_rng(3).choice(60, 9, replace=False), np.arange(20, 60)
    Y = truth[observed] + np.sqrt(noise) * np.random.default_rng(4).standard_normal((3, 9)).T
    errors = compare_regressions(
        Prior(kernels, noise, means), points, truth, observed, np.random.default_rng(4), groups=(2, 3), at=at
    )
    for i, J in enumerate((2, 3)):
        total = sum(kernels[1:J], kernels[0])
        for T in (1, 4, 9):
            X = points[observed[:T]]
            each = [
                gap(kernels[j], noise[j], X, Y[:T, j], truth[at, j], points[at], means[j]) for j in range(J)
            ]
            one = gap(
                total,
                noise[:J].sum(),
                X,
                Y[:T, :J].sum(axis=1),
                truth[at, :J].sum(axis=1),
                points[at],
                sum(means[:J]),
            )
            assert errors[0, i, T - 1] == pytest.approx(np.sqrt(np.mean(sum(each) ** 2)), rel=1e-7)
            assert errors[1, i, T - 1] == pytest.approx(np.sqrt(np.mean(one**2)), rel=1e-7)


@pytest.mark.parametrize("kernel", [RBF(0.7), Matern(1.3, nu=1.21), RationalQuadratic(0.5, 0.1)], ids=str)
def test_a_kernel_by_lags_is_the_kernel_itself(kernel):
    points = np.linspace(0, 1, 200)[:, None]
    rows = np.arange(200.0)[:, None]
    by_lags = LagKernel.of(kernel, points)
    assert np.abs(by_lags(rows) - kernel(points)).max() < 1e-12
    assert np.abs(by_lags(rows[3:4], rows[:50]) - kernel(points[3:4], points[:50])).max() < 1e-12
    assert by_lags.diag(rows) == pytest.approx(np.ones(200), abs=1e-12)


@pytest.mark.parametrize("domain", ["rbf", "matern", "rq"])
def test_a_run_compares_in_the_world_of_the_paper(domain):
    setting = RegressionSetting(domain, groups=(2,), observations=3, seed=1)
    world = simulators.make(
        "synthetic",
        family=domain,
        groups=2,
        length_scale=(0.5, 2.0),
        seed=bridges.seed_sequence(1, 4, "world"),
    )
    candidates = np.arange(1000)
    errors = compare_regressions(
        bridges.known_prior(world),
        world.policy_space.candidates,
        world.functions,
        np.random.default_rng(bridges.seed_sequence(1, 4, "design")).choice(candidates, 3, replace=False),
        np.random.default_rng(bridges.seed_sequence(1, 4, "noise")),
        groups=(2,),
        at=candidates,
    )
    assert regression_run(setting, 4, {}) == pytest.approx(errors, rel=1e-6)


def test_with_one_group_both_regressions_are_the_same():
    study = regression_study(SMALL, runs=2)
    assert study.improvement[0] == pytest.approx(0, abs=1e-6)
    assert np.abs(study.improvement[1]).min() > 1e-3


def test_the_result_does_not_depend_on_jobs_on_other_groups_or_on_later_runs_and_observations():
    alone = regression_study(SMALL, runs=3)
    spread = regression_study(SMALL, runs=3, jobs=2)
    assert np.array_equal(alone.decomposed, spread.decomposed)
    assert np.array_equal(alone.entire, spread.entire)
    other = regression_study(RegressionSetting("rbf", groups=(3, 5), observations=6, seed=11), runs=2)
    assert np.array_equal(other.decomposed[0], alone.decomposed[1, :, :2])
    assert np.array_equal(other.entire[0], alone.entire[1, :, :2])


def test_progress_is_told_after_every_run():
    told = []
    regression_study(SMALL, runs=3, progress=lambda done, runs: told.append((done, runs)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_more_groups_told_apart_predict_better():
    table = regression_study(RegressionSetting("rq", groups=(10,), observations=20), runs=25).overall()
    assert table.pooled_low[0] > 0
    assert table.low[0] > 0


@pytest.fixture(scope="module")
def noisy_study():
    """A study with made-up errors: 2 numbers of groups, 8 observations, 40 runs."""
    rng = np.random.default_rng(0)
    entire = rng.uniform(1, 2, (2, 8, 40))
    gain = 0.1 + 0.01 * np.arange(1, 9)[:, None] + 0.05 * rng.standard_normal((2, 8, 40))
    return RegressionStudy(RegressionSetting("rq", (3, 5), 8), entire * (1 - gain), entire)


def test_curves_hold_means_t_intervals_and_the_least_squares_line(noisy_study):
    curves = noisy_study.by_observations()
    assert curves.groups.tolist() == [3] * 8 + [5] * 8
    gain = 100 * (1 - noisy_study.decomposed / noisy_study.entire)
    for (i, J), t in ((pair, t) for pair in enumerate((3, 5)) for t in (0, 7)):
        row = curves[(curves.groups == J) & (curves.observations == t + 1)].iloc[0]
        low, high = stats.t.interval(0.95, 39, gain[i, t].mean(), stats.sem(gain[i, t]))
        assert (row.improvement, row.low, row.high) == pytest.approx((gain[i, t].mean(), low, high))
        assert row.rmse_entire == pytest.approx(noisy_study.entire[i, t].mean())
        line = stats.linregress(np.arange(1, 9), gain[i].mean(axis=1))
        assert row.trend == pytest.approx(line.intercept + line.slope * (t + 1))


def test_overall_values_are_averages_over_runs_with_their_intervals(noisy_study):
    table = noisy_study.overall(first=3)
    for i in range(2):
        row, ours, theirs = table.iloc[i], noisy_study.decomposed[i, 2:], noisy_study.entire[i, 2:]
        gain = 100 * (1 - ours / theirs)
        assert row.improvement == pytest.approx(gain.mean())
        low, high = stats.t.interval(0.95, 39, gain.mean(), stats.sem(gain.mean(axis=0)))
        assert (row.low, row.high) == pytest.approx((low, high))
        slopes = [stats.linregress(np.arange(6), gain[:, run]).slope for run in range(40)]
        low, high = stats.t.interval(0.95, 39, np.mean(slopes), stats.sem(slopes))
        assert (row.slope, row.slope_low, row.slope_high) == pytest.approx((np.mean(slopes), low, high))

        def pooled(runs, ours=ours, theirs=theirs):
            return 100 * (1 - ours[:, runs].mean(axis=1) / theirs[:, runs].mean(axis=1)).mean()

        assert row.pooled == pytest.approx(pooled(np.arange(40)))
        left_out = np.array([pooled(np.delete(np.arange(40), run)) for run in range(40)])
        error = np.sqrt(39 / 40 * ((left_out - left_out.mean()) ** 2).sum())
        half = stats.t.ppf(0.975, 39) * error
        assert (row.pooled_low, row.pooled_high) == pytest.approx((row.pooled - half, row.pooled + half))


def test_one_run_has_no_interval():
    table = regression_study(RegressionSetting("rbf", (2,), 1), runs=1).overall()
    assert np.isfinite(table.improvement[0])
    assert table[["low", "high", "slope_low", "pooled_low", "pooled_high"]].isna().all(axis=None)


def test_flu_is_predicted_at_held_out_policies_with_learned_kernels():
    setting = RegressionSetting("flu", observations=25, samples=60)
    assert setting.groups == (5,)
    priors = shared_priors(setting)
    study = regression_study(setting, runs=2, priors=priors)
    assert study.decomposed.shape == study.entire.shape == (1, 25, 2)
    for errors in (study.decomposed, study.entire):
        assert (errors[0, -1] < 0.3 * errors[0, 0]).all()
    assert np.array_equal(study.decomposed[0, :, 1], regression_run(setting, 1, priors)[0, 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RegressionSetting("rpf"), "unknown domain 'rpf'; did you mean 'rbf'"),
        (lambda: RegressionSetting("flu", groups=(3,)), "accepted for flu: 5 and 9"),
        (lambda: RegressionSetting("rbf", groups=(3, 0)), "groups = \\[3, 0\\]"),
        (lambda: RegressionSetting("rbf", observations=0), "observations = 0"),
        (lambda: RegressionSetting("rbf", observations=1001), "1 to 1000"),
        (lambda: RegressionSetting("flu", samples=1), "samples = 1"),
        (lambda: regression_study(SMALL, runs=0), "runs = 0"),
        (lambda: regression_study(SMALL, jobs=0), "jobs = 0"),
    ],
)
def test_a_mistake_is_one_line(make, message):
    with pytest.raises(UserError, match=message) as refusal:
        make()
    assert "\n" not in str(refusal.value)
