"""Time as an input of the kernels: in a world that lives, an old reading says less of the coming hour."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from optimizer.arrays import Array, Policies


class ContextFeatures:
    """Features of policies with the context as one more column, the last.

    Parameters
    ----------
    features : callable
        From policies to (n, p).

    Attributes
    ----------
    context : float
        What the column holds until it is set anew; nan before the first time.
    """

    def __init__(self, features: Callable[[Policies], Array]) -> None:
        self.features = features
        self.context = float("nan")

    def set(self, context: ArrayLike) -> None:
        """Go to another time.

        Raises
        ------
        ValueError
            If it is not one finite number.
        """
        if np.ndim(context) or not np.isfinite(np.asarray(context, dtype=float)):
            raise ValueError(f"context must be one finite number, such as the time, not {context!r}")
        self.context = float(np.asarray(context, dtype=float))

    def __call__(self, policies: Policies) -> Array:
        """Features (n, p + 1)."""
        features = self.features(policies)
        return np.column_stack([features, np.full(len(features), self.context)])
