"""The posterior of the signed objective (more is better) at n policies, made of the groups' by a composition.

A Gaussian is told by its `Moments`; where a general g is propagated by samples, the posterior is those
`Samples`.
"""

from typing import NamedTuple

from optimizer.arrays import Array


class Moments(NamedTuple):
    """Mean and variance, each (n,)."""

    mean: Array
    variance: Array


class Samples(NamedTuple):
    """S samples (S, n), one column a policy."""

    values: Array


Posterior = Moments | Samples
"""Slopes of a value in a posterior have the posterior's own form."""


class GroupSlopes(NamedTuple):
    """Partial derivatives of a value (n,) in means (n, J), variances (n, J) and policies (n, d) of g."""

    means: Array
    variances: Array
    policies: Array
