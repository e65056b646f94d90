"""Agents with ask and tell: D-GPUCB (Algorithm 2), the agents it is compared with, baselines and plug-ins."""
