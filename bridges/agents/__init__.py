"""Agents for an environment, and foreign optimizers as agents."""
