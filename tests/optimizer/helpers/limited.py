"""Two groups, x_1 + x_2 and x_1^2 + x_2^2, the second with a limit; and what agents are told of them."""

import numpy as np
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer import Composition, Prior
from optimizer.agents.names import GP_AGENTS
from optimizer.composition.outcome_limits import OutcomeLimits

KERNEL = ConstantKernel(4.0) * RBF([1.0, 1.0])
PRIOR = Prior([KERNEL, KERNEL], np.full(2, 1e-6), [0.0, 0.0])
WEIGHTS = np.array([1.0, -0.5])
G = Composition(2, weights=WEIGHTS)
LIMITS = OutcomeLimits([[0.0, 1.0]], [-np.inf], [0.5])
BOX = Bounds([0.0, 0.0], [1.0, 1.0])
GRID = np.random.default_rng(4).random((150, 2))
NAMES = list(GP_AGENTS)


def truth(X):
    return np.stack([X.sum(axis=1), (X**2).sum(axis=1)], axis=1)


def told(agent, Y, limits=LIMITS, g=G):
    """What an agent is told of outcomes: all groups, or the objective and beside it the limits' values."""
    if agent.feedback == "decomposed":
        return Y
    return np.column_stack([g.unsigned(Y, np.zeros((len(Y), 2))), limits.values(Y)])
