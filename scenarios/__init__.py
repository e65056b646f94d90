"""Declared experiments: the catalogue, the runner, the store, figures, the report and the command line.

>>> import scenarios
>>> study = scenarios.run(scenarios.load("flu"), out="flu.study.sqlite", jobs=2)  # doctest: +SKIP
>>> study.to_dataframe()  # doctest: +SKIP

The public names stand in `__init__.pyi`, and are imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
