"""Decomposed regression as scikit-learn estimators."""
