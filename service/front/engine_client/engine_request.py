"""A prompt as the engine is sent it."""

from collections.abc import Sequence

from service.fairness.party import CURRENT_PARTY
from service.front.engine_client.pixel_loader import LoadedMedia
from service.front.tenant import Caller
from service.ipc.messages import Media, Output, Request
from service.prompt.prompt import Prompt


def request_of(
    id_: int,
    prompt: Prompt,
    loaded: Sequence[LoadedMedia],
    output: Output,
    caller: Caller,
    *,
    bundle: int = 0,
    bundle_tokens: int = 0,
) -> Request:
    """The engine's request for a prompt.

    Args:
        id_: never used again.
        loaded: its media, in order.
        bundle: the first id of those that are sent together.
        bundle_tokens: of all of these.
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
        token_ids=prompt.token_ids,
        media=media,
        num_hidden=prompt.num_hidden,
        dropped=prompt.dropped,
        is_looked_up=prompt.is_looked_up,
        spans=prompt.pooled if prompt.spans else (),
        output=output,
        tenant=caller.tenant.name,
        party=CURRENT_PARTY.get().request,
        bundle=bundle,
        bundle_tokens=bundle_tokens,
        deadline_s=caller.deadline_s,
        is_fresh=caller.wants_fresh,
    )
