"""A prompt as the engine is sent it."""

from collections.abc import Sequence

from service.front.engine_client.pixel_loader import LoadedMedia
from service.front.tenant import Caller
from service.ipc.messages import NO_BUNDLE, Bundle, Media, Request
from service.outputs.ask import Asks
from service.prompt.prompt import Prompt


def request_of(
    id_: int,
    prompt: Prompt,
    loaded: Sequence[LoadedMedia],
    asks: Asks,
    caller: Caller,
    bundle: Bundle = NO_BUNDLE,
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
