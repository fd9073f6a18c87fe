"""A prompt as the engine is sent it."""

from collections.abc import Sequence

from service.front.engine_client.pixel_loader import LoadedMedia
from service.front.tenant import Caller
from service.ipc.messages import Media, Output, Request
from service.prompt.prompt import Prompt


def request_of(id_: int, prompt: Prompt, loaded: Sequence[LoadedMedia], output: Output, caller: Caller) -> Request:
    """The engine's request for a prompt; `id_` is never used again, `loaded` are its media in order."""
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
        output=output,
        tenant=caller.tenant.name,
        deadline_s=caller.deadline_s,
        is_fresh=caller.wants_fresh,
    )
