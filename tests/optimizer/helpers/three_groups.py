"""Data of three groups, their kernels and noise, and two ways to compose them, for the regressors."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from optimizer import AggregateGPRegressor, DecomposedGPRegressor

BOTH = [DecomposedGPRegressor, AggregateGPRegressor]
KERNELS = [ConstantKernel(1.5) * RBF(0.3), Matern(0.5, nu=1.5), RationalQuadratic(0.4, 0.5)]
NOISE = [0.01, 0.02, 0.005]


def varying(X):
    return np.stack([np.ones(len(X)), 1 + X[:, 0], -X[:, 0] * X[:, -1]], axis=1)


def data(n=30, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    Y = np.stack([np.sin(4 * X[:, 0]), X[:, -1] ** 2, X.sum(axis=1)], axis=1)
    return X, Y + 0.05 * rng.standard_normal(Y.shape), rng.random((9, d))


def norm(F):
    return np.sqrt(1 + (F**2).sum(axis=1))
