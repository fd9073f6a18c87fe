"""Errors that the service raises on purpose, and the statuses with which they are answered.

    ServiceError
    ├── InputError          400  the request is invalid: a field, its type, its bounds
    │   ├── MediaError      400, 413, 422, 502  an image, video or audio: its source, size, bytes, download
    │   │   └── FrameError  likewise, of one frame of a pair
    │   ├── CacheMissError  400  a uuid without content that is not cached
    │   └── ConflictError   409  a uuid that is bound to other content
    ├── NotFoundError       404  no such model or route
    ├── KeyRefusedError     401  no API key, or an unknown one
    ├── UnavailableError    503, 429 for a key's limit  try again after `retry_after_s`
    ├── DeadlineError       504  the answer would come too late
    └── ModelError          500  a fault of the service: a vector that is not finite, a bug

Each carries a stable code, which alone decides the status: `service/statuses.py` has the table, and
`service/http/errors.py` answers by it. Modules below `http/` do not know HTTP.
"""

from collections.abc import Sequence
from typing import Self

from schemas.errors import ErrorCode, MissingMedia

MAX_NAMED = 8
"""Fields that a message names; `missing` lists all."""


class ServiceError(Exception):
    """A failure with a stable code and a message that is safe to show to a client.

    Attributes:
        code: stable name, one of `schemas.errors.ErrorCode`.
        message: one sentence with the field, the value received and what is allowed.
        param: path of the field at fault, or None.
        index: index of the input at fault in its batch, or None.
    """

    def __init__(self, code: ErrorCode, message: str, *, param: str | None = None, index: int | None = None) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.message = message
        self.param = param
        self.index = index

    def without_frames(self) -> Self:
        """The same, to be kept: the frames that it was raised in hold the request's data, and often the error again."""
        self.__traceback__ = self.__context__ = None
        return self


class InputError(ServiceError):
    """The request is invalid; retrying does not help."""


class MediaError(InputError):
    """An image, video or audio is invalid or cannot be read."""


class FrameError(MediaError):
    """One frame of a pair of video frames is invalid.

    Attributes:
        is_second: True for the later frame of the pair.
    """

    def __init__(self, error: MediaError, *, is_second: bool) -> None:
        super().__init__(error.code, error.message, param=error.param, index=error.index)
        self.is_second = is_second


class CacheMissError(InputError):
    """Images were sent as uuids without content, and the uuids are not cached.

    Attributes:
        missing: every such uuid with its field.
    """

    def __init__(self, missing: Sequence[MissingMedia]) -> None:
        fields = ", ".join(f"`{media.param}`" for media in missing[:MAX_NAMED]) + (
            " …" if len(missing) > MAX_NAMED else ""
        )
        message = f"{len(missing)} uuid without content that is not known here; send the content of {fields}"
        super().__init__("cache_miss", message, param=missing[0].param, index=missing[0].index)
        self.missing = tuple(missing)


class ConflictError(InputError):
    """A uuid is bound to other content than the request has with it."""


class NotFoundError(ServiceError):
    """No model or route of that name."""


class KeyRefusedError(ServiceError):
    """The request has no known API key; the rest of it was not read."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_api_key", message)


class UnavailableError(ServiceError):
    """The service cannot take the request now; retry after `retry_after_s`."""

    def __init__(self, code: ErrorCode, message: str, *, retry_after_s: float) -> None:
        super().__init__(code, message)
        self.retry_after_s = retry_after_s


class DeadlineError(ServiceError):
    """The request's deadline has passed, or will have passed before it can be done.

    Attributes:
        is_final: retrying ends the same way: the deadline was the caller's, earlier than the server's, or no time is
            enough.
    """

    def __init__(self, message: str, *, is_final: bool) -> None:
        super().__init__("deadline_exceeded", message)
        self.is_final = is_final


class ModelError(ServiceError):
    """A fault of the service."""
