"""Decomposed GP regression (Algorithm 1): the exact posterior of every group, composed."""
