"""The arrays of the optimizer: C order, float64 unless said otherwise."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Numbers."""

Rows = NDArray[np.int64]
"""Candidate rows (n,) of a finite space."""

Policies = NDArray[Any]
"""Policies (n, d), float64, or `Rows`."""
