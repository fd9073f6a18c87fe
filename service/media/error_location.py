"""The field and input that an error about media names.

Carried down from the request so that every error can name its place; knows nothing else of the request.
"""

from dataclasses import dataclass
from typing import NoReturn

from schemas.errors import ErrorCode
from service.errors import MediaError


@dataclass(frozen=True, slots=True)
class ErrorLocation:
    """The place of an error."""

    param: str | None = None
    """Path of the field, or None."""
    index: int | None = None
    """Which input of a batch, counted from 0, or None."""

    def refuse(self, code: ErrorCode, message: str) -> NoReturn:
        """Raise a `MediaError` that names the field and the input.

        Args:
            message: one sentence for the client; never a library's own text.

        Raises:
            MediaError: always. It has no cause attached, so that a library's text cannot reach a log of ours.
        """
        raise MediaError(code, message, param=self.param, index=self.index) from None


NO_LOCATION = ErrorLocation()
