"""The headers of answers, and the parameters of operations in path, query and headers."""

from typing import Any

from schemas.fields import EXAMPLE_FINGERPRINT
from service.openapi.route import Route
from service.openapi.statuses import MIN_TIMEOUT_S

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
    "WWW-Authenticate": {"description": "How to send a key.", "type": "string"},
    "x-model-fingerprint": {
        "description": "Identifies the model of the vectors: `fingerprint` of `/v1/models`. Store it with them.",
        "type": "string",
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
    },
    "Vary": {"description": "Says that the form of the answer depends on `Accept`.", "type": "string"},
    "x-embedding-shape": {"description": "Raw answers only: how many vectors, and their length.", "type": "string"},
    "x-embedding-dtype": {"description": "Raw answers only: number format of the components.", "type": "string"},
    "x-embedding-endianness": {"description": "Raw answers only: byte order of the components.", "type": "string"},
    "x-embedding-truncated": {
        "description": "Raw answers only: how many inputs had text cut off to fit.",
        "type": "integer",
    },
    "x-prompt-tokens": {
        "description": "Raw answers only: tokens that the model read, `usage.prompt_tokens` in JSON.",
        "type": "integer",
    },
}
"""Headers of answers. All but those of raw answers are in each answer that lists them."""

HEADER_EXAMPLES = {
    "x-model-fingerprint": EXAMPLE_FINGERPRINT,
    "x-encoder-cache": "hit=1, miss=0",
    "Vary": "Accept",
    "WWW-Authenticate": 'Bearer realm="cenote"',
    "x-embedding-shape": "3,256",
    "x-embedding-dtype": "float32",
    "x-embedding-endianness": "little",
}
"""Examples of headers whose value is neither a name nor a number."""

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

TIMEOUT = {
    "name": "X-Request-Timeout",
    "in": "header",
    "required": False,
    "description": "Seconds from the request's arrival until its answer is no longer wanted: it is 504 then, and work "
    "not begun is dropped. The server's own limit applies if it is shorter, or if the header is absent.",
    "schema": {"type": "number", "format": "float", "minimum": MIN_TIMEOUT_S},
    "example": 2.5,
}
"""The one header of requests, besides the standard ones."""


def parameters_of(route: Route, query: dict[str, Any]) -> list[dict[str, Any]]:
    """Parameters in path, query (the properties of the schema `query`) and headers, in this order."""
    in_path = [_parameter(name, text) for name, text in route.parameters.items()]
    in_query = [_query_parameter(name, schema) for name, schema in query.get("properties", {}).items()]
    return [*in_path, *in_query, *([TIMEOUT] if route.takes_timeout else [])]


def header_of(name: str) -> dict[str, Any]:
    """The document's component of a header."""
    header = HEADERS[name]
    formats = {"integer": {"format": "int32"}, "number": {"format": "float"}}
    schema = {"type": header["type"], **formats.get(header["type"], {})}
    example = {"example": HEADER_EXAMPLES[name]} if name in HEADER_EXAMPLES else {}
    return {
        "description": header["description"],
        "required": name not in RAW_HEADERS,
        "schema": schema,
        **example,
    }


def _query_parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    bare = {key: value for key, value in schema.items() if key not in ("description", "examples")}
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": schema["description"],
        "schema": bare,
        "example": schema["examples"][0],
    }


def _parameter(name: str, description: str) -> dict[str, Any]:
    schema = {"type": "string"}
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
        "example": "builtin",
    }
