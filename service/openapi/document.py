"""Assembles the OpenAPI document: the route table, the components, and what stands around them.

Out: a dict (`build`) and its bytes (`render`), the same on every machine, so that `/openapi.json` can equal the file.
"""

import json
from types import UnionType
from typing import Any

from schemas.errors import CohereErrorResponse, ErrorResponse
from schemas.models import EXAMPLE_FINGERPRINT
from service.openapi.components import REF, build_components, component_of
from service.openapi.parameters import parameters_of
from service.openapi.route import Route
from service.openapi.routes import RAW_HEADERS, ROUTES, TAGS
from service.openapi.statuses import CODES, REASONS, RETRY_AFTER, SHOULD_RETRY

API_VERSION = "0.1.0"
"""Version of the document; equal to the package's."""

CODED = (ErrorResponse, CohereErrorResponse)
"""Error answers that carry a code; the probes answer with their state instead."""

_SELF = {
    "title": "OpenApiDocument",
    "description": "An OpenAPI document.",
    "type": "object",
    "additionalProperties": True,
}

_RAW = {
    "description": "The components of all vectors, row by row: `x-embedding-shape` says how many, `x-embedding-dtype` "
    "and `x-embedding-endianness` what they are.",
    "type": "string",
    "format": "binary",
    "contentMediaType": "application/octet-stream",
}
"""Vectors as raw bytes. No component: OpenAPI 3.0 has no `contentMediaType`, and its profile has JSON alone."""

HEADERS: dict[str, dict[str, Any]] = {
    "x-request-id": {
        "description": "Names this answer; the request's own `x-request-id` if it sent one.",
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
        "description": "Which model made the vectors, exactly: `fingerprint` of `/v1/models`. Store it beside them.",
        "type": "string",
    },
    "x-queue-time": {
        "description": "Milliseconds between the engine's receipt and the batch; new pictures are encoded in it.",
        "type": "number",
    },
    "x-media-time": {"description": "Milliseconds spent reading pictures.", "type": "number"},
    "x-inference-time": {"description": "Milliseconds in the model.", "type": "number"},
    "x-total-time": {"description": "Milliseconds from the request to the answer.", "type": "number"},
    "x-encoder-cache": {
        "description": "Pictures found and not found in the encoder cache: `hit=n, miss=m`.",
        "type": "string",
    },
    "Vary": {"description": "Says that `Accept` chose the form of the answer.", "type": "string"},
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
"""What those headers look like whose value has a form of its own."""


SECURITY_SCHEMES = {
    "bearerAuth": {"type": "http", "scheme": "bearer", "description": "An API key, where the server has keys."},
    "apiKeyHeader": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "The same key."},
}
"""Two ways to send a key; a request that uses both is refused."""


def build() -> dict[str, Any]:
    """The document.

    Returns:
        OpenAPI 3.1.0, with keys in a fixed order.
    """
    types = [
        kind
        for route in ROUTES
        for kind in (route.query, route.request, route.response, route.error)
        if kind is not None
    ]
    schemas = build_components(list(dict.fromkeys(types)))
    queries = {route.query: schemas.pop(route.query.__name__) for route in ROUTES if route.query is not None}
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        operation = _operation(route, queries[route.query] if route.query else {})
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": _info(),
        "servers": [{"url": "/", "description": "This server."}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "security": [{}, *({name: []} for name in SECURITY_SCHEMES)],
        "paths": paths,
        "components": {
            "schemas": schemas | {"OpenApiDocument": _SELF},
            "headers": {name: _header(name) for name in HEADERS},
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


def render() -> bytes:
    """The document as the bytes of `openapi.json`."""
    return (json.dumps(build(), indent=2, ensure_ascii=False) + "\n").encode()


def _info() -> dict[str, Any]:
    return {
        "title": "Cenote",
        "version": API_VERSION,
        "description": (
            "A multimodal embedding service. Requests are strict: an unknown field is refused by name; `null` means "
            "absent. Answers are open: fields may be added. Vectors are in the order of the request. "
            "Where GET is listed, HEAD is answered too, without the body."
        ),
        "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
    }


def _header(name: str) -> dict[str, Any]:
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


def _operation(route: Route, query: dict[str, Any]) -> dict[str, Any]:
    """What is said of a route; `query` is the schema of the type whose fields are its query parameters."""
    operation: dict[str, Any] = {
        "operationId": route.operation_id,
        "tags": [route.tag],
        "summary": route.summary,
        "description": route.description,
    }
    if not route.protected:
        operation["security"] = []
    if parameters := parameters_of(route, query):
        operation["parameters"] = parameters
    if route.request is not None:
        body = _content(route.request, dict(route.request_examples), route.request_media_type)
        operation["requestBody"] = {"required": True, "content": body}
    operation["responses"] = {"200": _success(route)} | {str(s): _error(route, s) for s in route.error_statuses}
    return operation


def _content(kind: type | UnionType, examples: dict[str, Any], media_type: str = "application/json") -> dict[str, Any]:
    body: dict[str, Any] = {"schema": {"$ref": REF + component_of(kind)}}
    return {media_type: body | ({"examples": examples} if examples else {})}


def _success(route: Route) -> dict[str, Any]:
    if route.response is not None:
        content = _content(route.response, dict(route.response_examples), route.media_type)
    else:
        schema = {"$ref": REF + "OpenApiDocument"} if "json" in route.media_type else {"type": "string"}
        content = {route.media_type: {"schema": schema}}
    names = ("x-request-id", *route.headers)
    if route.raw_examples:
        raw = {"schema": _RAW, "examples": dict(route.raw_examples)}
        content, names = content | {"application/octet-stream": raw}, (*names, *RAW_HEADERS)
    return {"description": route.summary, "headers": _headers(names), "content": content}


def _error(route: Route, status: int) -> dict[str, Any]:
    more: tuple[str, ...] = ("Retry-After", "retry-after-ms") if status in RETRY_AFTER else ()
    more += ("WWW-Authenticate",) if status == 401 else ("x-should-retry",) if status in SHOULD_RETRY else ()
    example = route.error_examples.get(status)
    examples = {} if example is None else {"error": {"summary": REASONS[status], "value": example}}
    codes = f" Codes: {', '.join(f'`{code}`' for code in CODES[status])}." if issubclass(route.error, CODED) else ""
    return {
        "description": REASONS[status] + codes,
        "headers": _headers(("x-request-id", *more)),
        "content": _content(route.error, examples),
    }


def _headers(names: tuple[str, ...]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
