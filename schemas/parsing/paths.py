"""Finds the types allowed at a path of a body, such as `.messages[0].content[1]`, and describes them in words.

Used once a body or a setting was refused, to say what is allowed instead. Reads types, never the body.
"""

import re
from functools import cache

from msgspec import inspect

from schemas.content.parts import COLOR_PATTERN, UUID_PATTERN
from schemas.limits import MAX_UUID_CHARS

_PATTERNS = {
    UUID_PATTERN: f"a string of 1 to {MAX_UUID_CHARS} letters, digits and the signs . _ : -",
    COLOR_PATTERN: "a color such as `#ffffff`",
}
"""Patterns in words."""

_STEP = re.compile(r"\.(?P<field>[^.\[\]]+)|\[(?P<index>[^\]]*)\]")


def types_at(type_: object, path: str) -> list[inspect.Type]:
    """The types allowed at `path`, written as msgspec does after its `$`; empty when the path leads nowhere."""
    types = _branches(_type_info(type_))
    for step in _STEP.finditer(path):
        if step["field"] is not None:
            types = _field_types(types, step["field"])
        else:
            types = [branch for t in types if isinstance(t, inspect.ListType) for branch in _branches(t.item_type)]
    return types


def field_names(types: list[inspect.Type]) -> list[str]:
    """The fields that objects of `types` may have, tags first, each once."""
    structs = [t for t in types if isinstance(t, inspect.StructType)]
    tags = [s.tag_field for s in structs if s.tag_field is not None]
    return list(dict.fromkeys(tags + [field.encode_name for s in structs for field in s.fields]))


def choices(types: list[inspect.Type]) -> list[str]:
    """The values allowed by the literals among `types`."""
    return [str(value) for t in types if isinstance(t, inspect.LiteralType) for value in t.values]


def expectation(types: list[inspect.Type]) -> str:
    """The types in words: `an integer >= 1`, `one of float, base64`, `a string or an array`."""
    named = choices(types)
    words = [f"one of {', '.join(named)}"] if named else []
    words += [_word(t) for t in types if not isinstance(t, inspect.LiteralType)]
    return " or ".join(dict.fromkeys(words)) or "something else"


@cache
def _type_info(type_: object) -> inspect.Type:
    return inspect.type_info(type_)


def _branches(type_: inspect.Type) -> list[inspect.Type]:
    if isinstance(type_, inspect.Metadata):
        return _branches(type_.type)
    if isinstance(type_, inspect.UnionType):
        return [branch for t in type_.types for branch in _branches(t)]
    return [] if isinstance(type_, inspect.NoneType) else [type_]


def _field_types(types: list[inspect.Type], name: str) -> list[inspect.Type]:
    found: list[inspect.Type] = []
    for struct in types:
        if not isinstance(struct, inspect.StructType):
            continue
        if struct.tag_field == name:
            found.append(inspect.LiteralType((struct.tag,)))
        found += [branch for f in struct.fields if f.encode_name == name for branch in _branches(f.type)]
    return found


def _word(type_: inspect.Type) -> str:
    if isinstance(type_, inspect.IntType):
        return "an integer" + _bounds(type_.ge, type_.le)
    if isinstance(type_, inspect.FloatType):
        return "a number" + _float_bounds(type_)
    if isinstance(type_, inspect.StrType) and type_.pattern in _PATTERNS:
        return _PATTERNS[type_.pattern]
    words = {inspect.StrType: "a string", inspect.BoolType: "true or false"}
    containers = {inspect.ListType: "an array", inspect.StructType: "an object", inspect.DictType: "an object"}
    return (words | containers).get(type(type_), "another type")


def _bounds(least: int | None, most: int | None) -> str:
    if least is not None and most is not None:
        return f" from {least} to {most}"
    return f" >= {least}" if least is not None else ""


def _float_bounds(type_: inspect.FloatType) -> str:
    if type_.ge is not None and type_.le is not None:
        return f" from {type_.ge:g} to {type_.le:g}"
    bounds = ((">", type_.gt), (">=", type_.ge), ("<=", type_.le))
    words = [f"{sign} {bound:g}" for sign, bound in bounds if bound is not None]
    return f" {' and '.join(words)}" if words else ""
