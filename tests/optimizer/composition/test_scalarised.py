"""The augmented Chebyshev function of several objectives, and the frontier that its optima are."""

import numpy as np
import pytest

from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import Composition
from optimizer.composition.ready import GroupGap, OneGroup, WorstGroup
from optimizer.composition.scalarised import AUGMENTED, Scale, chebyshev, nondominated, random_weights

RNG = np.random.default_rng(3)


def objectives():
    """A sum to be minimised whose weights vary, the worst group, and a product to be maximised."""
    varying = Composition(
        3, weights=lambda x: np.stack([1 + x[:, 0], 2 - x[:, 0], 0 * x[:, 0] + 1], 1), sense="minimize"
    )
    product = GeneralComposition(3, lambda f, x: f[..., 0] * f[..., 1] + x[..., 0])
    return [varying, GeneralComposition.of(WorstGroup("minimize"), 3), product]


def test_it_is_minus_the_largest_weighed_lack_and_a_share_of_their_sum():
    outcomes, policies = RNG.normal(size=(4, 5, 3)), RNG.random((5, 2))
    weights, scale = np.array([0.2, 0.5, 0.3]), Scale(np.array([-4.0, -2.0, 0.0]), np.array([2.0, 1.0, 3.0]))
    found = chebyshev(objectives(), weights, scale).compose(outcomes, policies)
    for s in range(4):
        for i in range(5):
            f, x = outcomes[s, i], policies[i]
            signed = [-(f @ [1 + x[0], 2 - x[0], 1]), -f.max(), f[0] * f[1] + x[0]]
            lacks = [
                w * (1 - (v - low) / span)
                for w, v, low, span in zip(weights, signed, scale.low, scale.span, strict=True)
            ]
            assert found[s, i] == pytest.approx(-max(lacks) - AUGMENTED * sum(lacks), rel=1e-12)


def test_its_slopes_are_those_of_differences():
    outcomes, policies = RNG.normal(size=(6, 3)), RNG.random((6, 2))
    g = chebyshev(objectives(), np.array([0.2, 0.5, 0.3]), Scale(np.zeros(3), np.ones(3)))
    step = 1e-6 * np.eye(3)
    by_hand = [(g.compose(outcomes + h, policies) - g.compose(outcomes - h, policies)) / 2e-6 for h in step]
    np.testing.assert_allclose(g.slopes(outcomes, policies), np.stack(by_hand, axis=1), rtol=1e-5, atol=1e-6)


def test_its_optima_for_all_weights_are_a_frontier_that_is_not_convex():
    angles = np.linspace(0, np.pi / 2, 401)
    values = 1 - np.stack([np.cos(angles), np.sin(angles)], axis=1)  # to be maximised: bulges inwards
    sums = [Composition(2, weights=row) for row in np.eye(2)]
    scale, found = Scale.of(values), set()
    for share in np.linspace(0.02, 0.98, 97):
        g = chebyshev(sums, np.array([share, 1 - share]), scale)
        found.add(int(g.compose(values, np.zeros((401, 1))).argmax()))
    assert len(found) > 50 and np.diff(sorted(found)).max() < 90
    weighted = {int((values @ [w, 1 - w]).argmax()) for w in np.linspace(0.02, 0.98, 97)}
    assert weighted == {0, 400}  # a weighted sum finds its ends alone


def test_no_row_is_nondominated_that_another_reaches_and_exceeds():
    values = RNG.integers(0, 4, size=(60, 3)).astype(float)
    by_hand = [not any((other >= one).all() and (other > one).any() for other in values) for one in values]
    assert nondominated(values).tolist() == by_hand


def test_objectives_are_scaled_from_the_worst_to_the_best_on_the_frontier():
    values = np.array([[0.0, 10.0], [4.0, 6.0], [1.0, 1.0], [-50.0, 0.0]])
    scale = Scale.of(values)
    assert scale.low.tolist() == [0.0, 6.0] and scale.span.tolist() == [4.0, 4.0]
    one = Scale.of(np.array([[3.0, 3.0], [1.0, 2.0]]))  # one policy is best in both: the range of all
    assert one.low.tolist() == [1.0, 2.0] and one.span.tolist() == [2.0, 1.0]
    assert Scale.of(np.ones((2, 2))).span.tolist() == [1.0, 1.0]
    over = Scale.over(values)
    assert over.low.tolist() == [-50.0, 0.0] and over.span.tolist() == [54.0, 10.0]
    assert Scale.over(np.ones((2, 2))).span.tolist() == [1.0, 1.0]


def test_random_weights_are_those_of_uniform_directions():
    drawn = np.array([random_weights(3, np.random.default_rng(i)) for i in range(4000)])
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    direction = 1 / drawn
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    np.testing.assert_allclose((direction**2).mean(axis=0), 1 / 3, atol=0.015)
    np.testing.assert_allclose((direction**4).mean(axis=0), 1 / 5, atol=0.015)  # of a uniform direction


def test_the_hypervolume_is_the_mean_square_of_the_best_lengths_over_directions():
    """Zhang & Golovin 2020, lemma 5, of two objectives: the area is pi / 4 times E[max of length^2]."""
    values = RNG.random((15, 2))
    sums = [Composition(2, weights=row) for row in np.eye(2)]
    scale, lengths = Scale(np.zeros(2), np.ones(2)), []
    for i in range(3000):
        weights = random_weights(2, np.random.default_rng(i))
        size = np.linalg.norm(1 / weights)  # 1 / w is the direction, times this
        g = chebyshev(sums, size * weights, scale, 0.0).compose(values, np.zeros((15, 1)))
        added = AUGMENTED * size * (values @ weights)
        lengths.append((g - added).max())
    assert np.pi / 4 * np.mean(np.square(lengths)) == pytest.approx(hypervolume(values), rel=0.02)


def hypervolume(values):
    """The area under a staircase."""
    total, highest = 0.0, 0.0
    for x, y in sorted(values.tolist(), reverse=True):
        total += x * max(0.0, y - highest)
        highest = max(highest, y)
    return total


def test_one_group_is_its_own_outcome_with_its_own_moments():
    f = RNG.normal(size=(2, 4, 3))
    one = OneGroup("minimize", 1)
    np.testing.assert_array_equal(one(f), f[..., 1])
    np.testing.assert_array_equal(one.slopes(f), np.broadcast_to([0.0, 1.0, 0.0], f.shape))
    moments = one.moments(f[0], np.abs(f[1]))
    np.testing.assert_array_equal(moments.variance, np.abs(f[1])[:, 1])
    assert GroupGap("maximize").own_sense == "minimize" and one.own_sense == "minimize"
