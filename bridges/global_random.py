"""Models that draw from the global random state: seeded while they run, and left as it was."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def seeded_globals(seed: int) -> Iterator[None]:
    """Seed Python's and NumPy's global random state, and put the former one back at the end.

    So that a model which draws from them, as many do without knowing, repeats itself, and disturbs nobody.

    Parameters
    ----------
    seed : int
        Below 2**32.
    """
    python, old_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(old_numpy)  # noqa: NPY002
