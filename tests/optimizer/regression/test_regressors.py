"""Algorithm 1 as a scikit-learn estimator: its contract, its equals, and what it makes of bad input."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator
from three_groups import BOTH, KERNELS, NOISE, data, norm, varying

from optimizer import AggregateGPRegressor, DecomposedGPRegressor

EXPECTED_FAILURES = {
    "check_regressor_multioutput": "outcomes of J groups are fitted, one composed value is predicted: (n,)"
}
SKIPPED_BY_SCIKIT_LEARN = {"check_array_api_input"}
"""Runs only with SCIPY_ARRAY_API set, for estimators that take other array types than NumPy's."""


# The estimator's contract


@pytest.mark.parametrize("cls", BOTH)
def test_scikit_learns_own_checks_pass(cls):
    results = check_estimator(
        cls(RBF(1.0), 0.1), expected_failed_checks=EXPECTED_FAILURES, on_skip=None, on_fail=None
    )
    by_status = {status: {} for status in ("passed", "failed", "xfail", "skipped")}
    for result in results:
        by_status[result["status"]][result["check_name"]] = result["exception"]
    assert not by_status["failed"]
    assert by_status["xfail"].keys() == EXPECTED_FAILURES.keys()
    assert by_status["skipped"].keys() <= SKIPPED_BY_SCIKIT_LEARN and len(by_status["passed"]) > 40


def test_scikit_learns_own_checks_pass_while_kernels_are_learned():
    """With the default parameters, but for two checks that learn ten length scales from 200 samples."""
    slow = {"check_regressors_train", "check_regressor_data_not_an_array"}
    left_out = slow | EXPECTED_FAILURES.keys() | SKIPPED_BY_SCIKIT_LEARN
    for estimator, check in estimator_checks_generator(DecomposedGPRegressor()):
        if check.func.__name__ not in left_out:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(estimator)


@pytest.mark.parametrize("cls", BOTH)
def test_parameters_are_stored_untouched_and_survive_a_clone(cls):
    kernels, weights = [RBF(0.3), RBF(0.6)], np.array([1.0, 2.0])
    model = cls(kernels, [0.1, 0.2], weights=weights)
    assert model.kernels is kernels and model.weights is weights
    again = clone(model).set_params(noise_variances=0.5)
    assert again.kernels == kernels and again.kernels[0] is not kernels[0]
    assert again.noise_variances == 0.5 and model.noise_variances == [0.1, 0.2]


@pytest.mark.parametrize("cls", BOTH)
def test_fit_changes_no_kernel_of_the_user(cls):
    X, Y, _ = data()
    kernel = RBF(0.3)
    model = cls(kernel, optimizer="marginal-likelihood").fit(X[:20], Y[:20])
    assert kernel == RBF(0.3) and model.prior_.kernels[0] != RBF(0.3)
    kernel.length_scale = 9.0
    frozen = cls(KERNELS, NOISE).fit(X, Y)
    assert frozen.prior_.kernels[0] is not KERNELS[0]


@pytest.mark.parametrize("cls", BOTH)
def test_pipeline_passes_outcomes_and_prediction_options_through(cls):
    X, Y, new = data()
    scaler = StandardScaler().fit(X)
    pipe = make_pipeline(StandardScaler(), cls(RBF(1.0), 0.01)).fit(X, Y)
    alone = cls(RBF(1.0), 0.01).fit(scaler.transform(X), Y)
    expected = alone.predict(scaler.transform(new), return_std=True)
    np.testing.assert_array_equal(pipe.predict(new, return_std=True), expected)
    assert pipe.score(X, Y) == alone.score(scaler.transform(X), Y)


@pytest.mark.parametrize("cls", BOTH)
def test_grid_search_finds_the_length_scale_that_predicts_the_sum_best(cls):
    X, Y, _ = data(60)
    grid = {"kernels__length_scale": [0.01, 0.5], "noise_variances": [0.003, 10.0]}
    search = GridSearchCV(cls(RBF(1.0)), grid, cv=4).fit(X, Y)
    assert search.best_params_ == {"kernels__length_scale": 0.5, "noise_variances": 0.003}
    assert search.best_score_ > 0.9
    scores = cross_val_score(search.best_estimator_, X, Y, cv=4)
    assert scores.mean() == pytest.approx(search.best_score_)


@pytest.mark.parametrize("cls", BOTH)
def test_unfitted_regressor_says_so(cls):
    with pytest.raises(NotFittedError):
        cls().predict([[0.0]])


def test_fitted_models_survive_pickling():
    X, Y, new = data()
    for cls in BOTH:
        model = cls(KERNELS, NOISE, weights=varying, prior_means=[0.1, mean_of, 0.0]).fit(X, Y)
        learned = cls(RBF(0.5), 0.01, prior_means=mean_of, optimizer="marginal-likelihood").fit(
            X[:15], Y[:15]
        )
        for fitted in (model, learned):
            again = pickle.loads(pickle.dumps(fitted))
            np.testing.assert_array_equal(again.predict(new), fitted.predict(new))


def mean_of(X):
    return 0.5 * X[:, 0]


# J = 1


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 40),
    st.sampled_from([1e-10, 1e-6, 1e-2]),
    st.floats(0.05, 2.0),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_one_group_equals_scikit_learns_regressor(T, noise, length, column, seed):
    """Also where the kernel matrix is nearly singular; where scikit-learn gives up, there is no equal."""
    rng = np.random.default_rng(seed)
    X, y, new = rng.random((T, 1)), rng.standard_normal(T), rng.random((8, 1))
    peer = GaussianProcessRegressor(RBF(length), alpha=noise, optimizer=None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer.fit(X, y)
            mean, std = peer.predict(new, return_std=True)
            covariance = peer.predict(new, return_cov=True)[1]
    except np.linalg.LinAlgError:
        return
    for cls in BOTH:
        model = cls(RBF(length), noise).fit(X, y[:, None] if column else y)
        if model.jitter_[0]:
            continue
        got = model.predict(new, return_std=True)
        np.testing.assert_allclose(got[0], mean, atol=1e-10)
        np.testing.assert_allclose(got[1], std, atol=1e-10)
        np.testing.assert_allclose(model.predict(new, return_cov=True)[1], covariance, atol=1e-10)
        np.testing.assert_array_equal(model.predict(new), got[0])


@pytest.mark.parametrize("cls", BOTH)
def test_one_observation_has_the_closed_form_posterior(cls):
    mean, std = cls(ConstantKernel(2.0) * RBF(0.5), 0.5).fit([[0.0]], [1.0]).predict([[0.5]], return_std=True)
    covariance = 2.0 * np.exp(-0.5)
    assert mean[0] == pytest.approx(covariance / 2.5)
    assert std[0] ** 2 == pytest.approx(2.0 - covariance**2 / 2.5)


# Missing outcomes


def test_missing_outcomes_are_left_out_a_group_at_a_time_and_counted():
    X, Y, new = data()
    Y[[1, 4], 0] = np.nan
    Y[7] = np.nan
    model = DecomposedGPRegressor(KERNELS, NOISE).fit(X, Y)
    assert model.n_samples_per_group_.tolist() == [27, 29, 29]
    mean = 0.0
    for j in range(3):
        told = ~np.isnan(Y[:, j])
        peer = GaussianProcessRegressor(KERNELS[j], alpha=NOISE[j], optimizer=None)
        mean = mean + peer.fit(X[told], Y[told, j]).predict(new)
    np.testing.assert_allclose(model.predict(new), mean, atol=1e-10)
    twin = AggregateGPRegressor(KERNELS, NOISE).fit(X, Y)
    complete = ~np.isnan(Y).any(axis=1)
    assert twin.n_samples_per_group_.tolist() == [27]
    same = AggregateGPRegressor(KERNELS, NOISE).fit(X[complete], Y[complete])
    np.testing.assert_array_equal(twin.predict(new), same.predict(new))


def test_group_without_any_observation_stays_at_its_prior():
    X, Y, new = data()
    Y[:, 1] = np.nan
    model = DecomposedGPRegressor(KERNELS, NOISE, prior_means=[0.0, 4.0, 0.0]).fit(X, Y)
    _, groups = model.predict(new, return_groups=True)
    np.testing.assert_array_equal(groups.mean[:, 1], 4.0)
    np.testing.assert_allclose(groups.std[:, 1] ** 2, KERNELS[1].diag(new))
    assert model.n_samples_per_group_.tolist() == [30, 0, 30]


# Degenerate input


@pytest.mark.parametrize("cls", BOTH)
def test_repeats_without_noise_predict_their_mean_and_record_jitter(cls):
    X, Y = np.array([[0.2], [0.2], [0.8]]), np.array([[1.0, 2.0], [3.0, 2.0], [0.0, 1.0]])
    model = cls(RBF(0.3), 0.0).fit(X, Y)
    mean, std = model.predict([[0.2], [0.8]], return_std=True)
    np.testing.assert_allclose(mean, [4.0, 1.0], atol=1e-5)
    assert (std < 1e-4).all() and 0 < model.jitter_.max() < 1e-8
    order = [1, 2, 0]
    np.testing.assert_allclose(cls(RBF(0.3), 0.0).fit(X[order], Y[order]).predict([[0.2]]), 4.0, atol=1e-5)


@pytest.mark.parametrize("cls", BOTH)
def test_singular_kernel_is_bayesian_linear_regression(cls):
    """DotProduct(0) has rank d: f(x) = x^T w with w ~ N(0, I)."""
    X, _, new = data()
    w = np.array([2.0, -1.0])
    model = cls(DotProduct(0.0), 0.0).fit(X, X @ w)
    np.testing.assert_allclose(model.predict(new), new @ w, atol=1e-4)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_weights_zero_everywhere_make_an_objective_that_is_zero(cls, noise):
    X, Y, new = data()
    for weights in (np.zeros(3), lambda X: np.zeros((len(X), 3))):
        mean, std = cls(RBF(0.3), noise, weights=weights).fit(X, Y).predict(new, return_std=True)
        np.testing.assert_array_equal(mean, 0.0)
        np.testing.assert_array_equal(std, 0.0)


@pytest.mark.parametrize(
    ("make", "y", "message"),
    [
        (lambda c: c(KERNELS, NOISE), np.ones((4, 2)), "kernels has 3, noise_variances has 3, y has 2"),
        (lambda c: c(RBF(), weights=[1.0, 2.0]), np.ones((4, 3)), "weights has 2, y has 3"),
        (lambda c: c(RBF(), [0.1, 0.1, 0.1], [1.0, 2.0]), np.ones((4, 2)), "noise_variances has 3, weights"),
        (lambda c: c(RBF(), prior_means=[0.0, 1.0]), np.ones((4, 3)), "prior_means has 2"),
        (lambda c: c(RBF(), -0.1), np.ones((4, 2)), "not negative"),
        (lambda c: c(RBF(), weights=np.ones((2, 2))), np.ones((4, 2)), "2 numbers, one a group"),
        (lambda c: c(RBF(), weights=[1.0, np.nan]), np.ones((4, 2)), "weights must be finite"),
        (lambda c: c(RBF(), weights=lambda X: X), np.ones((4, 2)), r"shape \(4, 2\), not \(4, 1\)"),
        (lambda c: c(["rbf", RBF()]), np.ones((4, 2)), "one of scikit-learn's, not 'rbf'"),
        (lambda c: c("rfb"), np.ones((4, 2)), "unknown kernel family 'rfb'"),
        (lambda c: c(RBF(), optimizer="bfgs"), np.ones((4, 2)), "'marginal-likelihood', not 'bfgs'"),
        (lambda c: c(RBF(), weights=[1, 1], g=norm), np.ones((4, 2)), "not both"),
        (lambda c: c(RBF(), 0.1, g=lambda F: F).fit(np.eye(4)[:, :1], np.ones((4, 2))).predict([[0.0]]),
         np.ones((4, 2)), r"not \(\d, 2\)"),
        (lambda c: c(RBF()), np.full((4, 2), np.nan), "no observation"),
        (lambda c: c(RBF()), np.full((4, 2), np.inf), "infinity"),
        (lambda c: c(RBF()), np.ones((3, 2)), "inconsistent numbers of samples"),
        (lambda c: c("rbf"), np.array([[1.0], [np.nan], [np.nan], [np.nan]]), "1 sample of group 0"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("cls", BOTH)
def test_bad_input_is_one_line_in_words(cls, make, y, message):
    with pytest.raises(ValueError, match=message) as error:
        make(cls).fit(np.arange(4.0)[:, None], y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("cls", BOTH)
def test_wrong_columns_are_refused_when_scoring_too(cls):
    X, Y, new = data()
    model = cls(KERNELS, NOISE).fit(X, Y)
    with pytest.raises(ValueError, match="y has 2"):
        model.score(X, Y[:, :2])
    shared = cls(RBF(0.3), 0.1).fit(X, Y)
    with pytest.raises(ValueError, match="y has 2"):
        shared.score(X, Y[:, :2])
    with pytest.raises(ValueError, match="not for both"):
        model.predict(new, return_std=True, return_cov=True)


def test_decomposed_regressor_refuses_composed_values():
    X, Y, _ = data()
    with pytest.raises(ValueError, match="y has 1"):
        DecomposedGPRegressor(KERNELS, NOISE).fit(X, Y.sum(axis=1))


@pytest.mark.parametrize(
    ("model", "composed", "message"),
    [
        (AggregateGPRegressor(KERNELS, NOISE, g=norm), False, "one kernel, not 3 of groups"),
        (AggregateGPRegressor(RBF(), [0.1] * 3, optimizer="marginal-likelihood"), True, "not 3"),
        (AggregateGPRegressor(RBF(), 0.1, g=norm, prior_means=[0.0] * 3), False, "3 prior means"),
        (AggregateGPRegressor(RBF(), 0.1, g=lambda F: np.full(len(F), np.nan)), False, "g is nan or inf"),
    ],
)
def test_process_of_the_composed_value_takes_no_parameters_of_groups(model, composed, message):
    X, Y, _ = data()
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y.sum(axis=1) if composed else Y)
