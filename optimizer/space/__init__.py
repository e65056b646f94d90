"""Where to look: the feasible policies, and the search for the best of them."""

from optimizer.space import mixed_space as mixed_space  # a kind that `SearchSpace` makes
