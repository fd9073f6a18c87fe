"""Reads the reference from the OpenAPI document of this release, the table of error codes and the limits.

To change a sentence of the reference, change it in the wire types or beside the route, then `make openapi`.
"""

import ast
import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from schemas import limits
from service.reference.model import (
    Body,
    DocumentedCode,
    Example,
    Field,
    Limit,
    NamedType,
    Operation,
    OperationFailure,
    OperationGroup,
    Phrase,
    ReferenceDocument,
    TypeLink,
)
from service.reference.released import released
from service.statuses import CODES, REASONS

Node = dict[str, Any]
Schema = dict[str, Any]

REF = "#/components/schemas/"

_MANY = {"string": "strings", "integer": "integers", "number": "numbers", "boolean": "booleans"}

_ABSENT = re.compile(r"\s*\bAbsent means (?:that )?(.+?)\.(?=\s|$)")


@cache
def read() -> ReferenceDocument:
    """The reference of this release, built once: it takes a tenth of a second."""
    document = json.loads(released("openapi.json"))
    types = {name: _named_type(name, schema) for name, schema in document["components"]["schemas"].items()}
    operations = [
        _operation(document, types, method, path, node)
        for path, methods in document["paths"].items()
        for method, node in methods.items()
    ]
    return ReferenceDocument(
        title=document["info"]["title"],
        version=document["info"]["version"],
        description=document["info"]["description"],
        groups=tuple(
            OperationGroup(tag["name"], tag["description"], tuple(o for name, o in operations if name == tag["name"]))
            for tag in document["tags"]
        ),
        types=tuple(types[name] for name in sorted(types) if name not in _shown_once(document)),
        codes=tuple(
            DocumentedCode(code, status, text) for status, codes in CODES.items() for code, text in codes.items()
        ),
        limits=_limits(),
    )


def _shown_once(document: Node) -> set[str]:
    """Types used only as the body or the answer of one operation, where their table stands."""
    places = Counter(_references(document))
    bodies = [
        content["schema"].get("$ref", "").removeprefix(REF)
        for methods in document["paths"].values()
        for operation in methods.values()
        for body in (operation.get("requestBody", {"content": {}}), operation["responses"]["200"])
        for content in body["content"].values()
    ]
    return {name for name in bodies if places[name] == 1}


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].removeprefix(REF)
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _references(child)


def _named_type(name: str, schema: Schema) -> NamedType:
    known = {"name": name, "description": schema["description"], "bounds": bounds(schema)}
    sent = schema.get("additionalProperties") is False
    if "properties" in schema:
        return NamedType(**known, sent_by_clients=sent, fields=_fields(schema))
    if "enum" in schema:
        return NamedType(**known, sent_by_clients=sent, values=tuple(schema["enum"]))
    forms = _branches(schema) or [schema]
    return NamedType(**known, sent_by_clients=sent, forms=tuple(words(form) for form in forms))


def _fields(schema: Schema) -> tuple[Field, ...]:
    required = schema.get("required", ())
    return tuple(_field(name, node, name in required) for name, node in schema["properties"].items())


def _field(name: str, schema: Schema, required: bool) -> Field:
    description = schema["description"]
    absent = _ABSENT.search(description)
    return Field(
        name=name,
        type=words(schema),
        bounds=bounds(schema),
        required=required,
        absent=absent[1] if absent else "",
        description=_ABSENT.sub("", description).strip(),
    )


def _operation(
    document: Node, types: dict[str, NamedType], method: str, path: str, node: Node
) -> tuple[str, Operation]:
    """An operation, with the name of its group before it."""
    responses = {int(status): response for status, response in node["responses"].items()}
    parameters = node.get("parameters", [])
    operation = Operation(
        id=node["operationId"],
        method=method.upper(),
        path=path,
        summary=node["summary"],
        description=node["description"],
        parameters=tuple(
            _field(p["name"], p["schema"] | {"description": p["description"]}, p["required"]) for p in parameters
        ),
        parameter_examples={p["name"]: p["example"] for p in parameters},
        request=next(iter(_bodies(node.get("requestBody", {"content": {}}), types)), None),
        answers=_bodies(responses[200], types),
        headers={name: document["components"]["headers"][name]["description"] for name in responses[200]["headers"]},
        failures=tuple(_failure(status, r, types) for status, r in responses.items() if status != 200),
    )
    return node["tags"][0], operation


def _bodies(node: Node, types: dict[str, NamedType]) -> tuple[Body, ...]:
    return tuple(
        Body(
            media_type,
            types.get(content["schema"].get("$ref", "").removeprefix(REF)),
            tuple(Example(name, e["summary"], e["value"]) for name, e in content.get("examples", {}).items()),
        )
        for media_type, content in node["content"].items()
    )


def _failure(status: int, response: Node, types: dict[str, NamedType]) -> OperationFailure:
    (body,) = _bodies(response, types)
    has_code = body.type is not None and any(field.name == "error" for field in body.type.fields)
    return OperationFailure(status, REASONS[status], tuple(CODES[status]) if has_code else (), body)


def _limits() -> tuple[Limit, ...]:
    """The numbers of `schemas.limits` with the docstring under each, which exists in the source alone."""
    body = ast.parse(inspect.getsource(limits)).body
    return tuple(
        Limit(statement.targets[0].id, getattr(limits, statement.targets[0].id), inspect.cleandoc(about.value.value))
        for statement, about in pairwise(body)
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(about, ast.Expr)
        and isinstance(about.value, ast.Constant)
        and isinstance(about.value.value, str)
    )


def _branches(schema: Schema) -> list[Schema]:
    return schema.get("oneOf") or schema.get("anyOf") or []


def words(schema: Schema, *, many: bool = False) -> Phrase:
    """A type in words, `many` of them in the plural."""
    if "$ref" in schema:
        return (TypeLink(schema["$ref"].removeprefix(REF)),)
    if union := _branches(schema):
        return _joined([words(branch, many=many) for branch in union])
    if "enum" in schema:
        return _joined([(f"`{value}`",) for value in schema["enum"]])
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return _joined([_kind(kind, schema, many) for kind in kinds])


def _kind(kind: str, schema: Schema, many: bool) -> Phrase:
    if kind == "array":
        return ("lists of " if many else "list of ", *words(schema["items"], many=True))
    if kind == "object":
        values = schema.get("additionalProperties")
        return ("map from string to ", *words(values)) if isinstance(values, dict) else ("any object",)
    return (_MANY.get(kind, kind) if many else kind,)


def _joined(phrases: list[Phrase]) -> Phrase:
    return tuple(word for i, phrase in enumerate(phrases) for word in ((" or ", *phrase) if i else phrase))


def bounds(schema: Schema) -> str:
    """The bounds that a schema states itself, such as `1 to 2,048 entries`; empty when it states none."""
    found = [
        _range(schema.get("minItems"), schema.get("maxItems"), " entries"),
        _range(schema.get("minLength"), schema.get("maxLength"), " characters"),
        _range(schema.get("minimum"), schema.get("maximum"), ""),
        f"matches `{schema['pattern']}`" if "pattern" in schema else "",
    ]
    return "; ".join(text for text in found if text)


def _range(low: float | None, high: float | None, unit: str) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return f"at least {low:,}{unit}".replace(" 1 entries", " 1 entry")
    return f"at most {high:,}{unit}" if low is None else f"{low:,} to {high:,}{unit}"
