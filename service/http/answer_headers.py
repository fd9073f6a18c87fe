"""The headers of answers, as the document describes them."""

from typing import Any

from schemas.fields import EXAMPLE_FINGERPRINT

HEADERS: dict[str, dict[str, Any]] = {
    "x-request-id": {
        "description": "Identifies this answer; the request's own `x-request-id` if it sent one.",
        "type": "string",
    },
    "Retry-After": {"description": "Seconds to wait before trying again.", "type": "integer"},
    "retry-after-ms": {
        "description": "Milliseconds to wait before trying again, spread at random so that clients refused together "
        "do not come back together.",
        "type": "integer",
    },
    "x-should-retry": {
        "description": "`false` where the same request would fail again: OpenAI's clients then do not repeat it.",
        "type": "string",
    },
    "WWW-Authenticate": {"description": "How to send a key.", "type": "string", "example": 'Bearer realm="cenote"'},
    "x-model-fingerprint": {
        "description": "Identifies the model of the vectors: `fingerprint` of `/v1/models`. Store it with them.",
        "type": "string",
        "example": EXAMPLE_FINGERPRINT,
    },
    "x-queue-time": {
        "description": "Milliseconds between the engine's receipt and the batch, encoding of new images included.",
        "type": "number",
    },
    "x-media-time": {"description": "Milliseconds spent reading media.", "type": "number"},
    "x-inference-time": {"description": "Milliseconds in the model.", "type": "number"},
    "x-total-time": {"description": "Milliseconds from the request to the answer.", "type": "number"},
    "x-encoder-cache": {
        "description": "Images found and not found in the encoder cache: `hit=n, miss=m`.",
        "type": "string",
        "example": "hit=1, miss=0",
    },
    "Vary": {
        "description": "Says that the form of the answer depends on `Accept`.",
        "type": "string",
        "example": "Accept",
    },
    "x-embedding-shape": {
        "description": "Raw answers only: how many vectors, and their length.",
        "type": "string",
        "example": "3,256",
    },
    "x-embedding-dtype": {
        "description": "Raw answers only: number format of the components.",
        "type": "string",
        "example": "float32",
    },
    "x-embedding-endianness": {
        "description": "Raw answers only: byte order of the components.",
        "type": "string",
        "example": "little",
    },
    "x-embedding-truncated": {
        "description": "Raw answers only: how many inputs had text cut off to fit.",
        "type": "integer",
    },
    "x-prompt-tokens": {
        "description": "Raw answers only: tokens that the model read, `usage.prompt_tokens` in JSON.",
        "type": "integer",
    },
}
"""All but those of raw answers are in each answer that lists them. Some have an example: those whose value is neither a
name nor a number."""

TIMING_HEADERS = (
    *("x-model-fingerprint", "x-queue-time", "x-media-time", "x-inference-time", "x-total-time"),
    "x-encoder-cache",
)
"""Headers of every answer with vectors or features."""

RAW_HEADERS = (
    "x-embedding-shape",
    "x-embedding-dtype",
    "x-embedding-endianness",
    "x-embedding-truncated",
    "x-prompt-tokens",
)
"""Headers of raw answers, in place of JSON fields."""
