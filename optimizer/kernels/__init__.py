"""Kernels that scikit-learn lacks, and fast evaluation of all kernels with their gradients."""
