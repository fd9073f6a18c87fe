"""The OpenAPI document of this release as the reference reads it: operations by group, and schemas in words.

To change a sentence of the reference, change it in the wire types or beside the route, then `make openapi`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

Node = dict[str, Any]
"""A part of the document."""

REF = "#/components/schemas/"

_MANY = {"string": "strings", "integer": "integers", "number": "numbers", "boolean": "booleans"}


@cache
def released(name: str) -> bytes:
    """The bytes of `openapi.json` or `openapi-sdk.json`: beside the packages in a checkout, in `service` in a wheel.

    Raises:
        FileNotFoundError: the release was built without it.
    """
    package = Path(__file__).parents[1]
    inside = package / name
    return (inside if inside.is_file() else package.parent / name).read_bytes()


@cache
def document() -> Node:
    """The document of this release."""
    found: Node = json.loads(released("openapi.json"))
    return found


def schemas() -> dict[str, Node]:
    """The named types, by name."""
    found: dict[str, Node] = document()["components"]["schemas"]
    return found


@cache
def operations() -> tuple[Node, ...]:
    """Every operation in reading order, with its `path` and, in capitals, its `method`."""
    return tuple(
        {**operation, "path": path, "method": method.upper()}
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    )


def groups() -> Iterator[tuple[str, str, list[Node]]]:
    """Name, description and operations of each group."""
    for tag in document()["tags"]:
        yield tag["name"], tag["description"], [one for one in operations() if one["tags"][0] == tag["name"]]


def type_of(content: Node) -> str:
    """The named type of a body, or nothing: of a text, or of raw bytes."""
    name = str(content["schema"].get("$ref", "")).removeprefix(REF)
    return name if name in schemas() else ""


def request_of(operation: Node) -> Node:
    """The body of a request, with type and examples; empty where the operation has none."""
    found: Node = next(iter(operation.get("requestBody", {}).get("content", {}).values()), {})
    return found


def examples_of(operation: Node) -> list[Node]:
    """The examples to write calls for: those of the request, or an empty one for the one call without a body."""
    return [*request_of(operation)["examples"].values()] if request_of(operation) else [{}]


def listed_types() -> list[str]:
    """The types with a table of their own: all but the body or the answer of one operation, where its table stands."""
    places = Counter(_references(document()))
    bodies = [
        content["schema"].get("$ref", "").removeprefix(REF)
        for operation in operations()
        for body in (operation.get("requestBody", {"content": {}}), operation["responses"]["200"])
        for content in body["content"].values()
    ]
    return sorted(schemas().keys() - {name for name in bodies if places[name] == 1})


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].removeprefix(REF)
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _references(child)


def branches(schema: Node) -> list[Node]:
    """The alternatives of a union; none of any other schema."""
    return schema.get("oneOf") or schema.get("anyOf") or []


def link(name: str) -> str:
    """A link to the table of a type."""
    return f"[{name}](#{name.lower()})"


def words(schema: Node, *, many: bool = False) -> str:
    """A type in words, `many` of them in the plural; named types are links."""
    if "$ref" in schema:
        return link(schema["$ref"].removeprefix(REF))
    if union := branches(schema):
        return " or ".join(words(branch, many=many) for branch in union)
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return " or ".join(_kind(kind, schema, many) for kind in kinds)


def _kind(kind: str, schema: Node, many: bool) -> str:
    if kind == "array":
        return ("lists of " if many else "list of ") + words(schema["items"], many=True)
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"map from string to {words(values)}" if isinstance(values, dict) else "any object"
    return _MANY.get(kind, kind) if many else kind


def bounds(schema: Node) -> str:
    """The bounds that a schema states itself, such as `1 to 2,048 entries`; empty when it states none."""
    found = []
    for low, high, unit in (("minItems", "maxItems", " entries"), ("minLength", "maxLength", " characters")):
        found.append(_range(low, high, unit, schema))
    found.append(_range("minimum", "maximum", "", schema))
    found.append(f"matches `{schema['pattern']}`" if "pattern" in schema else "")
    return "; ".join(text for text in found if text)


def _range(least: str, most: str, unit: str, schema: Node) -> str:
    if least in schema and schema[least] == schema.get(most):
        return f"exactly {schema[least]:,}{unit}"
    if least in schema and most in schema:
        return f"{schema[least]:,} to {schema[most]:,}{unit}"
    if least in schema:
        return re.sub(r"\b1 entries", "1 entry", f"at least {schema[least]:,}{unit}")
    return f"at most {schema[most]:,}{unit}" if most in schema else ""
