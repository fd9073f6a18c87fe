"""The document with what it says in words: `null` means absent, wherever a request's field may be absent.

Its schemas do not say so, for the sake of generated clients (docs/decisions/api.md); a machine that reads schemas only
would report each accepted null as a fault, and would never send one where it has to be accepted.
"""

from typing import Any

Schema = dict[str, Any]

LINES = "application/x-ndjson"


def as_stated(document: Schema) -> Schema:
    """The same document, with null beside the type of every optional request field."""
    components = document["components"]
    schemas = {name: _with_null(schema) for name, schema in components["schemas"].items()}
    paths = {path: methods for path, methods in document["paths"].items() if not _takes_lines(methods)}
    return document | {"paths": paths, "components": components | {"schemas": schemas}}


def _takes_lines(methods: Schema) -> bool:
    """True if a body is lines of JSON, of which such a machine can make none."""
    return any(LINES in operation.get("requestBody", {}).get("content", {}) for operation in methods.values())


def _with_null(schema: Schema) -> Schema:
    if schema.get("additionalProperties") is not False:  # answers are open
        return schema
    required = schema.get("required", ())
    properties = schema["properties"].items()
    return schema | {"properties": {name: p if name in required else _or_null(p) for name, p in properties}}


def _or_null(schema: Schema) -> Schema:
    notes = {"examples": schema["examples"]} if "examples" in schema else {}
    bare = {key: value for key, value in schema.items() if key not in notes}
    return notes | {"oneOf": [bare, {"type": "null"}]}
