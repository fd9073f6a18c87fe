"""Errors that end a run, reasons for which an item has no vector, and extras that are not installed."""

import errno
import sqlite3
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

PASSING_CODES = frozenset(
    {
        "cache_miss",  # uuid of an image whose first ask failed; the retry sends the image again
        "deadline_exceeded",
        "engine_restarting",
        "internal_error",
        "media_fetch_failed",
        "model_loading",
        "out_of_memory",
        "overloaded",
        "rate_limit_exceeded",
        "server_draining",
    }
)
"""Codes of single inputs that are worth a retry."""


class IngestError(Exception):
    """The run cannot start or continue. What was written stays, and the next run resumes from it."""


class StoreDownError(IngestError):
    """A store does not answer now; it may later, and a write is then repeated."""


class CommandLineError(IngestError):
    """A flag or SOURCE is wrong; nothing was started."""


@dataclass(frozen=True, slots=True)
class FailureReason:
    """Why an item has no vector.

    Attributes:
        code: the server's `ErrorCode`, or one of ingest's own (`invalid_record`, `content_changed`, ...).
        message: one sentence.
    """

    code: str
    message: str


class FileError(Exception):
    """A file cannot be read or sent; its items are dead letters, and `reason` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.reason = FailureReason(code, message)


def file_error(flag: str, path: Path, error: OSError | sqlite3.Error, what: str = "") -> IngestError:
    """The error of a file that a flag names; a full disk is called so, since the file is not at fault.

    Args:
        what: it means, before the system's own words.
    """
    is_full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    if is_full or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return IngestError(f"the disk is full: no more can be written to {path}")
    reason = getattr(error, "strerror", None) or str(error)
    return IngestError(f"{flag} {path}: {f'{what} ({reason})' if what else reason}")


def load(module: str, extra: str) -> Any:
    """Import `module`, which an extra of pyproject.toml installs.

    Raises:
        IngestError: it is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise IngestError(not_installed(error.name or module, extra)) from error


def not_installed(module: str, extra: str) -> str:
    """Message with the command that installs a missing module; until a release, mostly from a checkout."""
    return f"{module} is not installed: pip install -e '.[{extra}]' in the checkout, or 'cenote[{extra}]' of a release"
