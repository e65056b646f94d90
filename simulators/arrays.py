"""The arrays of the simulators: C order, float64."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Numbers."""
