"""The frontier has the policies that no other beats in all objectives."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from studies import study_of

import scenarios
from optimizer import Composition, DecomposedGP, GeneralComposition
from optimizer.composition.ready import ready
from optimizer.composition.scalarised import AUGMENTED, Scale, chebyshev
from optimizer.differences import jacobian
from scenarios.questions import frontier as tracing
from scenarios.questions.frontier import knee, nondominated, simplex


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """One trial of d-ei on two groups (x - 0.2)^2 + 1 and (x - 0.8)^2 + 1."""
    return study_of(
        tmp_path_factory.mktemp("frontier"),
        'name = "s"\nrounds = 14\ntrials = 1\nseed = 4\nagents = ["d-ei"]\n[environment]\nname = "valley"\n'
        "[prior]\nsamples = 0\n",
    )


def test_rows_that_others_reach_and_exceed_are_dominated():
    values = np.array([[1, 5], [2, 4], [2, 3], [3, 3], [0, 5], [3, 3]])
    by_hand = [
        not any((other >= one).all() and (other > one).any() for other in values.tolist() and values)
        for one in values
    ]
    assert nondominated(values).tolist() == by_hand == [True, True, False, True, False, True]


def test_the_knee_is_furthest_above_the_line_through_the_ends():
    x = np.linspace(0, 1, 21)
    circle = np.stack([x, np.sqrt(1 - x**2)], axis=1)
    assert circle[knee(circle), 0] == pytest.approx(np.sqrt(0.5), abs=0.03)


def test_the_search_climbs_the_chebyshev_value_of_the_posterior_means():
    """Its value by hand, and its gradient by differences: off the kinks, where they are the same."""
    rng = np.random.default_rng(2)
    total = Composition(3, weights=[1.0, 2.0, 0.5], sense="minimize")
    worst = GeneralComposition.of(ready("worst-group", "minimize"), 3)
    model = DecomposedGP([RBF(0.5), RBF(0.8), RBF(0.3)], [1e-3] * 3, total)
    model.observe(rng.random((20, 2)), rng.normal(size=(20, 3)))
    search = SimpleNamespace(limits=None, model=model, maximise=lambda *functions: functions)
    weights, low, span = np.array([0.3, 0.7]), np.array([-4.0, -2.0]), np.array([3.0, 1.5])
    goal = chebyshev([total, worst], weights, Scale(low, span))
    value, value_and_gradient = tracing._toward(search, [total, worst], goal)
    X = rng.random((25, 2))
    means, _ = model.predict_groups(X)
    signed = np.stack([-means @ [1.0, 2.0, 0.5], -means.max(axis=1)], axis=1)
    lacking = weights * (1 - (signed - low) / span)
    expected = -lacking.max(axis=1) - AUGMENTED * lacking.sum(axis=1)
    values, gradients = value_and_gradient(X)
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    np.testing.assert_allclose(value(X), expected, rtol=1e-9)
    by_differences = jacobian(lambda points: value(points)[:, None], X)[..., 0]
    np.testing.assert_allclose(gradients, by_differences, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("objectives", [2, 3])
def test_weights_lie_on_the_simplex_and_differ(objectives):
    weights = simplex(objectives, 16)
    assert weights.shape == (16, objectives) and (weights > 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert len(np.unique(weights.round(9), axis=0)) == 16


def test_the_frontier_between_two_groups_lies_between_their_optima(study):
    (found,) = scenarios.frontier(study, ["left", "right"])
    points = [one for one in found.points if one.on_frontier]
    x = np.array([one.policy["x"] for one in points])
    assert x.min() == pytest.approx(0.2, abs=0.06) and x.max() == pytest.approx(0.8, abs=0.06)
    assert len(points) > 8
    means = np.array([[one.objectives[name].mean for name in ("left", "right")] for one in points])
    truth = np.stack([(x - 0.2) ** 2 + 1, (x - 0.8) ** 2 + 1], axis=1)
    np.testing.assert_allclose(means, truth, atol=0.04)
    assert nondominated(-means).all()
    (chosen,) = [one for one in points if one.knee]
    assert chosen.policy["x"] == pytest.approx(0.5, abs=0.05)
    left = [one.objectives["left"] for one in points]
    low, high = np.array([one.low for one in left]), np.array([one.high for one in left])
    assert np.mean((low <= truth[:, 0]) & (truth[:, 0] <= high)) > 0.8


def test_no_point_of_a_frontier_is_beaten_by_another_in_the_numbers_told(study):
    (found,) = scenarios.frontier(study, ["total", "worst-group"])
    points = [one for one in found.points if one.on_frontier]
    means = np.array([[one.objectives[name].mean for name in ("total", "worst-group")] for one in points])
    assert len(points) > 1 and nondominated(-means).all()


def test_limits_and_fixed_levers_hold_on_the_whole_frontier(study):
    question = scenarios.Question(limits=("left <= 1.1",))
    (found,) = scenarios.frontier(study, ["total", "right"], question, points=5)
    assert all(one.probability >= 0.949 for one in found.points if one.on_frontier)
    assert all((one.policy["x"] - 0.2) ** 2 <= 0.1 + 0.02 for one in found.points)
    (held,) = scenarios.frontier(study, ["left", "right"], scenarios.Question(fix=("x=0.4",)), points=2)
    assert [one.policy["x"] for one in held.points if one.on_frontier] == [0.4]


def test_the_command_prints_a_table_json_csv_and_a_figure(study, policyloop, tmp_path):
    words = ["frontier", study.path, "--between", "total", "--and", "worst-group", "--points", 3]
    code, out, _ = policyloop(*words, "--figure", tmp_path / "f")
    assert code == 0 and "knee" in out and (tmp_path / "f.svg").is_file()
    (found,) = json.loads(policyloop(*words, "--format", "json")[1])
    assert found["objectives"] == ["total", "worst-group"] and found["senses"] == ["minimize", "minimize"]
    assert policyloop(*words, "--format", "csv")[1].startswith(
        "world,on_frontier,knee,tried,x_x,total,total_low"
    )
    three = policyloop(*words, "--and", "left", "--figure", tmp_path / "three")
    assert three[0] == 0 and (tmp_path / "three.png").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--between", "total", "--and", "total"], "two or three different ones"),
        (["--between", "total", "--and", "lft"], "objective 'lft'"),
        (["--between", "left", "--and", "right", "--limit", "left <= 0.1"], "no policy is known to keep"),
        (["--between", "left", "--and", "right", "--trial", "9"], "no trial 9"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(study, policyloop, words, said):
    code, _, err = policyloop("frontier", study.path, "--points", 2, "--quiet", *words)
    assert code == 2 and said in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("limits", [(), ("left <= 1.3",)])
def test_what_was_simulated_beside_the_frontier_is_beaten_in_all(study, limits):
    (found,) = scenarios.frontier(study, ["total", "left"], scenarios.Question(limits=limits), points=4)
    means = np.array([[one.objectives[name].mean for name in found.objectives] for one in found.points])
    beside = [i for i, one in enumerate(found.points) if not one.on_frontier]
    assert beside and all(found.points[i].tried for i in beside)
    for i in beside:
        assert ((means <= means[i]).all(axis=1) & (means < means[i]).any(axis=1)).any()


def test_objectives_whose_ends_differ_by_rounding_alone_have_no_frontier():
    low, high = np.array([22.0866663221, -3.0, 0.0]), np.array([22.0866663221 + 1e-12, -1.0, 0.0])
    span = tracing.spans(low, high)
    np.testing.assert_allclose(span, [1.0, 2.0, 1.0])
    assert tracing._apart(np.array([low, high])[:, :1] / span[:1]) == [0]
