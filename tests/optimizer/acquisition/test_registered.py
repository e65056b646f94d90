"""Acquisitions and kernel families of others, by name."""

from typing import ClassVar

import numpy as np
import pytest
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF, DotProduct, ExpSineSquared, Matern

import optimizer
from optimizer import Composition, Prior, ScoredAcquisition, SearchSpace, learn_prior, make_agent
from optimizer.acquisition import names as acquisitions
from optimizer.prior import families
from optimizer.prior.families import Family


class Spread(ScoredAcquisition):
    """The posterior variance: what is known least."""

    seen: ClassVar[list[float]] = []

    @classmethod
    def of(cls, search):
        cls.seen.append(search.beta)
        return cls()

    def score_moments(self, mean, variance):
        return variance

    def slopes_in_moments(self, mean, variance):
        return np.zeros_like(mean), np.ones_like(mean)


class Mine(RBF):
    """A kernel class that no list of ours has."""


def two_scales(scale, bounds):
    return RBF(scale, bounds) + Matern(3 * scale, bounds, nu=0.5)


def mine(scale, bounds):
    return Mine(scale, bounds)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    for module, table in ((acquisitions, "_registered"), (families, "_registered"), (families, "_classes")):
        monkeypatch.setattr(module, table, {})


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_a_registered_acquisition_chooses_where_variance_is_largest(name):
    optimizer.register_acquisition("spread", Spread)
    rows = np.linspace(0, 1, 11)[:, None]
    agent = make_agent(
        name,
        SearchSpace(candidates=rows),
        Composition(1, weights=[1.0]),
        prior=Prior([RBF(0.2)], np.array([1e-6]), [0.0]),
        acquisition="spread",
    )
    agent.tell([2], [[5.0]] if name == "d-gpucb" else [5.0])
    assert agent.ask()[0] == 10, "furthest from 0.2, whatever the mean says"
    assert Spread.seen[-1] > 0


def test_an_agent_with_another_acquisition_is_the_one_named_after_it():
    space, g = SearchSpace(bounds=Bounds([0, 0], [1, 1])), Composition(2, weights=[1.0, 1.0])
    prior = Prior([RBF(0.3), RBF(0.3)], np.array([1e-4, 1e-4]), [0.0, 0.0])
    asked = []
    for name, settings in (("d-ei", {}), ("d-gpucb", {"acquisition": "ei"})):
        agent = make_agent(name, space, g, prior=prior, seed=3, **settings)
        agent.tell([[0.2, 0.8]], [[1.0, 2.0]])
        asked.append(agent.ask())
    assert np.array_equal(*asked)


@pytest.mark.parametrize(
    ("name", "what", "said"),
    [
        ("", Spread, "must not be empty"),
        ("ei", Spread, "'ei' is already registered"),
        ("mine", Mine, "must be a subclass of optimizer.Acquisition"),
        ("mine", ScoredAcquisition, "lacks of, score_moments, slopes_in_moments"),
    ],
)
def test_what_is_no_acquisition_is_refused(name, what, said):
    with pytest.raises(ValueError, match=said):
        optimizer.register_acquisition(name, what)


def test_an_unknown_acquisition_is_told_in_one_line_with_those_that_are_known():
    space, g = SearchSpace(candidates=np.zeros((1, 1))), Composition(1, weights=[1.0])
    with pytest.raises(
        ValueError, match=r"unknown acquisition 'eii'; did you mean 'ei'\? \(accepted: ucb, ei"
    ):
        make_agent("d-gpucb", space, g, acquisition="eii")
    with pytest.raises(ValueError, match="agent 'random' has no acquisition to replace by 'ei'"):
        make_agent("random", space, g, acquisition="ei")


def test_a_registered_family_of_rbf_learns_what_the_family_rbf_learns():
    optimizer.register_family("same", lambda scale, bounds: RBF(scale, bounds))
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 2)) * [1.0, 50.0]
    Y = np.sin(3 * X[:, :1]) + np.cos(X[:, 1:] / 20)
    one, other = (learn_prior(name, X, Y, seed=1) for name in ("rbf", "same"))
    np.testing.assert_allclose(other.kernels[0](X), one.kernels[0](X), rtol=1e-4)
    np.testing.assert_allclose(other.noise_variances, one.noise_variances, rtol=1e-3)


@pytest.mark.parametrize(
    "family", [two_scales, mine, lambda scale, bounds: ExpSineSquared(float(scale[0]), 1.0, bounds, bounds)]
)
def test_hyperparameters_in_units_of_spans_are_the_same_kernel_of_the_features_themselves(family):
    optimizer.register_family("f", family)
    kind, X = Family("f"), np.random.default_rng(1).uniform(size=(6, 3)) * [1.0, 10.0, 200.0]
    span = kind.span(X)
    kernel = kind.kernel(np.full(3, 0.4), (1e-2, 1e1))
    theta = kernel.theta + 0.1
    np.testing.assert_allclose(kind.in_units(theta, span)(X), kernel.clone_with_theta(theta)(X / span))
    moved = kind.in_units(theta + kind.shift(len(theta), span, 2 * span), 2 * span)
    np.testing.assert_allclose(moved(X), kind.in_units(theta, span)(X))


@pytest.mark.parametrize(
    ("name", "family", "said"),
    [
        ("", mine, "must not be empty"),
        ("rbf", mine, "'rbf' is already registered"),
        ("f", lambda scale, bounds: "rbf", "must make a scikit-learn Kernel, not 'rbf'"),
        ("f", lambda scale: None, "'f' fails for 1 features: TypeError"),
        ("f", lambda scale, bounds: DotProduct(), "in units of length scales that are free"),
        ("f", lambda scale, bounds: RBF(scale, "fixed"), "in units of length scales that are free"),
    ],
)
def test_what_is_no_family_is_refused(name, family, said):
    with pytest.raises(ValueError, match=said):
        optimizer.register_family(name, family)


def test_an_unknown_family_is_told_in_one_line():
    with pytest.raises(
        ValueError, match=r"unknown kernel family 'rbg'; did you mean 'rbf'\? \(accepted: rbf"
    ):
        Family("rbg")


def test_a_kernel_class_of_a_registered_family_is_stored_and_made_again_only_while_it_is_registered():
    optimizer.register_family("mine", mine)
    X = np.random.default_rng(2).uniform(size=(12, 1))
    prior = learn_prior("mine", X, np.sin(5 * X), jobs=2)
    stored = prior.to_dict()
    again = Prior.from_dict(stored)
    assert type(again.kernels[0].k2) is Mine
    assert np.array_equal(again.kernels[0](X), prior.kernels[0](X))
    families._classes.clear()
    with pytest.raises(ValueError, match="'Mine' is of the family 'mine', which is not registered"):
        Prior.from_dict(stored)
    with pytest.raises(TypeError, match="Mine cannot be stored"):
        prior.to_dict()


def test_an_agent_learns_a_registered_family_from_its_own_rounds():
    optimizer.register_family("two", two_scales)
    agent = make_agent(
        "d-gpucb", SearchSpace(bounds=Bounds([0], [1])), Composition(1, weights=[1.0]), family="two"
    )
    for x in np.linspace(0, 1, 7)[:, None]:
        agent.tell([x], [[np.sin(4 * x[0])]])
    assert agent.learned.family == "two" and np.isfinite(agent.ask()).all()
    mean, _ = agent.predict([[0.5]])
    assert mean[0] == pytest.approx(np.sin(2.0), abs=0.05)
