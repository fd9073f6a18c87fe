"""Every error that the service raises on purpose.

    ServiceError
    ├── InputError          the request is at fault: a field, its type, its bounds
    │   └── MediaError      a picture is at fault: its source, its bytes, its size
    ├── NotFoundError       no such model, no such route
    ├── UnavailableError    try again later: loading, restarting, full
    ├── DeadlineError       the answer would come too late
    └── ModelError          we are at fault: a vector that is not finite, a bug

Each carries a stable code; `http/errors.py` holds the one table from code to status. Nothing below `http/` knows HTTP.
"""

from schemas.errors import ErrorCode


class ServiceError(Exception):
    """A failure with a stable code and a sentence that is safe to show to a client.

    Attributes:
        code: the stable name, one of `schemas.errors.ErrorCode`.
        message: one sentence that names the field, what came and what is allowed.
        param: path of the field at fault, or None.
        index: which input of a batch is at fault, counted from 0, or None.
    """

    def __init__(self, code: ErrorCode, message: str, *, param: str | None = None, index: int | None = None) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.message = message
        self.param = param
        self.index = index


class InputError(ServiceError):
    """The request is at fault; sending it again will not help."""


class MediaError(InputError):
    """A picture is at fault; sending it again will not help."""


class NotFoundError(ServiceError):
    """There is no model or no route of that name."""


class UnavailableError(ServiceError):
    """The service cannot take the request now; `retry_after_s` says when to come back."""

    def __init__(self, code: ErrorCode, message: str, *, retry_after_s: int) -> None:
        super().__init__(code, message)
        self.retry_after_s = retry_after_s


class DeadlineError(ServiceError):
    """The request waited longer than it may."""


class ModelError(ServiceError):
    """The service is at fault. Never answered as a vector."""
