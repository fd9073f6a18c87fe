"""Converts OpenAPI 3.1 to 3.0.3, for the constructs that our documents use.

`type: [T, null]` becomes `nullable`, the `examples` of a schema become one `example`, a reference stands alone, a body
has JSON alone if JSON is offered, and examples that their schema does not accept are dropped.

Source: the OpenAPI specification 3.0.3; docs/notes/ecosystem.md.
"""

from collections.abc import Mapping
from typing import Any

from service.openapi.components import REF, Schema, branches

Document = dict[str, Any]

_DATA = ("example", "value", "enum", "default", "mapping")
"""Keys whose values are data or names, and so stay as they are."""


_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def to_openapi30(document: Document) -> Document:
    """The document in OpenAPI 3.0.3; all its schemas are in `components`."""
    converted: Document = _convert(document, document["components"]["schemas"])
    return converted | {"openapi": "3.0.3"}


def _convert(node: Any, schemas: dict[str, Schema]) -> Any:
    """One node with all below it; what stands under `properties` are names of fields, never keywords."""
    if isinstance(node, list):
        return [_convert(item, schemas) for item in node]
    if not isinstance(node, dict):
        return node
    node = _json_alone(_one_example(_fitting_bodies(node, schemas), schemas))
    out = {key: _convert_value(key, value, schemas) for key, value in node.items()}
    return _lone_reference(_nullable(out))


def _convert_value(key: str, value: Any, schemas: dict[str, Schema]) -> Any:
    if key in _DATA:
        return value
    if key == "properties":
        return {name: _convert(schema, schemas) for name, schema in value.items()}
    return _convert(value, schemas)


def _json_alone(node: dict[str, Any]) -> dict[str, Any]:
    """Of the media types of one body, JSON when it is among them."""
    content = node.get("content")
    if not isinstance(content, dict) or "application/json" not in content:
        return node
    return node | {"content": {"application/json": content["application/json"]}}


def _one_example(node: dict[str, Any], schemas: dict[str, Schema]) -> dict[str, Any]:
    """A schema with the first of its examples that it accepts."""
    examples = node.get("examples")
    if not isinstance(examples, list):
        return node
    rest = {key: value for key, value in node.items() if key != "examples"}
    good = [value for value in examples if _fits(value, rest, schemas)]
    return rest | ({"example": good[0]} if good else {})


def _fitting_bodies(node: dict[str, Any], schemas: dict[str, Schema]) -> dict[str, Any]:
    """A body with those of its named examples that its schema accepts."""
    examples = node.get("examples")
    if not isinstance(examples, dict) or "schema" not in node:
        return node
    good = {name: example for name, example in examples.items() if _fits(example["value"], node["schema"], schemas)}
    return node | {"examples": good}


def _nullable(node: dict[str, Any]) -> dict[str, Any]:
    kinds = node.get("type")
    if not isinstance(kinds, list):
        return node
    (kind,) = [kind for kind in kinds if kind != "null"]
    return node | {"type": kind, "nullable": "null" in kinds}


def _lone_reference(node: dict[str, Any]) -> dict[str, Any]:
    """A reference stands alone in 3.0; what is said of its use goes around it, beside an `allOf` of one."""
    if not isinstance(node.get("$ref"), str) or len(node) == 1:
        return node
    notes = {key: value for key, value in node.items() if key != "$ref"}
    return notes | {"allOf": [{"$ref": node["$ref"]}]}


def _fits(value: Any, schema: Schema, schemas: Mapping[str, Schema]) -> bool:
    """True if a JSON value has the shape of `schema`, bounds aside; `schemas` are all components."""
    if "$ref" in schema:
        target = schemas.get(schema["$ref"].removeprefix(REF))
        return target is not None and _fits(value, target, schemas)
    if union := branches(schema):
        return sum(_fits(value, branch, schemas) for branch in union) == 1
    if value not in schema.get("enum", [value]) or not _is_kind(value, schema.get("type", list(_KINDS))):
        return False
    if isinstance(value, list):
        return all(_fits(item, schema.get("items", {}), schemas) for item in value)
    return not isinstance(value, dict) or _object_fits(value, schema, schemas)


def _is_kind(value: Any, kinds: str | list[str]) -> bool:
    names = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, _KINDS[name]) for name in names)


def _object_fits(value: dict[str, Any], schema: Schema, schemas: Mapping[str, Schema]) -> bool:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    if any(name not in value for name in schema.get("required", ())):
        return False
    if others is False and not value.keys() <= properties.keys():
        return False
    anything: Schema = others if isinstance(others, dict) else {}
    return all(_fits(item, properties.get(name, anything), schemas) for name, item in value.items())
