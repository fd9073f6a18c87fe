"""What the document says of an operation's parameters: in the path, in the query, in headers."""

from typing import Any

from service.openapi.route import Route
from service.openapi.statuses import MIN_TIMEOUT_S

TIMEOUT = {
    "name": "X-Request-Timeout",
    "in": "header",
    "required": False,
    "description": "Seconds, from the request's arrival, after which its answer is of no use: then it is 504, and what "
    "has not begun never will. The server's own limit holds when it is shorter, or when the header is absent.",
    "schema": {"type": "number", "format": "float", "minimum": MIN_TIMEOUT_S},
    "example": 2.5,
}
"""The one header of requests that counts here, beside the standard ones."""


def parameters_of(route: Route, query: dict[str, Any]) -> list[dict[str, Any]]:
    """Those in the path, in the query and in headers, in this order.

    Args:
        route: of the table.
        query: the schema of the type whose fields are its query parameters; empty where it has none.
    """
    in_path = [_parameter(name, text) for name, text in route.parameters.items()]
    in_query = [_query_parameter(name, schema) for name, schema in query.get("properties", {}).items()]
    return [*in_path, *in_query, *([TIMEOUT] if route.takes_timeout else [])]


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
