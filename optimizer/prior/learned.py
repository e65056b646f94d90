"""What an agent has learned of its priors from its own rounds, as plain numbers: a study can keep it.

Whoever has them believes what the agent believed, and goes on from there, without learning again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel

from optimizer.arrays import Array
from optimizer.prior.families import Family
from optimizer.prior.mixture import PriorMixture
from optimizer.prior.prior import Prior, joined

MEAN_VARIANCE = 1.0
"""Prior variance of the constant mean about the observations' own, in amplitudes."""


@dataclass(frozen=True, eq=False)
class LearnedGroup:
    """What was learned of a group: hyperparameters by their logarithms, in units of its samples.

    Attributes
    ----------
    best : ndarray of shape (m,)
        The most probable: the amplitude, the kernel's, and the noise variance where it is learned.
    draws : ndarray of shape (S, m)
    weights : ndarray of shape (S,)
        Of the draws; they add up to 1.
    learns_noise : bool
    unit, mean : float
        The samples' spread and mean, in the outcome's own unit.
    noise : float
        Noise variance in the outcome's own unit, where it is not learned.
    varies : bool
        Whether the samples varied, so that there was something to learn from.
    mean_variance : float
        Of the constant mean, in amplitudes; 0 where it is known.
    """

    best: Array
    draws: Array
    weights: Array
    learns_noise: bool
    unit: float
    mean: float
    noise: float
    varies: bool
    mean_variance: float = MEAN_VARIANCE

    def prior(self, theta: Array, family: Family, span: Array) -> Prior:
        """The prior of the group that hyperparameters make, which are `best` or one of the `draws`."""
        amplitude = float(np.exp(theta[0])) * self.unit**2
        inner = theta[1:-1] if self.learns_noise else theta[1:]
        noise = float(np.exp(theta[-1])) * self.unit**2 if self.learns_noise else self.noise
        kernel = ConstantKernel(amplitude) * family.in_units(inner, span)
        if self.mean_variance:
            kernel = kernel + ConstantKernel(self.mean_variance * amplitude)
        return Prior([kernel], np.array([noise]), [self.mean])


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned of all groups at a time, and all that the next learning needs to know of it.

    Attributes
    ----------
    family : str
    span : ndarray of shape (p,)
        Units of the features.
    groups : sequence of J LearnedGroup
    learned_at, restarted_at : int
        Observations at this learning, and at the last one that searched from several starts.
    """

    family: str
    span: Array
    groups: Sequence[LearnedGroup]
    learned_at: int
    restarted_at: int

    def mixture(self) -> PriorMixture:
        """The prior that it makes."""
        family = Family(self.family)
        S = len(self.groups[0].weights)
        return PriorMixture(
            [joined([one.prior(one.draws[s], family, self.span) for one in self.groups]) for s in range(S)],
            np.stack([one.weights for one in self.groups], axis=1),
            joined([one.prior(one.best, family, self.span) for one in self.groups]),
        )

    def most_probable(self) -> Self:
        """The same without what is uncertain of it: the most probable hyperparameters are the only draw."""
        one = np.ones(1)
        groups = [replace(group, draws=group.best[None], weights=one) for group in self.groups]
        return replace(self, groups=groups)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which `from_dict` makes the same again, bit for bit."""
        found = asdict(self)
        found["span"] = self.span.tolist()
        for group in found["groups"]:
            for name in _ARRAYS:
                group[name] = group[name].tolist()
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `to_dict` gave; ValueError where it cannot be."""
        try:
            return cls._of(data)
        except (KeyError, TypeError) as error:
            raise ValueError(f"nothing that was learned can be read of it: {error!r}") from error

    @classmethod
    def _of(cls, data: Mapping[str, Any]) -> Self:
        groups = [
            LearnedGroup(**{**group, **{name: np.array(group[name], dtype=float) for name in _ARRAYS}})
            for group in data["groups"]
        ]
        return cls(**{**data, "span": np.array(data["span"], dtype=float), "groups": groups})


_ARRAYS = ("best", "draws", "weights")
