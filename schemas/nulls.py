"""Unknown fields that are null: absent, as every null is. Clients write their unset options out.

In: what a refused body holds, as plain lists and objects. Out: the request without its nulls, or the refusal. That is
a second reading, so it is only for bodies that were refused, and not for those of very many members.

Source: Voyage's client 0.5.0 sends `output_dtype` and `output_dimension` as null; pydantic writes unset fields so.
"""

from typing import TypeVar

import msgspec

from schemas.base import Wire
from schemas.explain import missing_field

MAX_LOOKED_AT = 1 << 18
"""Commas of a body that is read a second time, those of its texts counted, too: some 50 MB while it is held."""

W = TypeVar("W", bound=Wire)


def may_hold_nulls(raw: bytes) -> bool:
    """Whether a second look may help.

    Args:
        raw: the body.
    """
    return b"null" in raw and raw.count(b",") <= MAX_LOOKED_AT


def convert_without_nulls(whole: object, type_: type[W]) -> W:
    """The request that a body holds when its nulls are left out.

    Args:
        whole: the body, decoded.
        type_: the request type.

    Raises:
        msgspec.ValidationError: something else is wrong, or a required field is null.
    """
    try:
        return msgspec.convert(_pruned(whole, None), type_, strict=True)
    except msgspec.ValidationError as error:
        required = missing_field(str(error))
        if required is None:
            raise
    return msgspec.convert(_pruned(whole, required), type_, strict=True)  # so that "got null" is told, if that came


def _pruned(value: object, kept: str | None) -> object:
    if isinstance(value, list):
        return [_pruned(one, kept) for one in value]
    if isinstance(value, dict):
        return {name: _pruned(one, kept) for name, one in value.items() if one is not None or name == kept}
    return value
