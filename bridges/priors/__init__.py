"""Priors of an environment's groups: learned from samples, named by it, or other outcomes as their means."""
