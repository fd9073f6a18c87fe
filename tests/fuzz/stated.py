"""The document with what it says in words, and a machine that reads schemas only would take for faults.

`null` means absent, wherever a request's field may be absent; the schemas do not say so, for the sake of generated
clients (DECISIONS.md). And who gives a request a millisecond is answered 504, as it should be: here nobody does.
"""

from typing import Any

Schema = dict[str, Any]


LEAST_PATIENCE_S = 60


def as_stated(document: Schema) -> Schema:
    """The same document: null beside the type of every optional request field, and time to answer."""
    components = document["components"]
    schemas = {name: _with_null(schema) for name, schema in components["schemas"].items()}
    stated = document | {"components": components | {"schemas": schemas}}
    for path in stated["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "X-Request-Timeout":
                    parameter["schema"]["minimum"] = LEAST_PATIENCE_S
    return stated


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
