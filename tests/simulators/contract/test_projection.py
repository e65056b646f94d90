"""Projection onto a box cut by linear constraints, against closed forms and SciPy's quadratic programs."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, minimize

from simulators import PolicySpace


def space(lower, upper, A, least, most):
    labels = [f"x{i}" for i in range(len(lower))]
    return PolicySpace(
        labels, [""] * len(lower), bounds=Bounds(lower, upper), constraint=LinearConstraint(A, least, most)
    )


@pytest.mark.parametrize(
    ("least", "most", "point", "nearest"),
    [
        (1.0, np.inf, [0.1, 0.3], [0.4, 0.6]),  # onto the lower limit: each entry grows alike
        (1.0, np.inf, [-0.5, 0.9], [0.0, 1.0]),
        (1.0, np.inf, [0.8, 0.9], [0.8, 0.9]),
        (-np.inf, 1.0, [0.8, 0.6], [0.6, 0.4]),
        (0.5, 1.0, [0.1, 0.1], [0.25, 0.25]),
        (0.5, 1.0, [0.9, 0.9], [0.5, 0.5]),
        (1.0, 1.0, [0.2, 0.2], [0.5, 0.5]),
    ],
)
def test_the_nearest_policy_between_two_limits_of_a_sum_is_the_closed_form(least, most, point, nearest):
    one = space([0, 0], [1, 1], [[1, 1]], least, most)
    np.testing.assert_allclose(one.project(point), nearest, atol=1e-12)
    same = space([0, 0], [1, 1], [[1, 1], [2, 2]], [least, -np.inf], [most, 99])  # by the other algorithm
    np.testing.assert_allclose(same.project(point), nearest, atol=1e-9)


@pytest.mark.parametrize("rows", [1, 3])
def test_the_nearest_policy_is_that_of_a_quadratic_program(rows):
    rng = np.random.default_rng(rows)
    kept = {"below": 0, "above": 0, "inside": 0}
    for _ in range(25):
        lower, upper = rng.uniform(-2, -1, 4), rng.uniform(1, 2, 4)
        A = rng.standard_normal((rows, 4))
        middle = A @ rng.uniform(lower, upper)
        least, most = middle - 0.3, middle + 0.3
        one, point = space(lower, upper, A, least, most), 2 * rng.standard_normal(4)
        found = one.project(point)
        assert one.contains(found[None])[0]
        value = A @ np.clip(point, lower, upper)
        kept["below" if (value < least).any() else "above" if (value > most).any() else "inside"] += 1
        program = minimize(
            lambda x, p=point: 0.5 * np.sum((x - p) ** 2),
            rng.uniform(lower, upper),
            jac=lambda x, p=point: x - p,
            method="SLSQP",
            bounds=Bounds(lower, upper),
            constraints=[LinearConstraint(A, least, most)],
            options={"ftol": 1e-14, "maxiter": 200},
        )
        assert np.sum((found - point) ** 2) <= 2 * program.fun + 1e-7
    assert kept["below"] > 2 and kept["above"] > 2
