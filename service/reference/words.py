"""A schema in human words: `{"type": "array", "items": {"type": "string"}}` is `list of strings`, 1 to 2,048 entries.

In: schemas as `service.openapi.components` writes them. Out: phrases and bounds for the reference.
"""

from service.openapi.components import REF, Schema, branches
from service.reference.model import Phrase, TypeLink

_MANY = {"string": "strings", "integer": "integers", "number": "numbers", "boolean": "booleans"}


def words(schema: Schema, *, many: bool = False) -> Phrase:
    """A type in words.

    Args:
        schema: of a field, or of a part of it.
        many: whether the plural is wanted.
    """
    if "$ref" in schema:
        return (TypeLink(schema["$ref"].removeprefix(REF)),)
    if union := branches(schema):
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
