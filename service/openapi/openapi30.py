"""From OpenAPI 3.1 to 3.0.3, for the constructs that our documents use.

In: a document of 3.1 whose schemas are all in `components`. Out: the same of 3.0.3: `type: [T, null]` is `nullable`,
the `examples` of a schema are one `example`, a reference stands alone, and a body has JSON alone where JSON is offered.
Examples that their schema does not accept go away. Knows nothing of profiles.

Source: the OpenAPI specification 3.0.3; shared/reference/ecosystem.md section 1.4, rule 1.
"""

from typing import Any

from service.openapi.components import Schema
from service.openapi.fits import fits

Document = dict[str, Any]

_DATA = ("example", "value", "enum", "default", "mapping")
"""Keys whose values are data or names, and so stay as they are."""


def to_openapi30(document: Document) -> Document:
    """The document in OpenAPI 3.0.3.

    Args:
        document: of OpenAPI 3.1, as `document.build` writes it.
    """
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
    good = [value for value in examples if fits(value, rest, schemas)]
    return rest | ({"example": good[0]} if good else {})


def _fitting_bodies(node: dict[str, Any], schemas: dict[str, Schema]) -> dict[str, Any]:
    """A body with those of its named examples that its schema accepts."""
    examples = node.get("examples")
    if not isinstance(examples, dict) or "schema" not in node:
        return node
    good = {name: example for name, example in examples.items() if fits(example["value"], node["schema"], schemas)}
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
