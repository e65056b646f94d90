"""Libraries that only a bridge needs: a missing one is named, with the line that installs it."""

INSTALL = "pip install 'policyloop[bridges]'"


class MissingLibraryError(ImportError, ValueError):
    """A library that a bridge needs is not installed; the message says how to install it."""


def missing(error: ModuleNotFoundError, what: str, install: str = INSTALL) -> MissingLibraryError:
    """The error to raise in place of a failed import: `what` needs a library, which `install` installs."""
    return MissingLibraryError(
        f"{what} needs {error.name}, which is not installed: {install}", name=error.name
    )
