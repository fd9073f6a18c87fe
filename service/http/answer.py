"""Answers with vectors: written off the event loop when they are large, with headers that say where the time went."""

import asyncio
from collections.abc import Callable

import msgspec
from litestar import MediaType, Response

from service import metrics
from service.front.job import Embedded
from service.http.vector_format import print_late
from service.stages import note_inside, stage

MAX_VECTORS_ON_LOOP = 64

encode = msgspec.json.Encoder(enc_hook=print_late).encode
"""Writes answers; vectors print themselves when it comes to them."""


async def answer(
    write: Callable[[], msgspec.Struct],
    embedded: Embedded,
    headers: dict[str, str] | None = None,
    *,
    in_thread: bool = False,
) -> Response[bytes]:
    """What `write` makes, as JSON, with the timing and cache headers of DESIGN.md section 3."""
    body = await written(lambda: encode(write()), embedded, in_thread=in_thread)
    return Response(body, headers=timing_headers(embedded) | (headers or {}), media_type=MediaType.JSON)


async def written(write: Callable[[], bytes], embedded: Embedded, *, in_thread: bool = False) -> bytes:
    """What `write` makes.

    Printing thousands of vectors takes a tenth of a second and more: then it is done in a thread, vector by vector, so
    that probes and short requests get their turn meanwhile.
    """
    is_large = in_thread or len(embedded.outcomes) > MAX_VECTORS_ON_LOOP
    with stage("write"):
        return await asyncio.to_thread(write) if is_large else write()


def timing_headers(embedded: Embedded) -> dict[str, str]:
    """Where the time went, and what the encoder cache had."""
    return {
        "x-media-time": f"{embedded.media_ms:.1f}",
        "x-queue-time": f"{embedded.queue_ms:.1f}",
        "x-inference-time": f"{embedded.inference_ms:.1f}",
        "x-encoder-cache": f"hit={embedded.num_hits}, miss={embedded.num_misses}",
    }


def observe(embedded: Embedded) -> None:
    """Count a request's inputs and where its time went."""
    metrics.INPUTS.observe(len(embedded.outcomes))
    metrics.PRECOMPUTED.inc(embedded.num_precomputed)
    metrics.TRUNCATED.inc(sum(one.prompt.truncated for one in embedded.answered))
    note_inside("queue", embedded.queue_ms)
    note_inside("inference", embedded.inference_ms)
