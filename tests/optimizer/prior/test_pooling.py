"""Pooled hyperparameters: the same kernels in outcomes' units, whatever units they were learned in."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.prior.families import Family
from optimizer.prior.learned import Learned, LearnedGroup
from optimizer.prior.own_rounds import OwnRounds, draws
from optimizer.prior.pooling import pooled

X = np.random.default_rng(0).random((5, 2)) * [3.0, 50.0]
FAMILIES = {"rbf": 2, "matern-1/2": 2, "matern-3/2": 2, "matern-5/2": 2, "rq": 2}


def group(theta, unit, seed=0, S=24, learns_noise=True, mean=1.0, varies=True):
    rng = np.random.default_rng(seed)
    theta = np.asarray(theta, dtype=float)
    weights = rng.dirichlet(np.ones(S))
    some = theta + 0.1 * rng.standard_normal((S, len(theta)))
    return LearnedGroup(theta, some, weights, learns_noise, unit, mean, 0.25, varies)


def learned(family, theta, unit, span, **options):
    groups = [group(theta, unit, **options), group(np.asarray(theta) + 0.3, 7 * unit, **options)]
    return Learned(family, np.asarray(span, dtype=float), groups, 12, 12)


def moved(one, unit, span):
    """The same beliefs in other units of outcomes and of features; by what they mean, not by theta."""
    groups = []
    for g in one.groups:
        to = unit * g.unit
        change = np.zeros_like(g.best)
        change[0] = -2 * np.log(unit)  # amplitude times unit^2 stays
        if one.family == "rq":
            change[2] = np.log(one.span[0] / span[0])  # length times span stays; its mixture has no unit
        else:
            change[1:3] = np.log(one.span) - np.log(span)
        if g.learns_noise:
            change[-1] = -2 * np.log(unit)
        groups.append(replace(g, best=g.best + change, draws=g.draws + change, unit=to))
    return replace(one, span=np.asarray(span, dtype=float), groups=groups)


THETA = np.array([0.4, -0.5, 0.2, -3.0])


@pytest.mark.parametrize("learns_noise", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_what_all_learned_alike_in_different_units_is_pooled_to_the_same_kernels(family, learns_noise):
    theta = THETA if learns_noise else THETA[:-1]
    spans = ([2.0, 2.0], [5.0, 5.0]) if family == "rq" else ([2.0, 30.0], [5.0, 11.0])
    one = learned(family, theta, 4.0, spans[0], learns_noise=learns_noise)
    other = moved(one, 3.0, spans[1])
    together = pooled([one, other], 30)
    kind = Family(family)
    for j in range(2):
        alone = one.groups[j].prior(one.groups[j].best, kind, one.span)
        both = together.groups[j].prior(together.groups[j].best, kind, together.span)
        np.testing.assert_allclose(both.kernels[0](X), alone.kernels[0](X), rtol=1e-10)
        np.testing.assert_allclose(both.noise_variances, alone.noise_variances, rtol=1e-10)
        assert both.means[0] == alone.means[0]


def test_every_draw_describes_the_kernel_that_it_was():
    one = learned("rbf", THETA, 4.0, [2.0, 30.0])
    other = moved(learned("rbf", THETA + 0.5, 4.0, [2.0, 30.0], seed=3), 0.2, [5.0, 11.0])
    together = pooled([one, other], 30)
    kind = Family("rbf")

    def kernels(of, rows):
        g = of.groups[0]
        return [g.prior(g.draws[s], kind, of.span).kernels[0](X) for s in rows]

    S, half = draws(30), draws(30) // 2
    leading = [np.argsort(-of.groups[0].weights, kind="stable")[:half] for of in (one, other)]
    expected = [*kernels(one, leading[0]), *kernels(other, leading[1])]
    np.testing.assert_allclose(kernels(together, range(S)), expected, rtol=1e-9)


def test_the_most_probable_is_the_mean_of_the_logarithms():
    one, other = (learned("rbf", THETA + d, 4.0, [2.0, 30.0]) for d in (0.0, 1.0))
    together = pooled([one, other, other], 30)
    np.testing.assert_allclose(together.groups[0].best, THETA + 2 / 3)


@pytest.mark.parametrize("observations", [10, 40, 100, 200, 480, 481, 5000])
@pytest.mark.parametrize("agents", [2, 3, 5])
def test_there_are_as_many_draws_as_so_many_observations_take(agents, observations):
    some = [learned("rbf", THETA + 0.1 * i, 4.0, [2.0, 30.0], seed=i) for i in range(agents)]
    together = pooled(some, observations)
    for g in together.groups:
        assert len(g.draws) == len(g.weights) == draws(observations)
        assert g.weights.sum() == pytest.approx(1.0)
    assert together.learned_at == observations
    assert len(together.mixture().components) == draws(observations)
    if draws(observations) == 1:
        np.testing.assert_array_equal(together.groups[0].draws[0], together.groups[0].best)


def test_one_alone_is_what_it_was():
    one = learned("rbf", THETA, 4.0, [2.0, 30.0])
    assert pooled([one], 30) is one


def test_a_group_that_did_not_vary_has_no_say():
    varied = learned("rbf", THETA, 4.0, [2.0, 30.0])
    flat = learned("rbf", THETA + 9, 4.0, [2.0, 30.0], varies=False)
    together = pooled([flat, varied], 30)
    np.testing.assert_allclose(together.groups[0].best, THETA)
    assert together.groups[0].varies
    assert not pooled([flat, flat], 30).groups[0].varies


def test_what_does_not_go_together_is_refused():
    one = learned("rbf", THETA, 4.0, [2.0, 30.0])
    with pytest.raises(ValueError, match="different kernel families"):
        pooled([one, learned("matern-3/2", THETA, 4.0, [2.0, 30.0])], 30)
    with pytest.raises(ValueError, match="noise"):
        pooled([one, learned("rbf", THETA[:-1], 4.0, [2.0, 30.0], learns_noise=False)], 30)


def test_agents_that_learned_from_the_same_function_are_pooled_to_kernels_near_theirs():
    """In units of samples whose spans differ: amplitudes and lengths of the pooled lie between theirs."""
    rng, found = np.random.default_rng(1), []
    for seed, width in ((0, 1.0), (1, 0.6)):
        P = rng.random((15, 2)) * width
        Y = np.sin(4 * P[:, :1]) + 0.05 * rng.standard_normal((15, 1))
        found.append(OwnRounds("rbf", seed).learn(P, Y, np.full((15, 1), 0.0025)))
    together, kind = pooled(found, 30), Family("rbf")
    lengths = []
    for one in (*found, together):
        kernel = one.groups[0].prior(one.groups[0].best, kind, one.span).kernels[0]
        lengths.append(kernel.k1.k2.length_scale[0])
    assert min(lengths[:2]) <= lengths[2] <= max(lengths[:2])
