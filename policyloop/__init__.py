"""The version, and the check that the four packages that policyloop is made of are its own.

The packages are called `simulators`, `optimizer`, `bridges` and `scenarios`. A folder of the same name on the
import path before ours would shadow it, and a distribution with a package of the same name, installed into
the same environment, would overwrite it. Both fail in ways that nobody understands, so they are found out
first and named.
"""

from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("simulators", "optimizer", "bridges", "scenarios")


def shadowed() -> str | None:
    """What shadows one of policyloop's packages, in one line; None if all four are its own."""
    home = Path(__file__).resolve().parents[1]
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is None:
            return f"policyloop's package '{package}' is missing in {home}: install policyloop again"
        places = [Path(place).resolve() for place in spec.submodule_search_locations or [spec.origin or ""]]
        if home / package not in places:
            return (
                f"'{package}' at {places[0]} shadows policyloop's own package of that name: "
                "rename it, or run from another folder"
            )
        if not _is_ours(home / package / "__init__.py"):
            return (
                f"'{package}' at {home / package} was overwritten by {_who_has(package)}: uninstall that, "
                "and install policyloop again, in an environment of its own"
            )
    return None


OURS = b"lazy_loader.attach_stub"
"""What stands in the `__init__.py` of each of the four."""


def _is_ours(file: Path) -> bool:
    try:
        return OURS in file.read_bytes()
    except OSError:
        return False


def _who_has(package: str) -> str:
    """The other distributions that have installed a package of a name, in words."""
    from importlib.metadata import packages_distributions  # slow, and needed only where something is wrong

    others = sorted({one for one in packages_distributions().get(package, []) if one != "policyloop"})
    return " and ".join(repr(one) for one in others) or "another distribution"


def check_packages() -> None:
    """Raise ImportError, in one line, where another package shadows one of policyloop's."""
    if (problem := shadowed()) is not None:
        raise ImportError(problem)


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module 'policyloop' has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and seldom needed

    try:
        return version("policyloop")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0+unknown"
