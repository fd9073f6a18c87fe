"""Twins of wire types that skip unknown fields at every depth, for `--unknown-fields ignore`.

A twin is a subclass of its original with the same fields, so `isinstance` and the rules see no difference. Skipped
values are never built, so a body cannot make the server hold more than its own fields.
"""

import types
import typing
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, get_args, get_origin

import msgspec

from schemas.base import Wire


@cache
def lenient(struct: type[Wire]) -> type[Wire]:
    """The twin of a wire type.

    Args:
        struct: a subclass of `Wire`.
    """
    hints = typing.get_type_hints(struct, include_extras=True)
    fields: list[Any] = [
        (f.name, _lenient_type(hints[f.name])) if f.required else (f.name, _lenient_type(hints[f.name]), f.default)
        for f in msgspec.structs.fields(struct)
    ]
    twin = msgspec.defstruct(
        struct.__name__, fields, bases=(struct,), frozen=True, kw_only=True, forbid_unknown_fields=False
    )
    return typing.cast("type[Wire]", twin)


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
