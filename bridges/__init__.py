"""What joins a simulator to an optimizer: feedback adapters, priors, the true optimum and the loop.

The public names stand in `__init__.pyi`, and are imported on first use.
"""

import lazy_loader

import policyloop

policyloop.check_packages()  # before an import fails for a reason that nobody would guess

from bridges.agents import names  # noqa: F401 - makes the agents around others' optimizers known

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
