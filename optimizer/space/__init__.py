"""Where to look: the feasible policies, and the search for the best of them."""

# The kinds that `SearchSpace` makes.
from optimizer.space import bounded_space as bounded_space
from optimizer.space import finite_space as finite_space
from optimizer.space import mixed_space as mixed_space
