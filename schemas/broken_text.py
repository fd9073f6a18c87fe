"""Texts that are none: half of a character, as slicing a text in JavaScript leaves it, and bytes that are not UTF-8.

In: a body that the decoder refused. Out: the field at fault, or, where only inputs of a `per_item` request are, the
request with these texts as they came: `what_is_broken` tells them from others. Looked at only once a body is refused,
by a reader that takes such texts, and only where that holds nobody up.
"""

import json
import re
from collections.abc import Iterator
from typing import NoReturn, TypeVar

from schemas.base import Wire
from schemas.errors import ErrorCode
from schemas.explain import item_index
from schemas.nulls import convert_without_nulls
from schemas.rule_error import RuleError

MAX_BYTES = 1 << 23
MAX_COMMAS = 1 << 17
"""Of a body that is read a second time; in a larger one no field is named. Some 40 ms of everybody's time."""

_ESCAPED_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_BYTES = ("\udc80", "\udcff")
"""From, to: what Python makes of bytes that are not UTF-8."""

_PER_ITEM = re.compile(r"(?:input|texts)(?:\[\d+\])?|(?:inputs|messages)\[\d+\](?:\[\d+\])?(?:\..+)?\.(?:content|text)")
_PLAIN_NAME = re.compile(r"[a-z_]{1,32}")

W = TypeVar("W", bound=Wire)


def what_is_broken(text: str) -> tuple[ErrorCode, str] | None:
    """A code and what to say of a text; None where it is one.

    Args:
        text: of a request.
    """
    found = None if text.isascii() else _HALF.search(text)
    if found is None:
        return None
    if _BYTES[0] <= found[0] <= _BYTES[1]:
        return "invalid_json", "expected text in UTF-8, got bytes that are not"
    half = f"\\u{ord(found[0]):x}"
    return "invalid_request", f"expected whole characters, got half of a character ({half} without its other half)"


def read_broken(raw: bytes, type_: type[W]) -> W | None:
    """The request of a body in which nothing is wrong but texts of inputs, each of which may fail by itself.

    Args:
        raw: the body.
        type_: the request type.

    Returns:
        The request; None where no text is to blame, or too much would have to be read to know.

    Raises:
        RuleError: a text is broken, and the request fails with it.
        msgspec.ValidationError: something else is wrong as well.
    """
    if len(raw) > MAX_BYTES or raw.count(b",") > MAX_COMMAS:
        return None
    if _is_utf8(raw) and _ESCAPED_HALF.search(raw) is None:
        return None
    try:
        whole = json.loads(raw.decode("utf-8", "surrogateescape"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    is_per_item = isinstance(whole, dict) and whole.get("on_error") == "per_item"
    is_per_item &= "on_error" in type_.__struct_fields__
    is_broken = False
    for path, text in _broken_texts(whole):
        is_broken = True
        if not is_per_item or _PER_ITEM.fullmatch(path.removeprefix(".")) is None:
            _refuse(path.removeprefix("."), text)
    return convert_without_nulls(whole, type_) if is_broken else None


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _broken_texts(value: object) -> Iterator[tuple[str, str]]:
    """The rest of the path, and the text, in the order of the body; a field's name counts as a text at its place."""
    if isinstance(value, str):
        if not value.isascii() and what_is_broken(value) is not None:
            yield "", value
    elif isinstance(value, list):
        for i, one in enumerate(value):
            if not isinstance(one, str) or not one.isascii():
                yield from ((f"[{i}]{rest}", text) for rest, text in _broken_texts(one))
    elif isinstance(value, dict):
        for name, one in value.items():
            step = f".{name}" if _PLAIN_NAME.fullmatch(name) else ".…"
            yield from ((step, text) for _, text in _broken_texts(name))
            yield from ((step + rest, text) for rest, text in _broken_texts(one))


def _refuse(path: str, text: str) -> NoReturn:
    code, message = what_is_broken(text) or ("invalid_json", "")
    subject = f"`{path}`" if path else "the body"
    raise RuleError(code, f"{subject}: {message}", param=path or None, index=item_index(path))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
