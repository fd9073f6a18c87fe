"""Whether an example has the shape of a schema: the keywords that our documents use, and no others.

In: a value, a schema, all schemas by name. Out: yes or no. It chooses the examples of the SDK profile; that those which
were chosen validate, bounds included, is tested with a real validator.
"""

from collections.abc import Mapping
from typing import Any

from service.openapi.components import REF, Schema, branches

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def fits(value: Any, schema: Schema, schemas: Mapping[str, Schema]) -> bool:
    """Whether `value` has the shape of `schema`; bounds are not looked at.

    Args:
        value: JSON.
        schema: as `build_components` writes them.
        schemas: every component, for references.
    """
    if "$ref" in schema:
        target = schemas.get(schema["$ref"].removeprefix(REF))
        return target is not None and fits(value, target, schemas)
    if union := branches(schema):
        return sum(fits(value, branch, schemas) for branch in union) == 1
    if value not in schema.get("enum", [value]) or not _is_kind(value, schema.get("type", list(_KINDS))):
        return False
    if isinstance(value, list):
        return all(fits(item, schema.get("items", {}), schemas) for item in value)
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
    return all(fits(item, properties.get(name, anything), schemas) for name, item in value.items())
