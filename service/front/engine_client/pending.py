"""A request on its way through an engine, and what is needed to send it to another."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from service.front.engine_client.pixel_loader import LoadedMedia
from service.front.tenant import Caller
from service.ipc.messages import Media, Output, Request, Vector
from service.media.item import MediaItem
from service.prompt.prompt import Prompt


@dataclass(slots=True)
class Pending:
    """A request that was submitted, and its media in case their pixels are asked for again.

    Attributes:
        request: as it was sent.
        future: gets the vector, or the error of this request.
        items: its media by content key.
        place: `held` is between two engines; `sent_again` is with its second, and gets no third.
    """

    request: Request
    future: asyncio.Future[Vector]
    items: dict[bytes, MediaItem]
    place: Literal["sent", "held", "sent_again"] = "sent"

    def hold(self) -> None:
        """Keep the request for the next engine. Its pixels went with the last one; the next asks for what it needs."""
        media = tuple(msgspec.structs.replace(one, slot=None) for one in self.request.media)
        self.request = msgspec.structs.replace(self.request, media=media)
        self.place = "held"

    def fail(self, error: Exception) -> None:
        """Give the future an error, unless it was cancelled in this turn of the loop."""
        if not self.future.done():
            self.future.set_exception(error)
            self.future.exception()  # marked as read: the task that waited may have ended, and asyncio would warn


def request_of(id_: int, prompt: Prompt, loaded: Sequence[LoadedMedia], output: Output, caller: Caller) -> Request:
    """The engine's request for a prompt; `id_` is never used again, `loaded` are its media in order."""
    media = tuple(
        Media(
            key=one.key,
            grid_thw=place.grid_thw,
            offset=place.offset,
            num_tokens=place.length,
            kind=place.item.kind,
            dtype=place.item.dtype,
            slot=one.slot,
        )
        for place, one in zip(prompt.placeholders, loaded, strict=True)
    )
    return Request(
        id=id_,
        token_ids=prompt.token_ids,
        media=media,
        output=output,
        tenant=caller.tenant.name,
        deadline_s=caller.deadline_s,
        is_fresh=caller.wants_fresh,
    )
