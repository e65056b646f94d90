"""The arrays of the simulators, in C order."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Numbers."""

Mask = NDArray[np.bool_]
"""Yes or no."""

Integers = NDArray[np.integer]
"""Whole numbers of any width."""

Rows = NDArray[np.intp]
"""Numbers of rows, nodes or candidates."""

Edges = NDArray[np.intp]
"""Pairs of nodes, (m, 2)."""

Persons = NDArray[np.int32]
"""Numbers of persons."""
