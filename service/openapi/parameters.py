"""The parameters of operations in path, query and headers, and the components of headers of answers."""

from typing import Any

from service.http.answer_headers import HEADERS, RAW_HEADERS
from service.http.request import MIN_TIMEOUT_S
from service.http.route import Route

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

_FORMATS = {"integer": {"format": "int32"}, "number": {"format": "float"}, "string": {}}


def parameters_of(route: Route, query: dict[str, Any]) -> list[dict[str, Any]]:
    """Parameters in path, query (the properties of the schema `query`) and headers, in this order."""
    in_path = [_parameter(name, text) for name, text in route.parameters.items()]
    in_query = [_query_parameter(name, schema) for name, schema in query.get("properties", {}).items()]
    return [*in_path, *in_query, *([TIMEOUT] if route.takes_timeout else [])]


def header_of(name: str) -> dict[str, Any]:
    """The document's component of a header."""
    header = HEADERS[name]
    return {
        "description": header["description"],
        "required": name not in RAW_HEADERS,
        "schema": {"type": header["type"], **_FORMATS[header["type"]]},
        **{key: value for key, value in header.items() if key == "example"},
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
