"""Simulators: what a policy does to each group of a system.

The public names stand in `__init__.pyi`, and are imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
