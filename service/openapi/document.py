"""Assembles the OpenAPI document from the route table and the components, the same on every machine."""

import json
from types import UnionType
from typing import Any

from schemas.dialects.dialect import Dialect
from schemas.dialects.reading import DIALECTS, dialects_of
from schemas.endpoints.health import Health
from service import VERSION
from service.http.answer_headers import HEADERS, RAW_HEADERS
from service.http.request import MIN_TIMEOUT_S
from service.http.route import Route
from service.http.route_table import ROUTES
from service.openapi.components import REF, build_components, component_of
from service.statuses import CODES, REASONS, RETRY_AFTER, SHOULD_RETRY

TAGS = {
    "Embeddings": "Turn texts, images and mixtures of them into vectors.",
    "Scores": "Put documents in the order of their relevance to a query: the second stage of a search.",
    "Tokens": "See and count tokens without embedding them.",
    "Models": "What is served, and how requests to it are treated.",
    "Probes": "For orchestrators and monitoring.",
    "Pages": "For people.",
}
"""Groups of operations, with their purpose."""

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

SECURITY_SCHEMES = {
    "bearerAuth": {"type": "http", "scheme": "bearer", "description": "An API key, where the server has keys."},
    "apiKeyHeader": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "The same key."},
    "azureKeyHeader": {
        "type": "apiKey",
        "in": "header",
        "name": "api-key",
        "description": "The same, as Azure has it",
    },
}
"""Three ways to send a key; a request that uses two is refused."""


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

OTHER_FORMS = "x-dialects"
"""Beside the body of an operation: the forms of other servers in which it may come. A `oneOf` of all of them would give
generated clients a type that nobody can read."""

_FORMATS = {"integer": {"format": "int32"}, "number": {"format": "float"}, "string": {}}


def build() -> dict[str, Any]:
    """The document in OpenAPI 3.1.0, with keys in a fixed order."""
    types = [
        kind
        for route in ROUTES
        for kind in (route.query, route.request, route.response, route.error)
        if kind is not None
    ]
    types += [kind for one in DIALECTS for kind in (one.body, one.response) if kind is not None]
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
            "headers": {name: _header(name, header) for name, header in HEADERS.items()},
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


def render() -> bytes:
    """The document as the bytes of `openapi.json`."""
    return (json.dumps(build(), indent=2, ensure_ascii=False) + "\n").encode()


def _info() -> dict[str, Any]:
    return {
        "title": "Cenote",
        "version": VERSION,
        "description": (
            "A multimodal embedding service. Requests are strict: an unknown field is an error that names it; `null` "
            "means absent. Answers are open: fields may be added. Vectors are in the order of the request. "
            "Every GET has a HEAD, without the body."
        ),
        "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
    }


def _operation(route: Route, query: dict[str, Any]) -> dict[str, Any]:
    """The operation of a route; `query` is the schema of the type whose fields are its query parameters."""
    operation: dict[str, Any] = {
        "operationId": route.operation_id,
        "tags": [route.tag],
        "summary": route.summary,
        "description": route.description,
    }
    if not route.protected:
        operation["security"] = []
    if parameters := _parameters(route, query):
        operation["parameters"] = parameters
    if route.request is not None:
        body = _content(route.request, dict(route.request_examples), route.request_media_type)
        operation["requestBody"] = {"required": True, "content": body}
        if dialects := dialects_of(route.request):
            operation["requestBody"][OTHER_FORMS] = [_other_form(dialect) for dialect in dialects]
            names = ", ".join(dialect.name for dialect in dialects)
            operation["description"] += f" A body may also come in the form of {names} (`{OTHER_FORMS}`)."
    operation["responses"] = {"200": _success(route)} | {str(s): _error(route, s) for s in route.error_statuses}
    return operation


def _other_form(dialect: Dialect[Any]) -> dict[str, Any]:
    form: dict[str, Any] = {
        "name": dialect.name,
        "description": dialect.about,
        "schema": {"$ref": REF + component_of(dialect.body)},
        "example": dict(dialect.example),
    }
    return form | ({"response": {"$ref": REF + component_of(dialect.response)}} if dialect.response else {})


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
    example = route.error_example(status)
    examples = {} if example is None else {"error": {"summary": REASONS[status], "value": example}}
    codes = "" if route.error is Health else f" Codes: {', '.join(f'`{code}`' for code in CODES[status])}."
    return {
        "description": REASONS[status] + codes,
        "headers": _headers(("x-request-id", *more)),
        "content": _content(route.error, examples),
    }


def _headers(names: tuple[str, ...]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _header(name: str, header: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": header["description"],
        "required": name not in RAW_HEADERS,
        "schema": {"type": header["type"], **_FORMATS[header["type"]]},
        **{key: value for key, value in header.items() if key == "example"},
    }


def _parameters(route: Route, query: dict[str, Any]) -> list[dict[str, Any]]:
    """Parameters in path, query (the properties of the schema `query`) and headers, in this order."""
    text = {"type": "string"}
    found = [_parameter(name, "path", about, text, "builtin") for name, about in route.parameters.items()]
    for name, schema in query.get("properties", {}).items():
        bare = {key: value for key, value in schema.items() if key not in ("description", "examples")}
        found.append(_parameter(name, "query", schema["description"], bare, schema["examples"][0]))
    return [*found, *([TIMEOUT] if route.takes_timeout else [])]


def _parameter(name: str, place: str, about: str, schema: dict[str, Any], example: Any) -> dict[str, Any]:
    head = {"name": name, "in": place, "required": place == "path", "description": about}
    return head | {"schema": schema, "example": example}
