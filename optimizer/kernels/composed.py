"""The kernel of the composed objective: k(x, x') = sum_j g_j(x) k_j(x, x') g_j(x')  (paper, section 5)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel

from optimizer.arrays import Array, Policies
from optimizer.composition.linear import Composition


class FrozenKernel(Kernel):  # type: ignore[misc]
    """A scikit-learn kernel without free hyperparameters: nothing of it is ever learned."""

    @property
    def theta(self) -> Array:
        """No free hyperparameter."""
        return np.empty(0)

    @theta.setter
    def theta(self, theta: Array) -> None:
        pass

    @property
    def bounds(self) -> Array:
        """No free hyperparameter, so no bounds."""
        return np.empty((0, 2))


class WeightedSumKernel(FrozenKernel):
    """k([z, w], [z', w']) = sum_j w_j k_j(z, z') w'_j on features z (p,) joined with weights w (J,).

    A scikit-learn kernel has no second argument for the weights g_j(x), so they travel as J more features.

    Parameters
    ----------
    kernels : sequence of Kernel
        k_j, one a group.
    """

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.kernels = kernels

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the kernel, as scikit-learn asks for them."""
        return {"kernels": self.kernels}

    def split(self, X: Array) -> tuple[Array, Array]:
        """Features (n, p) and weights (n, J) of joined rows (n, p + J)."""
        p = X.shape[1] - len(self.kernels)
        return X[:, :p], X[:, p:]

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Any:
        """Kernel matrix between joined rows X (n, p + J) and Y (m, p + J), shape (n, m)."""
        X = np.atleast_2d(X)
        Z, W = self.split(X)
        Z2, W2 = (None, W) if Y is None else self.split(np.atleast_2d(Y))
        K = sum(W[:, [j]] * kernel(Z, Z2) * W2[:, j] for j, kernel in enumerate(self.kernels))
        return (K, np.empty((*np.shape(K), 0))) if eval_gradient else K

    def diag(self, X: Array) -> Array:
        """k(x, x) of every joined row, shape (n,)."""
        Z, W = self.split(np.atleast_2d(X))
        total = np.zeros(len(Z))
        for j, kernel in enumerate(self.kernels):
            total += W[:, j] ** 2 * kernel.diag(Z)
        return total

    def is_stationary(self) -> bool:
        """Whether k(x, x') depends on x - x' alone: never, it depends on the weights."""
        return False


def compose_kernels(kernels: Sequence[Kernel], composition: Composition) -> Kernel:
    """Kernel of the composed objective, from the groups' kernels k_j and the weights g_j.

    With constant weights it is a sum of scikit-learn kernels; otherwise a `WeightedSumKernel`, which sees the
    rows that `joined_features` makes.
    """
    weights = composition.constant_weights
    if weights is None:
        return WeightedSumKernel(list(kernels))
    total: Kernel | None = None
    for weight, kernel in zip(weights, kernels, strict=True):
        term = kernel if weight**2 == 1.0 else ConstantKernel(weight**2, "fixed") * kernel
        total = term if total is None else total + term
    return total


def joined_features(
    features: Callable[[Policies], Array], composition: Composition
) -> Callable[[Policies], Array]:
    """Feature map of the composed kernel: the features themselves, and g_j(x) beside them where it varies."""
    if composition.constant_weights is not None:
        return features
    return lambda policies: np.hstack([features(policies), composition.weights(policies)])
