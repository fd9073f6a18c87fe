"""A request between its submission and its answer."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from service.ipc.messages import Request, Vector
from service.media.item import MediaItem

Place = Literal["sent", "held", "sent_again"]


@dataclass(slots=True)
class Pending:
    """A request that was submitted, and its media in case their pixels are asked for again.

    Attributes:
        request: as it was sent.
        future: gets the vector, or the error of this request.
        items: its media by content key.
        place: `held` is between two engines; `sent_again` is with its second, and gets no third.
        alarm: set when it fails, for who waits for others first.
    """

    request: Request
    future: asyncio.Future[Vector]
    items: dict[bytes, MediaItem]
    place: Place = "sent"
    alarm: asyncio.Future[None] | None = None

    def fail(self, error: Exception) -> None:
        """Give the future an error, unless it was cancelled in this turn of the loop."""
        if not self.future.done():
            self.future.set_exception(error)
            self.future.exception()  # marked as read: the task that waited may have ended, and asyncio would warn
        if self.alarm is not None and not self.alarm.done():
            self.alarm.set_result(None)
