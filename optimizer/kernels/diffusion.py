"""The diffusion kernel on the nodes of a graph: exp(-beta L), as heat spreads (Kondor & Lafferty 2002).

Notation: A is the adjacency matrix, D its degrees, L = D - A or D^-1/2 (D - A) D^-1/2 the Laplacian, lambda_i
and u_i its eigenvalues and eigenvectors. What a kernel sees of a node is its number.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csgraph, csr_array
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel
from threadpoolctl import threadpool_limits

from optimizer.arrays import Array

if TYPE_CHECKING:
    import networkx as nx


class GraphLaplacian:
    """The Laplacian of an undirected graph, with its eigendecomposition once a graph and process.

    It never changes, so that copies are the object itself; equal graphs are equal.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
        Symmetric, with weights that are not negative.
    normalised : bool, default=True
        L = D^-1/2 (D - A) D^-1/2, whose eigenvalues lie in 0..2 whatever the degrees; else L = D - A.

    Raises
    ------
    ValueError
        If the matrix is not symmetric, or a weight is negative or not finite.
    """

    def __init__(self, adjacency: csr_array, normalised: bool = True) -> None:
        adjacency = csr_array(adjacency, dtype=float)
        if not (np.isfinite(adjacency.data).all() and (adjacency.data >= 0).all()):
            raise ValueError("the weights of a graph must be finite and not negative")
        if adjacency.shape[0] != adjacency.shape[1] or abs(adjacency - adjacency.T).max() > 0:
            raise ValueError("a diffusion kernel needs an undirected graph: its adjacency is not symmetric")
        self._adjacency = adjacency
        self.normalised = normalised

    @classmethod
    def of(cls, graph: nx.Graph[Any], normalised: bool = True) -> Self:
        """The Laplacian of a networkx graph with nodes 0..n-1; an edge's `weight`, if it has one, counts."""
        import networkx as nx  # half a second that a run without a graph can do without

        n = graph.number_of_nodes()
        if set(graph) != set(range(n)):
            raise ValueError(f"the nodes of a graph must be numbered 0..{n - 1}")
        return cls(nx.to_scipy_sparse_array(graph, nodelist=range(n), format="csr"), normalised)

    @property
    def size(self) -> int:
        """n, the number of nodes."""
        return int(self._adjacency.shape[0])

    @property
    def matrix(self) -> Array:
        """L, shape (n, n)."""
        return np.asarray(csgraph.laplacian(self._adjacency, normed=self.normalised).todense())

    @property
    def eigen(self) -> tuple[Array, Array]:
        """Eigenvalues lambda (n,), ascending, and eigenvectors (n, n), one a column."""
        return _eigen(self)

    @cached_property
    def _content(self) -> tuple[Any, ...]:
        parts = (self._adjacency.indptr, self._adjacency.indices, self._adjacency.data)
        return (self.normalised, *(part.tobytes() for part in parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphLaplacian) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        return f"GraphLaplacian({self.size} nodes)"


@lru_cache(maxsize=2)
def _eigen(laplacian: GraphLaplacian) -> tuple[Array, Array]:
    with threadpool_limits(1):  # the same rounding in every process
        values, vectors = eigh(laplacian.matrix, overwrite_a=True, check_finite=False, driver="evd")
    return np.maximum(values, 0.0), vectors


class DiffusionKernel(Kernel):  # type: ignore[misc]
    """k(i, j) = c exp(-beta L)_ij between nodes, with c such that the mean prior variance is 1.

    A larger beta spreads further along the edges. Unlike a stationary kernel it gives every node a prior
    variance of its own: what has few neighbours varies more (Kondor & Lafferty 2002; scaled as in Borovitskiy
    et al. 2021).

    Parameters
    ----------
    laplacian : GraphLaplacian
        L of the graph.
    beta : float, default=1.0
        For how long heat spreads.
    beta_bounds : pair of floats or "fixed", default=(1e-2, 1e3)
        Where beta is searched.
    """

    def __init__(
        self,
        laplacian: GraphLaplacian,
        beta: float = 1.0,
        beta_bounds: tuple[float, float] | str = (1e-2, 1e3),
    ) -> None:
        self.laplacian = laplacian
        self.beta = beta
        self.beta_bounds = beta_bounds
        self._whole: tuple[float, Array] | None = None

    @property
    def hyperparameter_beta(self) -> Hyperparameter:
        """beta, on a logarithmic scale."""
        return Hyperparameter("beta", "numeric", self.beta_bounds)

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Any:
        """Kernel matrix between nodes X (n, 1) and Y (m, 1), shape (n, m); its gradient by log(beta).

        The gradient is there where Y is None, shape (n, n, 1), or (n, n, 0) where beta is fixed.
        """
        first = self._nodes(X)
        if not eval_gradient:
            return self._matrix()[np.ix_(first, first if Y is None else self._nodes(Y))]
        if Y is not None:
            raise ValueError("the gradient can only be evaluated when Y is None")
        values, vectors = self.laplacian.eigen
        rows, weights = vectors[first], self._weights()
        K = (rows * weights) @ rows.T
        if self.hyperparameter_beta.fixed:
            return K, np.empty((*K.shape, 0))
        # d log c / d beta is the mean of lambda under the weights.
        slopes = self.beta * (weights @ values / weights.sum() - values)
        return K, ((rows * (weights * slopes)) @ rows.T)[:, :, None]

    def diag(self, X: Array) -> Array:
        """k(x, x) of every node, shape (n,)."""
        diagonal: Array = np.einsum("ii->i", self._matrix())[self._nodes(X)]
        return diagonal

    def is_stationary(self) -> bool:
        """Whether k depends on the distance of two nodes alone: never."""
        return False

    def __repr__(self) -> str:
        return f"DiffusionKernel(beta={self.beta:.3g}, {self.laplacian.size} nodes)"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_whole": None}

    def _weights(self) -> Array:
        """C exp(-beta lambda_i), shape (n,): they add up to n."""
        decay = np.exp(-self.beta * self.laplacian.eigen[0])
        weights: Array = decay * (len(decay) / decay.sum())
        return weights

    def _matrix(self) -> Array:
        """K between all nodes, (n, n), once a beta."""
        if self._whole is None or self._whole[0] != self.beta:
            vectors = self.laplacian.eigen[1]
            with threadpool_limits(1):
                self._whole = (self.beta, (vectors * self._weights()) @ vectors.T)
        return self._whole[1]

    def _nodes(self, X: Array) -> NDArray[np.intp]:
        """Node numbers of features (n, 1), the nearest whole ones: a kernel is also asked between them."""
        X = np.asarray(X, dtype=float)
        X = X[:, None] if X.ndim == 1 else X
        nodes = np.rint(X[:, 0]).astype(np.intp)
        if X.shape[1] != 1 or (len(nodes) and not 0 <= nodes.min() <= nodes.max() < self.laplacian.size):
            raise ValueError(
                f"a diffusion kernel sees the numbers of nodes, 0..{self.laplacian.size - 1}, as one column"
            )
        return nodes
