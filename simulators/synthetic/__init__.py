"""Functions drawn from Gaussian processes."""
