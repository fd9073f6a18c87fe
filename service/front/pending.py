"""A request on its way through an engine: who waits for it, and what is needed to send it to another."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from service.front.loaded import LoadedMedia
from service.front.tenant import Caller
from service.ipc.messages import Media, Request, Vector, Wanted
from service.media.picture import Picture
from service.prompt.prompt import Prompt


@dataclass(slots=True)
class Pending:
    """A request under way: who waits for it, and its pictures in case their pixels are asked for again.

    Attributes:
        request: as it was sent.
        future: who waits.
        items: its pictures by content key.
        place: `held` is between two engines; `sent_again` is with its second, and gets no third.
    """

    request: Request
    future: asyncio.Future[Vector]
    items: dict[bytes, Picture]
    place: Literal["sent", "held", "sent_again"] = "sent"

    def hold(self) -> None:
        """Keep a request for the next engine. Its pixels go with this one; the next asks for what it needs."""
        media = tuple(msgspec.structs.replace(one, slot=None) for one in self.request.media)
        self.request = msgspec.structs.replace(self.request, media=media)
        self.place = "held"

    def answer(self, vector: Vector) -> None:
        """Tell whoever waits; who was cancelled in this very turn of the loop has not said so yet."""
        if not self.future.done():
            self.future.set_result(vector)

    def fail(self, error: Exception) -> None:
        """Tell whoever waits."""
        if not self.future.done():
            self.future.set_exception(error)
            self.future.exception()  # read once: whoever waited may have gone, and asyncio would complain


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a submitter holds while it waits."""

    id: int
    future: asyncio.Future[Vector]


def request_of(id_: int, prompt: Prompt, loaded: Sequence[LoadedMedia], output: Wanted, caller: Caller) -> Request:
    """A prompt as the engine is asked it.

    Args:
        id_: its number, never used again.
        prompt: what to embed.
        loaded: its pictures, in order.
        output: what is wanted of it.
        caller: who wants it, and until when.
    """
    media = tuple(
        Media(
            key=one.key,
            grid_thw=place.grid_thw,
            offset=place.offset,
            num_tokens=place.length,
            num_frames=place.item.num_frames,
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
