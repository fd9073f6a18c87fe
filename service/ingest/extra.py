"""Libraries of the extras, imported when they are needed and named when they are not there."""

from importlib import import_module
from typing import Any

from service.ingest.errors import IngestError


def load(module: str, extra: str) -> Any:
    """A library.

    Args:
        module: what to import.
        extra: the extra of pyproject.toml that installs it.

    Raises:
        IngestError: it is not installed; the message says how to.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise IngestError(not_installed(error.name or module, extra)) from error


def not_installed(module: str, extra: str) -> str:
    """How to get what is missing; there is no release yet, so a checkout is the usual case."""
    return f"{module} is not installed: pip install -e '.[{extra}]' in the checkout, or 'cenote[{extra}]' of a release"
