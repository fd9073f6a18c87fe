"""Reads a refused body again, for two mistakes that clients make: unknown fields that are null, and broken texts.

- Clients write their unset options out, under names that we do not have. Null means absent, so such fields are left
  out. Source: Voyage's client 0.5.0 sends `output_dtype` and `output_dimension` as null, as pydantic writes them.
- Broken texts hold half of a character, as slicing a text in JavaScript leaves it, or bytes that are not UTF-8. The
  error names the field; with `on_error: per_item` such texts of inputs are kept, and each fails by itself.

A second reading builds the whole body as plain lists and objects, so only bodies of bounded size get one.
"""

import json
import re
from collections.abc import Iterator
from typing import NoReturn, TypeVar

import msgspec

from schemas.base import Wire
from schemas.errors import ErrorCode, RuleError
from schemas.parsing.explain import item_index, missing_field

MAX_COMMAS_FOR_NULLS = 1 << 18
"""Commas, those inside texts included, of a body that is searched for nulls: some 50 MB while it is held."""

MAX_BYTES = 1 << 23
MAX_COMMAS = 1 << 17
"""Of a body that is searched for broken texts, which takes some 40 ms; in a larger one no field is named."""

_ESCAPED_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_BYTES = ("\udc80", "\udcff")
"""First and last of the surrogates that Python makes of bytes that are not UTF-8."""

_PER_ITEM = re.compile(
    r"(?:input|texts|documents|text_2|data_2)(?:\[\d+\])?"
    r"|(?:inputs|messages|documents|text_2|data_2)\[\d+\](?:\[\d+\])?(?:\..+)?\.(?:content|text)"
)
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")

W = TypeVar("W", bound=Wire)


def may_hold_nulls(raw: bytes) -> bool:
    """True if a second reading may help a body that was refused for an unknown field."""
    return b"null" in raw and raw.count(b",") <= MAX_COMMAS_FOR_NULLS


def convert_without_nulls(whole: object, type_: type[W]) -> W:
    """The request that a decoded body holds when its nulls are left out.

    Raises:
        msgspec.ValidationError: something else is wrong, or a required field is null.
    """
    try:
        return msgspec.convert(_pruned(whole, None), type_, strict=True)
    except msgspec.ValidationError as error:
        required = missing_field(str(error))
        if required is None:
            raise
    return msgspec.convert(_pruned(whole, required), type_, strict=True)  # so that the error says "got null"


def _pruned(value: object, kept: str | None) -> object:
    if isinstance(value, list):
        return [_pruned(entry, kept) for entry in value]
    if isinstance(value, dict):
        return {name: _pruned(entry, kept) for name, entry in value.items() if entry is not None or name == kept}
    return value


def what_is_broken(text: str) -> tuple[ErrorCode, str] | None:
    """A code and what to say of a broken text; None where the text is whole."""
    found = None if text.isascii() else _HALF.search(text)
    if found is None:
        return None
    if _BYTES[0] <= found[0] <= _BYTES[1]:
        return "invalid_json", "expected text in UTF-8, got bytes that are not"
    half = f"\\u{ord(found[0]):x}"
    return "invalid_request", f"expected whole characters, got half of a character ({half} without its other half)"


def read_broken(raw: bytes, type_: type[W]) -> W | None:
    """The request of a body in which only texts of inputs are broken, each of which may fail by itself.

    None where no text is broken, or the body is too large to know.

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
    """Path below `value` and text, in the order of the body; a field's name counts as a text at its place."""
    if isinstance(value, str):
        if not value.isascii() and what_is_broken(value) is not None:
            yield "", value
    elif isinstance(value, list):
        for i, entry in enumerate(value):
            if not isinstance(entry, str) or not entry.isascii():
                yield from ((f"[{i}]{rest}", text) for rest, text in _broken_texts(entry))
    elif isinstance(value, dict):
        for name, entry in value.items():
            step = f".{name}" if _PLAIN_NAME.fullmatch(name) else ".…"
            yield from ((step, text) for _, text in _broken_texts(name))
            yield from ((step + rest, text) for rest, text in _broken_texts(entry))


def _refuse(path: str, text: str) -> NoReturn:
    code, message = what_is_broken(text) or ("invalid_json", "")
    subject = f"`{path}`" if path else "the body"
    raise RuleError(code, f"{subject}: {message}", param=path or None, index=item_index(path))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
