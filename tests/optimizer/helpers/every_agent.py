"""The names of all agents with a model, for tests that ask the same of each and need long."""

import pytest

from optimizer.agents.names import GP_AGENTS

QUICK = ("auto", "d-gpucb", "d-ei", "gp-ucb")
"""One of each kind; the others differ by their acquisition, and are tried by `make test-all`."""

EVERY_AGENT = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in GP_AGENTS]
