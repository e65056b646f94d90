"""How groups make up the objective: Definitions 1 and 2, and propagation (Algorithm 3)."""
