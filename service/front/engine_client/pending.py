"""A prompt as the engine is sent it, until its answer, and the wait for many of them together."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from service.front.engine_client.pixel_loader import LoadedMedia
from service.front.tenant import Caller
from service.ipc.messages import NO_BUNDLE, Bundle, Media, Request
from service.media.media_item import MediaItem
from service.outputs.ask import Asks
from service.outputs.block import Vector
from service.prompt.prompt import Prompt

PendingState = Literal["sent", "held", "sent_again"]


def request_of(
    id_: int, prompt: Prompt, loaded: Sequence[LoadedMedia], asks: Asks, caller: Caller, bundle: Bundle = NO_BUNDLE
) -> Request:
    """The engine's request for a prompt.

    Args:
        id_: never used again.
        loaded: its media, in order.
        bundle: what it is sent with.
    """
    media: tuple[Media, ...] = ()
    if loaded:
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
        plan=prompt.plan,
        media=media,
        asks=asks,
        tenant=caller.tenant.name,
        bundle=bundle,
        deadline_s=caller.deadline_s,
        is_fresh=caller.wants_fresh,
    )


class Pending(msgspec.Struct, eq=False):
    """A request that was submitted, and its media in case their pixels are asked for again.

    No dataclass: a large request has hundreds, and one takes nearly twice as long to make.

    Attributes:
        items: its media by content key.
        state: `held` is between two engines; `sent_again` is with its second, and gets no third.
        outcome: the vector, or the error of this request; None until one is there.
        wait: of who waits for it and for others.
    """

    request: Request
    items: dict[bytes, MediaItem]
    state: PendingState = "sent"
    outcome: Vector | Exception | None = None
    wait: "Wait | None" = None

    def settle(self, outcome: Vector | Exception) -> None:
        """Give it its outcome."""
        self.outcome = outcome
        if (wait := self.wait) is not None:
            wait.num_left -= 1
            is_over = wait.num_left == 0 or (isinstance(outcome, Exception) and not wait.per_item)
            if is_over and not wait.over.done():
                wait.over.set_result(None)


@dataclass(slots=True, eq=False)
class Wait:
    """The wait for several requests. A future for each of hundreds would cost more than what it tells."""

    num_left: int
    per_item: bool
    over: asyncio.Future[None]


def all_settled(pending: Collection[Pending], *, per_item: bool) -> asyncio.Future[None]:
    """A future that is set when all have their outcomes, or the first has failed.

    Args:
        per_item: a failure ends it only when it is the last outcome.
    """
    waiting = [one for one in pending if one.outcome is None]
    wait = Wait(len(waiting), per_item, asyncio.get_running_loop().create_future())
    if not waiting or (not per_item and any(isinstance(one.outcome, Exception) for one in pending)):
        wait.over.set_result(None)
    for one in waiting:
        one.wait = wait
    return wait.over
