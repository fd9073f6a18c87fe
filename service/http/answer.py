"""Vectors as bytes of an answer: shortest float digits, and the headers that say where the time went."""

import msgspec
import numpy as np
import orjson
from litestar import MediaType, Response

from service import metrics
from service.front.embedder import Embedded

_encode = msgspec.json.Encoder().encode


def float_list(row: bytes) -> bytes:
    """A little-endian float32 row as a JSON array, each number in the fewest digits that give it back.

    Going through Python floats would print 17 digits each: twice the bytes for the same vector.
    """
    return orjson.dumps(np.frombuffer(row, "<f4"), option=orjson.OPT_SERIALIZE_NUMPY)


def integer_list(row: bytes, dtype: str) -> bytes:
    """A row of 8-bit numbers as a JSON array."""
    return orjson.dumps(np.frombuffer(row, dtype), option=orjson.OPT_SERIALIZE_NUMPY)


def answer(body: msgspec.Struct, embedded: Embedded) -> Response[bytes]:
    """The body as JSON, with the timing and cache headers of DESIGN.md section 3."""
    headers = {
        "x-media-time": f"{embedded.media_ms:.1f}",
        "x-queue-time": f"{embedded.queue_ms:.1f}",
        "x-inference-time": f"{embedded.inference_ms:.1f}",
        "x-encoder-cache": f"hit={embedded.num_hits}, miss={embedded.num_misses}",
    }
    return Response(_encode(body), headers=headers, media_type=MediaType.JSON)


def observe(embedded: Embedded) -> None:
    """Count a request's inputs and where its time went."""
    metrics.INPUTS.observe(len(embedded.prompts))
    metrics.TRUNCATED.inc(sum(prompt.truncated for prompt in embedded.prompts))
    metrics.STAGE_SECONDS.labels("media").observe(embedded.media_ms / 1e3)
    metrics.STAGE_SECONDS.labels("queue").observe(embedded.queue_ms / 1e3)
    metrics.STAGE_SECONDS.labels("inference").observe(embedded.inference_ms / 1e3)
