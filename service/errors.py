"""Every error that the service raises on purpose.

    ServiceError
    ├── InputError          the request is at fault: a field, its type, its bounds
    │   ├── MediaError      a picture or video is at fault: its source, its bytes, its size
    │   │   └── FrameError  one frame of a pair is
    │   ├── CacheMissError  names stand for pictures that are not known here
    │   └── ConflictError   a name is bound to another picture
    ├── NotFoundError       no such model, no such route
    ├── KeyRefusedError     no key, or none that is known
    ├── UnavailableError    try again later: loading, restarting, full, over a key's limit
    ├── DeadlineError       the answer would come too late
    └── ModelError          we are at fault: a vector that is not finite, a bug

Each carries a stable code; `http/errors.py` holds the one table from code to status. Nothing below `http/` knows HTTP.
"""

from collections.abc import Sequence

from schemas.errors import ErrorCode, MissingMedia

MAX_NAMED = 8
"""Places that a sentence names; the list that goes with it names all."""


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


class FrameError(MediaError):
    """A frame of a pair is at fault.

    Attributes:
        is_second: it is the later one.
    """

    def __init__(self, error: MediaError, *, is_second: bool) -> None:
        super().__init__(error.code, error.message, param=error.param, index=error.index)
        self.is_second = is_second


class CacheMissError(InputError):
    """Pictures were named without their content, and the names are not known; the content has to be sent.

    Attributes:
        missing: every such name, with its place.
    """

    def __init__(self, missing: Sequence[MissingMedia]) -> None:
        places = ", ".join(f"`{one.param}`" for one in missing[:MAX_NAMED]) + (" …" if len(missing) > MAX_NAMED else "")
        message = f"{len(missing)} uuid without content that is not known here; send the content of {places}"
        super().__init__("cache_miss", message, param=missing[0].param, index=missing[0].index)
        self.missing = tuple(missing)


class ConflictError(InputError):
    """A name is bound to other content than this request gives with it."""


class NotFoundError(ServiceError):
    """There is no model or no route of that name."""


class KeyRefusedError(ServiceError):
    """The request has no key that is known; nothing else about it was looked at."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_api_key", message)


class UnavailableError(ServiceError):
    """The service cannot take the request now; `retry_after_s` says when to come back."""

    def __init__(self, code: ErrorCode, message: str, *, retry_after_s: float) -> None:
        super().__init__(code, message)
        self.retry_after_s = retry_after_s


class DeadlineError(ServiceError):
    """The request waited longer than it may.

    Attributes:
        is_callers: the caller's own deadline was sooner than the server's, so the same request ends the same way.
    """

    def __init__(self, message: str, *, is_callers: bool) -> None:
        super().__init__("deadline_exceeded", message)
        self.is_callers = is_callers


class ModelError(ServiceError):
    """The service is at fault. Never answered as a vector."""
