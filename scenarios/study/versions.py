"""The versions of the packages that ran a study."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("policyloop", "numpy", "scipy", "scikit-learn")


def versions(*more: str) -> dict[str, str]:
    """Those of Python and of the packages that results depend on, and of more."""
    found = {"python": platform.python_version()}
    for name in (*_PACKAGES, *more):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a checkout that is not installed
            continue
    return found
