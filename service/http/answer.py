"""Vectors as bytes of an answer: shortest float digits, and the headers that say where the time went."""

import asyncio
from collections.abc import Callable

import msgspec
import numpy as np
import orjson
from litestar import MediaType, Response

from service import metrics
from service.front.job import Embedded

MAX_VECTORS_ON_LOOP = 64

_encode = msgspec.json.Encoder().encode


def float_list(row: bytes) -> bytes:
    """A little-endian float32 row as a JSON array, each number in the fewest digits that give it back.

    Going through Python floats would print 17 digits each: twice the bytes for the same vector.
    """
    return orjson.dumps(np.frombuffer(row, "<f4"), option=orjson.OPT_SERIALIZE_NUMPY)


def integer_list(row: bytes, dtype: str) -> bytes:
    """A row of 8-bit numbers as a JSON array."""
    return orjson.dumps(np.frombuffer(row, dtype), option=orjson.OPT_SERIALIZE_NUMPY)


async def answer(
    write: Callable[[], msgspec.Struct], embedded: Embedded, *, in_thread: bool = False
) -> Response[bytes]:
    """What `write` makes, as JSON, with the timing and cache headers of DESIGN.md section 3.

    Printing thousands of vectors takes a tenth of a second and more: then it is done in a thread, row by row, so that
    probes and short requests get their turn meanwhile.
    """
    is_large = in_thread or len(embedded.outcomes) > MAX_VECTORS_ON_LOOP
    body = await asyncio.to_thread(lambda: _encode(write())) if is_large else _encode(write())
    headers = {
        "x-media-time": f"{embedded.media_ms:.1f}",
        "x-queue-time": f"{embedded.queue_ms:.1f}",
        "x-inference-time": f"{embedded.inference_ms:.1f}",
        "x-encoder-cache": f"hit={embedded.num_hits}, miss={embedded.num_misses}",
    }
    return Response(body, headers=headers, media_type=MediaType.JSON)


def observe(embedded: Embedded) -> None:
    """Count a request's inputs and where its time went."""
    metrics.INPUTS.observe(len(embedded.outcomes))
    metrics.PRECOMPUTED.inc(embedded.num_precomputed)
    metrics.TRUNCATED.inc(sum(one.prompt.truncated for one in embedded.answered))
    metrics.STAGE_SECONDS.labels("media").observe(embedded.media_ms / 1e3)
    metrics.STAGE_SECONDS.labels("queue").observe(embedded.queue_ms / 1e3)
    metrics.STAGE_SECONDS.labels("inference").observe(embedded.inference_ms / 1e3)
