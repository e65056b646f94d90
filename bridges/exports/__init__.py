"""Ours in foreign systems: agents as Optuna samplers, environments for Gymnasium and over UM-Bridge."""
