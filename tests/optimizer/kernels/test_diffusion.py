"""The diffusion kernel on a graph, and kernels over places and time."""

import copy
import json
import pickle

import networkx as nx
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from optimizer import CandidatePosterior, Composition, GaussianProcess, Prior, learn_prior
from optimizer.kernels.diffusion import DiffusionKernel, GraphLaplacian
from optimizer.kernels.space_time import SpaceTimeKernel


def ring_with_a_tail(ring=12, tail=4):
    graph = nx.cycle_graph(ring)
    nx.add_path(graph, [0, *range(ring, ring + tail)])
    return graph


GRAPH = ring_with_a_tail()
NODES = np.arange(len(GRAPH), dtype=float)[:, None]


@pytest.mark.parametrize("normalised", [True, False])
def test_kernel_is_the_matrix_exponential_of_the_laplacian_with_mean_variance_one(normalised):
    laplacian = nx.normalized_laplacian_matrix if normalised else nx.laplacian_matrix
    heat = expm(-1.7 * laplacian(GRAPH, nodelist=range(len(GRAPH))).toarray())
    kernel = DiffusionKernel(GraphLaplacian.of(GRAPH, normalised), 1.7)
    K = kernel(NODES)
    np.testing.assert_allclose(K, heat / np.diag(heat).mean(), atol=1e-13)
    np.testing.assert_allclose(kernel.diag(NODES), np.diag(K), atol=1e-15)
    np.testing.assert_array_equal(kernel(NODES[:3], NODES[5:]), K[:3, 5:])


def test_weights_of_edges_count_and_isolated_nodes_keep_their_heat():
    graph = nx.Graph([(0, 1, {"weight": 3.0}), (1, 2)])
    graph.add_node(3)
    K = DiffusionKernel(GraphLaplacian.of(graph, normalised=False), 0.5)(np.arange(4.0))
    A = np.zeros((4, 4))
    A[[0, 1], [1, 0]], A[[1, 2], [2, 1]] = 3.0, 1.0
    heat = expm(-0.5 * (np.diag(A.sum(axis=1)) - A))
    np.testing.assert_allclose(K, heat / np.diag(heat).mean(), atol=1e-13)
    assert K[3, :3].max() < 1e-15


def test_gradient_by_log_beta_agrees_with_central_differences():
    kernel, step = DiffusionKernel(GraphLaplacian.of(GRAPH), 2.3), 1e-6
    K, gradient = kernel(NODES[::2], eval_gradient=True)
    ahead, behind = (kernel.clone_with_theta(kernel.theta + h)(NODES[::2]) for h in (step, -step))
    np.testing.assert_allclose(gradient[:, :, 0], (ahead - behind) / (2 * step), atol=1e-8)
    np.testing.assert_allclose(K, kernel(NODES[::2]), atol=1e-14)
    fixed = DiffusionKernel(GraphLaplacian.of(GRAPH), 2.3, "fixed")
    assert fixed(NODES, eval_gradient=True)[1].shape == (len(GRAPH), len(GRAPH), 0)


def test_copies_are_equal_and_share_the_graph():
    kernel = DiffusionKernel(GraphLaplacian.of(GRAPH), 2.3)
    kernel(NODES)
    for other in (clone(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert other == kernel and other is not kernel
        np.testing.assert_array_equal(other(NODES), kernel(NODES))
    assert clone(kernel).laplacian is kernel.laplacian
    assert GraphLaplacian.of(GRAPH) == GraphLaplacian.of(ring_with_a_tail())
    assert GraphLaplacian.of(GRAPH) != GraphLaplacian.of(nx.cycle_graph(len(GRAPH)))
    assert len(pickle.dumps(kernel)) < 5000  # neither eigenvectors nor kernel matrix travel


def test_posterior_on_nodes_agrees_with_scikit_learn_and_with_the_candidate_posterior():
    kernel = ConstantKernel(2.0) * DiffusionKernel(GraphLaplacian.of(GRAPH), 1.5)
    rows, y = np.array([0, 3, 3, 13]), np.array([1.0, -0.4, -0.5, 0.7])
    reference = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(NODES[rows], y)
    mean, deviation = reference.predict(NODES, return_std=True)
    process = GaussianProcess(kernel, 0.01).observe(NODES[rows], y)
    candidates = CandidatePosterior([kernel], [0.01], Composition(1), features=NODES)
    candidates.observe(rows, y[:, None])
    for ours in (process.predict(NODES), candidates.predict()):
        np.testing.assert_allclose(ours[0], mean, atol=1e-10)
        np.testing.assert_allclose(ours[1], deviation**2, atol=1e-10)


def test_prior_on_a_graph_is_learned_at_its_scale_and_stored_without_the_graph():
    graph = nx.random_regular_graph(4, 150, seed=1)
    truth = DiffusionKernel(GraphLaplacian.of(graph), 3.0)
    nodes = np.arange(150.0)[:, None]
    factor = np.linalg.cholesky(truth(nodes) + 1e-9 * np.eye(150))
    Y = 5.0 + 2.0 * factor @ np.random.default_rng(0).standard_normal((150, 4))
    prior = learn_prior("diffusion", nodes, Y, graph=graph, noise_variances=np.full(4, 1e-4), restarts=1)
    betas = [kernel.k2.beta for kernel in prior.kernels]
    assert np.exp(np.mean(np.log(betas))) == pytest.approx(3.0, rel=0.3)
    text = json.dumps(prior.to_dict())
    assert len(text) < 2000
    again = Prior.from_dict(json.loads(text), graph)
    np.testing.assert_array_equal(again.kernels[0](nodes), prior.kernels[0](nodes))
    with pytest.raises(ValueError, match="needs its graph"):
        Prior.from_dict(json.loads(text))


def test_what_is_no_undirected_graph_of_numbered_nodes_is_refused():
    with pytest.raises(ValueError, match=r"numbered 0\.\.2"):
        GraphLaplacian.of(nx.Graph([("a", "b"), ("b", "c")]))
    with pytest.raises(ValueError, match="not symmetric"):
        GraphLaplacian.of(nx.DiGraph([(0, 1)]))
    with pytest.raises(ValueError, match="not negative"):
        GraphLaplacian(csr_array(-np.ones((2, 2))))
    with pytest.raises(ValueError, match=r"0\.\.15"):
        DiffusionKernel(GraphLaplacian.of(GRAPH))([[16.0]])
    with pytest.raises(ValueError, match="needs a graph"):
        learn_prior("diffusion", NODES, NODES)


def test_space_time_kernel_is_the_product_of_its_kernels_on_their_own_features():
    rng = np.random.default_rng(2)
    X, Z = rng.random((7, 3)), rng.random((4, 3))
    kernel = SpaceTimeKernel(RBF([0.5, 2.0]), Matern(0.3, nu=1.5))
    expected = RBF([0.5, 2.0])(X[:, :2], Z[:, :2]) * Matern(0.3, nu=1.5)(X[:, 2:], Z[:, 2:])
    np.testing.assert_allclose(kernel(X, Z), expected, atol=1e-15)
    np.testing.assert_allclose(kernel.diag(X), np.ones(7))
    assert kernel != SpaceTimeKernel(Matern(0.3, nu=1.5), RBF([0.5, 2.0]))
    K, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_allclose(K, kernel(X))
    for i, step in enumerate(1e-6 * np.eye(3)):
        ahead, behind = (kernel.clone_with_theta(kernel.theta + h)(X) for h in (step, -step))
        np.testing.assert_allclose(gradient[:, :, i], (ahead - behind) / 2e-6, atol=1e-8)


@pytest.mark.parametrize("family", ["matern-3/2", "rq", "diffusion"])
def test_prior_over_places_and_time_predicts_another_hour(family):
    rng = np.random.default_rng(4)
    n, graph = 160, nx.path_graph(30)
    node, time = rng.integers(30, size=n).astype(float), np.sort(rng.uniform(0, 48, n))
    y = 280 + 6 * np.sin(node / 6) * np.cos(2 * np.pi * time / 24) + 0.05 * rng.standard_normal(n)
    X = np.column_stack([node, time])
    prior = learn_prior(
        family, X, y[:, None], graph=graph, time=True, noise_variances=[0.0025], restarts=1, seed=1
    )
    assert isinstance(prior.kernels[0].k2, SpaceTimeKernel)
    assert 2 < prior.kernels[0].k2.k2.length_scale < 60  # hours, of a daily cycle
    told = np.arange(n) % 5 != 0
    model = GaussianProcess(prior.kernels[0], 0.0025, prior.means[0]).observe(X[told], y[told])
    mean, _ = model.predict(X[~told])
    assert np.sqrt(np.mean((mean - y[~told]) ** 2)) < 0.5 * y.std()
    stored = json.loads(json.dumps(prior.to_dict()))
    again = Prior.from_dict(stored, graph).kernels[0]
    np.testing.assert_array_equal(again(X), prior.kernels[0](X))
