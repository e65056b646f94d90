"""Worlds drawn from Gaussian processes: exact, independent, repeatable."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

import simulators
from simulators import PolicySpace, Synthetic, check_environment, make
from simulators.synthetic.gaussian_field import draw, factor, grid_points, kernel_table

KERNELS = [
    RBF(0.02),
    RBF(0.2),
    RBF(2.0),
    Matern(0.05, nu=1.0),
    Matern(2.0, nu=2.0),
    Matern(0.3, nu=0.5),
    RationalQuadratic(0.5, 0.05),
    RationalQuadratic(2.0, 0.25),
]


class UnitVectors:
    """In place of normal numbers, the unit vectors: what is drawn from them are the columns of a matrix."""

    def __init__(self, n):
        self.vectors = iter(np.eye(n))

    def standard_normal(self, shape):
        return next(self.vectors).reshape(shape)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("shape", [(40,), (1,), (2,), (5, 8), (3, 4, 3)], ids=str)
def test_the_covariance_of_a_draw_is_the_kernel_matrix(kernel, shape):
    n = int(np.prod(shape))
    unit = UnitVectors(n)
    A = np.stack([draw(kernel, shape, unit) for _ in range(n)], axis=1)
    assert np.abs(A @ A.T - kernel(grid_points(shape))).max() < 1e-11


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_factor_of_a_thousand_points_is_exact_to_a_trillionth(kernel):
    L, pivots = factor(kernel_table(kernel, (1000,)))
    assert np.abs(L @ L.T - kernel(grid_points((1000,)))).max() < 2e-12
    assert len(np.unique(pivots)) == L.shape[1]


def test_a_smooth_kernel_has_a_narrow_factor():
    assert factor(kernel_table(RBF(0.2), (1000,)))[0].shape[1] < 30


def test_rounding_does_not_change_a_draw_by_more_than_a_millionth():
    # Mirrored points tie for the next pivot; on another machine another of the two would be the larger one.
    rng = np.random.default_rng(0)
    z = rng.standard_normal(500)
    for kernel in KERNELS:
        table = kernel_table(kernel, (500,))
        near = table * (1 + 4e-16 * rng.choice([-1, 0, 1], 500))
        (L, pivots), (near_L, near_pivots) = factor(table), factor(near)
        assert np.abs(L @ z[pivots] - near_L @ z[near_pivots]).max() < 1e-6


def test_draws_have_the_covariance_of_their_kernel_and_none_with_each_other():
    J = 600
    F = Synthetic(groups=J, length_scale=0.3, points=12, seed=3).functions
    K = RBF(0.3)(np.linspace(0, 1, 12)[:, None])
    bound = 4.5 / np.sqrt(J)  # standard errors of a covariance of unit normals are at most sqrt(2 / J)
    assert np.abs(F.mean(axis=1)).max() < bound
    assert np.abs(F @ F.T / J - K).max() < np.sqrt(2) * bound
    assert np.abs(F[:, :-1] @ F[:, 1:].T / (J - 1)).max() < bound


def test_functions_of_a_world_are_not_copies_of_each_other():
    F = make("synthetic", length_scale=(0.02, 0.05)).functions
    correlations = np.corrcoef(F.T) - np.eye(10)
    assert np.abs(correlations).max() < 0.7


@pytest.mark.parametrize(
    "options", [{}, {"family": "rq", "d": 2, "points": 9}, {"family": "matern", "points": 99}]
)
def test_equal_seeds_give_the_same_world_bit_for_bit(options):
    one, again, other = (make("synthetic", seed=seed, **options) for seed in (7, 7, 8))
    assert one.kernels == again.kernels
    assert np.array_equal(one.functions, again.functions)
    assert not np.isclose(one.functions, other.functions).any(axis=0).all()
    assert other.kernels != one.kernels


@pytest.mark.slow
def test_another_process_with_other_threads_draws_the_same_bits():
    code = (
        "import simulators; print(simulators.make('synthetic', seed=5, groups=3).functions.tobytes().hex())"
    )
    there = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=Path(simulators.__file__).parents[1],
        check=True,
        env={"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
    )
    assert there.stdout.strip() == make("synthetic", seed=5, groups=3).functions.tobytes().hex()


def test_a_smaller_world_holds_the_first_functions_of_a_larger_one():
    small, large = (make("synthetic", groups=J, seed=4) for J in (3, 10))
    assert small.kernels == large.kernels[:3]
    assert np.array_equal(small.functions, large.functions[:, :3])


def test_hyperparameters_fill_their_ranges():
    scales = [kernel.length_scale for kernel in Synthetic(groups=300).kernels]
    assert 0.02 <= min(scales) < 0.03 and 0.19 < max(scales) <= 0.2
    assert np.mean(scales) == pytest.approx(0.11, abs=0.01)
    nus = [kernel.nu for kernel in Synthetic(groups=300, family="matern").kernels]
    assert 1 <= min(nus) < 1.1 and 1.9 < max(nus) <= 2
    alphas = [kernel.alpha for kernel in Synthetic(groups=300, family="rq", alpha=(0.05, 0.25)).kernels]
    assert 0.05 <= min(alphas) < 0.07 and 0.23 < max(alphas) <= 0.25
    assert Synthetic(family="matern", nu=1.5, length_scale=0.3).kernels[0] == Matern(0.3, "fixed", nu=1.5)


@pytest.mark.parametrize(("d", "points"), [(1, 1000), (2, 1024), (3, 1000)])
def test_candidates_are_a_grid_of_about_a_thousand_points_that_holds_the_corners(d, points):
    space = make("synthetic", d=d).policy_space
    assert isinstance(space, PolicySpace) and space.size == points
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * d)).reshape(d, -1).T
    assert all((space.candidates == corner).all(axis=1).any() for corner in corners)
    assert make("synthetic", d=2, points=(3, 4)).policy_space.candidates.shape == (12, 2)


def test_a_step_is_the_function_plus_noise_of_the_stated_variance():
    env = make("synthetic", groups=4, points=50, noise_variance=[0.0, 1.0, 4.0, 9.0])
    env.reset(0)
    noise = np.array([env.step(20).values for _ in range(500)]) - env.expected([20])[0]
    assert not noise[:, 0].any()
    assert noise[:, 1:].var(axis=0) == pytest.approx([1, 4, 9], rel=0.25)
    assert env.step(20).noise_variance.tolist() == [0, 1, 4, 9]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (2.0, lambda x, f: 2 * f.sum(axis=1)),
        ([1.0, 0.0, -3.0], lambda x, f: f[:, 0] - 3 * f[:, 2]),
        ("linear", lambda x, f: f.sum(axis=1) + (2 * x - 1) * (f[:, 2] - f[:, 0])),
        ("cosine", lambda x, f: sum(np.cos(2 * np.pi * (x + j / 3)) * f[:, j] for j in range(3))),
        (
            lambda X: np.hstack([X, X**2, 1 - X]),
            lambda x, f: x * f[:, 0] + x**2 * f[:, 1] + (1 - x) * f[:, 2],
        ),
    ],
)
def test_the_objective_is_the_weighted_sum(weights, expected):
    env = make("synthetic", groups=3, points=60, weights=weights)
    rows = np.array([0, 17, 59, 17])
    x, f = env.policy_space.candidates[rows, 0], env.expected(rows)
    assert env.compose(f, rows) == pytest.approx(expected(x, f), abs=1e-12)
    assert (env.weights(rows) * f).sum(axis=1) == pytest.approx(expected(x, f), abs=1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"d": 2, "weights": "cosine"}, {"d": 3, "family": "rq", "groups": 2}, {"groups": 1, "points": 1}],
)
def test_the_synthetic_world_honours_the_contract(options):
    assert check_environment(make("synthetic", **options)) == []


def test_a_world_travels_to_a_worker_unchanged():
    env = make("synthetic", points=30)
    assert np.array_equal(pickle.loads(pickle.dumps(env)).functions, env.functions)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 0}, "groups=0"),
        ({"groups": 2.5}, "groups=2.5 must be a whole number"),
        ({"family": "matern-3/2"}, "family='matern-3/2' must be one of 'rbf', 'matern', 'rq'"),
        ({"length_scale": (0.2, 0.02)}, "upside down"),
        ({"length_scale": (0.0, 0.2)}, "length_scale=0.0 must be a finite number > 0"),
        ({"length_scale": (0.1, 0.2, 0.3)}, "two: the ends of a range"),
        ({"nu": 1.5}, "nu=1.5 has no meaning for family='rbf'"),
        ({"alpha": 1.5, "family": "matern"}, "alpha=1.5 has no meaning for family='matern'"),
        ({"d": 4}, "d=4 must be one of 1, 2, 3"),
        ({"points": 0}, "points=0"),
        ({"d": 2, "points": (3, 4, 5)}, "2 of them, one an axis"),
        ({"noise_variance": -1}, "noise_variance of group 'f1' is -1"),
        ({"noise_variance": [1, 2]}, "10 of them"),
        ({"weights": "lineer"}, "did you mean 'linear'."),
        ({"weights": [1, 2]}, "weights must be one number, or 10 of them"),
        ({"weights": lambda X: X}, "of shape \\(1000, 10\\)"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 0.5}, "seed=0.5 must be a whole number"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_a_mistake_is_one_line(options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        make("synthetic", **options)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("rows", [[-1], [1000], [0.5], [np.nan]])
def test_rows_that_do_not_exist_are_refused(rows):
    env = make("synthetic", groups=2)
    for answer in (env.expected, env.weights, lambda r: env.compose(np.ones((1, 2)), r)):
        with pytest.raises(ValueError, match="0..999"):
            answer(rows)


def test_a_factor_that_would_not_fit_in_memory_is_refused(monkeypatch):
    monkeypatch.setattr("simulators.synthetic.gaussian_field.MOST_BYTES", 10**6)
    with pytest.raises(ValueError, match="so little smoothness on 2000 points"):
        _ = make("synthetic", groups=1, family="matern", points=2000).functions
    assert make("synthetic", groups=1, length_scale=0.5, points=2000).functions.shape == (2000, 1)
