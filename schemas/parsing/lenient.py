"""Derives from a wire type one that skips unknown fields at every depth, for `--unknown-fields ignore`.

The derived type is a subclass with the same fields, so `isinstance` and the rules see no difference. Skipped values
are never built, so a body cannot make the server hold more than its own fields.

Fields that would change the numbers, their format or their count are not skipped: a client that asks for int8 by
another server's name would read float32 as int8. A body's derived type has these names as fields that can only be null.
"""

import types
import typing
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType

from schemas.base import Wire

NEVER_IGNORED = (
    *("dim", "dims", "dimension", "dimensions", "embedding_dimension", "embedding_dimensions", "truncate_dim"),
    *("output_dim", "output_dimension", "output_dimensions", "output_dimensionality"),
    *("dtype", "embed_dtype", "embedding_dtype", "output_dtype", "embedding_type", "embedding_types", "precision"),
    *("encoding", "embedding_format", "encoding_format", "output_encoding", "output_format", "endianness"),
    *("normalize", "normalized", "normalize_embeddings", "embedding_normalize", "quantization", "quantize"),
    *("task", "modality", "passages", "top_k"),
)
"""Names that servers give to the length of vectors, their numbers' format, their encoding, and what they are of."""


@cache
def lenient_body(struct: type[Wire]) -> type[Wire]:
    """The lenient type of a whole body, which refuses the names in `NEVER_IGNORED`."""
    known = {field.encode_name for field in msgspec.structs.fields(struct)}
    refused: list[Any] = [(name, UnsetType | None, UNSET) for name in NEVER_IGNORED if name not in known]
    derived = msgspec.defstruct(
        struct.__name__, refused, bases=(lenient(struct),), frozen=True, kw_only=True, forbid_unknown_fields=False
    )
    return typing.cast("type[Wire]", derived)


@cache
def lenient(struct: type[Wire]) -> type[Wire]:
    """The lenient type of an object inside a body."""
    hints = typing.get_type_hints(struct, include_extras=True)
    fields: list[Any] = [
        (f.name, _lenient_type(hints[f.name])) if f.required else (f.name, _lenient_type(hints[f.name]), f.default)
        for f in msgspec.structs.fields(struct)
    ]
    derived = msgspec.defstruct(
        struct.__name__, fields, bases=(struct,), frozen=True, kw_only=True, forbid_unknown_fields=False
    )
    return typing.cast("type[Wire]", derived)


def _lenient_type(hint: Any) -> Any:
    if isinstance(hint, type) and issubclass(hint, Wire):
        return lenient(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[_lenient_type(args[0]), *hint.__metadata__]
    if origin is list:
        return list[_lenient_type(args[0])]  # type: ignore[misc]
    if origin in (types.UnionType, typing.Union):
        return reduce(or_, [_lenient_type(arg) for arg in args])
    return hint
