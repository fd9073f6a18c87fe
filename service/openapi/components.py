"""Makes the schemas of the document: msgspec's own, changed so that client generators can use them.

Every union and enum becomes a reference to its name; unions are `oneOf`; requests have no `null` and no `default`;
answers are open, and fields that are always sent are required; numbers have a format.

Source: docs/notes/ecosystem.md names the generator that failed without each rule.
"""

import inspect
import json
from collections.abc import Callable
from types import GenericAlias, UnionType
from typing import Any, get_args

import msgspec

from schemas.base import Answer, Wire
from schemas.endpoints import embed, embed_v1, embed_vectors
from service.openapi.named import NAMED, Named

Schema = dict[str, Any]

REF = "#/components/schemas/"
_NOTES = ("title", "description", "examples", "default")
_FORMATS = {"integer": "int32", "number": "float"}
_RENAMED = {"Content": "InputItem", "ImageEmbeds": "ImageFeatures", "LoneImageUrlPart": "ImageUrlPart"}
"""Types that hold a property of their own name: generators write `content = cls(content=content)` for `Content`, one
variable with two types. And two types that look alike on the wire: one component."""


def build_components(roots: list[type[Wire | Answer] | UnionType | type[list[Any]]]) -> dict[str, Schema]:
    """The schemas of the routes' types and of all types inside them, sorted by component name."""
    types = [*roots, *(named.type for named in NAMED)]
    schemas, raw = msgspec.json.schema_components(types, ref_template=REF + "{name}")
    names: dict[str, Schema] = {}
    components: dict[str, Schema] = {}
    for named, schema in zip(NAMED, schemas[len(roots) :], strict=True):
        _name(named, schema, names, components)
    for name, schema in raw.items():
        components[name] = _struct(schema, names)
    return _rename(_by_final_name(components))


def _by_final_name(components: dict[str, Schema]) -> dict[str, Schema]:
    final: dict[str, Schema] = {}
    for name, schema in sorted(components.items(), key=lambda pair: component_name(pair[0])):
        final_name, alike = component_name(name), schema | {"title": ""}
        if final.setdefault(final_name, alike) != alike:  # the first one's order of properties stays
            raise ValueError(f"{name} and another type are both called {final_name} and differ. This is a bug.")
    return final


def branches(schema: Schema) -> list[Schema]:
    """The alternatives of a union; none of any other schema."""
    return schema.get("oneOf") or schema.get("anyOf") or []


def _name(named: Named, schema: Schema, names: dict[str, Schema], components: dict[str, Schema]) -> None:
    """Give a schema its name, so that copies of it become references."""
    body = _shape(schema, names, nullable=False)
    in_place = named.array_only and named.branches
    names[_fingerprint(body)] = dict(named.branches[0]) if in_place else {"$ref": REF + named.name}
    if named.array_only:
        return
    if "enum" in body:
        body["enum"] = list(get_args(named.type))  # msgspec sorts; the order written says more
        body["examples"] = body["enum"][:1]
    if len(named.branches) > 1:
        body = {"oneOf": [dict(branch) for branch in named.branches]}
    elif named.branches:
        body = {**named.branches[0]}
    if named.is_any_of:
        body["anyOf"] = body.pop("oneOf")
    components[named.name] = {"title": named.name, "description": named.description, **body}


def _struct(schema: Schema, names: dict[str, Schema]) -> Schema:
    """An object type: properties without inline types, closed when clients send it, open when we do."""
    is_request = schema.get("additionalProperties") is False
    properties = schema.get("properties", {})
    always = () if is_request else [name for name, p in properties.items() if "default" in p]  # msgspec writes them out
    required = [name for name in properties if name in schema.get("required", ()) or name in always]
    return {
        "title": schema["title"],
        "description": inspect.cleandoc(schema["description"]),
        "type": "object",
        "properties": {name: _property(p, names, nullable=not is_request) for name, p in properties.items()},
        **({"required": required} if required else {}),
        "additionalProperties": not is_request,
    }


def _property(schema: Schema, names: dict[str, Schema], *, nullable: bool) -> Schema:
    body = {k: v for k, v in _shape(schema, names, nullable=nullable).items() if k != "default"}
    if "enum" in body and "description" not in body and len(body["enum"]) == 1:
        tag = body["enum"][0]  # a discriminator has no field in the struct, and so no description
        body = {"description": f"Always `{tag}`.", "examples": [tag], **body}
    return _replaced(body, names)


def _replaced(schema: Schema, names: dict[str, Schema]) -> Schema:
    """A reference, or an array, in place of a copy of a named schema; this use's description stays beside it."""
    known = names.get(_fingerprint(schema))
    if known is None:
        return schema
    return {**known, **{k: v for k, v in schema.items() if k in _NOTES}}


def _shape(schema: Schema, names: dict[str, Schema], *, nullable: bool) -> Schema:
    """A schema and all inside it in the form of the document, itself not yet replaced by its name."""
    schema = dict(schema)
    if "anyOf" in schema:
        schema = _union(schema, names, nullable=nullable)
    if "items" in schema:
        schema["items"] = _property(schema["items"], names, nullable=nullable)
    if isinstance(schema.get("additionalProperties"), dict):  # the values of a map
        schema["additionalProperties"] = _property(schema["additionalProperties"], names, nullable=nullable)
    if "enum" in schema:
        schema["type"] = "string"
    if "pattern" in schema:  # `\A` and `\Z` of the wire types do not exist in JSON Schema's dialect
        schema["pattern"] = schema["pattern"].replace(r"\A", "^").replace(r"\Z", "$")
    if isinstance(kind := schema.get("type"), str) and kind in _FORMATS:
        schema.setdefault("format", _FORMATS[kind])
    return schema


def _union(schema: Schema, names: dict[str, Schema], *, nullable: bool) -> Schema:
    """A union as `oneOf`, or as its only branch when `null` is the other one."""
    notes = {k: v for k, v in schema.items() if k != "anyOf"}
    branches = [_property(branch, names, nullable=nullable) for branch in schema["anyOf"] if branch != {"type": "null"}]
    if len(branches) > 1:
        return notes | {"oneOf": branches}
    only = notes | branches[0]
    return only | {"type": [only["type"], "null"]} if nullable else only


def _fingerprint(schema: Schema) -> str:
    """Equal for schemas of the same type, whatever their descriptions."""
    return json.dumps({k: v for k, v in schema.items() if k not in _NOTES}, sort_keys=True)


def component_name(name: str) -> str:
    """The name in the document of a wire type or a `Named`: types of Cohere's API begin with `Cohere`."""
    owners = [(module, getattr(module, name, None)) for module in (embed, embed_vectors, embed_v1)]
    is_cohere = any(getattr(owner, "__module__", None) == module.__name__ for module, owner in owners)
    return f"Cohere{name}" if is_cohere else _RENAMED.get(name, name)


def component_of(kind: type | UnionType) -> str:
    """The component of a route's body: a wire type, or a union or an array that `named` names."""
    if isinstance(kind, type) and not isinstance(kind, GenericAlias):
        return component_name(kind.__name__)
    return next(named.name for named in NAMED if named.type is kind)


def _rename(components: dict[str, Schema]) -> dict[str, Schema]:
    def renamed(reference: str) -> str:
        return REF + component_name(reference.removeprefix(REF)) if reference.startswith(REF) else reference

    return {name: map_references(schema | {"title": name}, renamed) for name, schema in components.items()}


def map_references(node: Any, new: Callable[[str], str]) -> Any:
    """A copy of a node of the document in which every reference, a discriminator's too, is what `new` makes of it."""
    if isinstance(node, list):
        return [map_references(item, new) for item in node]
    if isinstance(node, dict):
        return {key: map_references(value, new) for key, value in node.items()}
    return new(node) if isinstance(node, str) and node.startswith("#/") else node
