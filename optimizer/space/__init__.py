"""Where to look: the feasible policies, and the search for the best of them."""
