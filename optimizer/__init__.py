"""What to try next: agents that learn a policy from decomposed or aggregate feedback.

An agent is a model (one Gaussian process a group, or one of the composed value), an acquisition and a search
space. The public names stand in `__init__.pyi`, and are imported on first use. The paper's equations are
found by name: "Algorithm 1" in `posterior`, "Algorithm 2" in `agents`, "Algorithm 3" in `composition`,
"Theorem 2" in `acquisition`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
