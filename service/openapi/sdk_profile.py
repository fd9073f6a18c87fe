"""The SDK profile: the document for client generators that cannot do unions (Java, Go, C#, ...), in OpenAPI 3.0.3.

A field with several forms keeps the one that generators can send, by the marks on `named.NAMED`. Every request of the
profile is also a request of the document.

Source: docs/notes/ecosystem.md.
"""

import json
from collections.abc import Collection
from typing import Any

from service.openapi.components import REF, Schema, branches, component_name, map_references
from service.openapi.document import OTHER_FORMS, build
from service.openapi.named import NAMED
from service.openapi.openapi30 import Document, to_openapi30

ABOUT = "This is the SDK profile: where a field takes several forms, it has one; `openapi.json` has them all."

OTHER_ANSWER = {"AnyRerankRequest": ("texts", "return_text", "truncate")}
"""Properties of a form whose answer the profile leaves out, by schema: of `/rerank` TEI's, which gets a bare list."""


def build_sdk() -> Document:
    """The SDK profile in OpenAPI 3.0.3, with keys in the order of the document."""
    document = build()
    components = document["components"]
    aliases = _aliases(components["schemas"])
    info = document["info"] | {"description": f"{document['info']['description']} {ABOUT}"}
    schemas = components | {"schemas": _narrow(components["schemas"])}
    narrowed = document | {"info": info, "paths": _without_options(document["paths"]), "components": schemas}
    return to_openapi30(_without_leftovers(map_references(narrowed, lambda ref: aliases.get(ref, ref))))


def render_sdk() -> bytes:
    """The profile as the bytes of `openapi-sdk.json`."""
    return (json.dumps(build_sdk(), indent=2, ensure_ascii=False) + "\n").encode()


def _without_options(paths: Document) -> Document:
    """The operations in their own forms, without optional parameters: generators for Java make each positional."""
    return {path: {method: _bare(operation) for method, operation in each.items()} for path, each in paths.items()}


def _bare(operation: Document) -> Document:
    kept = [parameter for parameter in operation.get("parameters", []) if parameter.get("required")]
    rest = {key: value for key, value in operation.items() if key != "parameters"}
    if "requestBody" in rest:
        rest["requestBody"] = {key: value for key, value in rest["requestBody"].items() if key != OTHER_FORMS}
    return rest | ({"parameters": kept} if kept else {})


def _narrow(schemas: dict[str, Schema]) -> dict[str, Schema]:
    """The schemas without the types, properties and branches that the profile leaves out."""
    absent = {REF + component_name(named.name) for named in NAMED if not named.in_sdk}
    kept = {
        name: _without_properties(schema, absent, OTHER_ANSWER.get(name, ()))
        for name, schema in schemas.items()
        if REF + name not in absent
    }
    for named in NAMED:
        if named.sdk_enum_names:
            kept[component_name(named.name)]["x-enum-varnames"] = list(named.sdk_enum_names)
        if named.sdk_description:
            name = component_name(named.name)
            body = {"title": name, "description": named.sdk_description}
            kept[name] = _with_null(_branch(schemas[name], named.sdk_branch), schemas[name]) | body
    return kept


def _with_null(branch: Schema, union: Schema) -> Schema:
    """The branch that is kept, with null beside it where the union has null: generators can do that."""
    has_null = any(other.get("type") == "null" for other in branches(union))
    return branch | {"type": [branch["type"], "null"]} if has_null else branch


def _without_properties(schema: Schema, absent: set[str], names: Collection[str]) -> Schema:
    if "properties" not in schema:
        return schema
    properties = {
        name: p for name, p in schema["properties"].items() if p.get("$ref") not in absent and name not in names
    }
    required = [name for name in schema.get("required", ()) if name in properties]
    return schema | {"properties": properties} | ({"required": required} if required else {})


def _branch(union: Schema, name: str) -> Schema:
    (branch,) = [b for b in branches(union) if name in (b.get("title"), b.get("$ref", "").removeprefix(REF))]
    return dict(branch)


def _aliases(schemas: dict[str, Schema]) -> dict[str, str]:
    """References to a union of which one component is kept, each with the reference to that component."""
    kept = [named for named in NAMED if named.sdk_branch and not named.sdk_description]
    names = {component_name(named.name): named.sdk_branch for named in kept}
    return {REF + name: _branch(schemas[name], branch)["$ref"] for name, branch in names.items()}


def _without_leftovers(document: Document) -> Document:
    """The document without schemas that nothing refers to any more."""
    schemas = document["components"]["schemas"]
    todo, used = _references(document["paths"]), set[str]()
    while todo:
        name = todo.pop()
        if name not in used:
            used.add(name)
            todo.extend(_references(schemas[name]))
    kept = {name: schema for name, schema in schemas.items() if name in used}
    return document | {"components": document["components"] | {"schemas": kept}}


def _references(node: Any) -> list[str]:
    """Names of the schemas that a node refers to, by `$ref` or by a discriminator."""
    if isinstance(node, str):
        return [node[len(REF) :]] if node.startswith(REF) else []
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [name for child in children for name in _references(child)]
