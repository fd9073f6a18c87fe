"""Decodes the bytes of a body into a typed request, or raises one error that says what is wrong.

Each field is checked by itself; `schemas.parsing.rules` checks the rules that join fields. The types bound the depth:
what nests deeper than the contract is refused at the first wrong type.
"""

import codecs
import re
from functools import cache
from typing import TypeVar, cast

import msgspec

from schemas.base import Wire
from schemas.dialects.reading import read_dialect
from schemas.errors import RuleError
from schemas.parsing.explain import explain, is_unknown_field
from schemas.parsing.lenient import lenient_body
from schemas.parsing.reparse import convert_without_nulls, may_hold_nulls, read_broken
from schemas.parsing.structure import MAX_UNCOUNTED_BYTES, check_structure

_MARKS = {codecs.BOM_UTF8: " (BOM)", codecs.BOM_UTF16_LE: " of UTF-16", codecs.BOM_UTF16_BE: " of UTF-16"}

W = TypeVar("W", bound=Wire)


def decode(raw: bytes, type_: type[W], *, ignore_unknown: bool = False) -> W:
    """Decode a body strictly: no unknown fields, no numbers in strings, no values out of bounds.

    `ignore_unknown` skips unknown fields at every depth (`--unknown-fields ignore`), except those that would change the
    answer. With `on_error: per_item` texts of inputs may be broken: see `schemas.parsing.reparse`. What is refused may
    be in another server's form: see `schemas.dialects`.

    Raises:
        RuleError: `invalid_json`, `unknown_field`, `empty_input`, `too_many_inputs` or `invalid_request`.
    """
    if len(raw) > MAX_UNCOUNTED_BYTES:
        check_structure(raw)
    wanted = cast("type[W]", lenient_body(type_)) if ignore_unknown else type_
    try:
        return cast(W, _decoder(wanted).decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        refused = error
    try:
        return _read_again(raw, wanted, refused)
    except msgspec.ValidationError as error:
        if (request := read_dialect(raw, type_, ignore_unknown=ignore_unknown)) is not None:
            return request
        raise explain(str(error), type_) from None


def _read_again(raw: bytes, wanted: type[W], refused: Exception) -> W:
    """The request of a body that was refused at first, if it can be helped.

    Raises:
        RuleError: it is no JSON.
        msgspec.ValidationError: a field is at fault.
    """
    if isinstance(refused, msgspec.ValidationError):
        if not (is_unknown_field(str(refused)) and may_hold_nulls(raw)):
            raise refused
        try:
            return convert_without_nulls(msgspec.json.decode(raw), wanted)
        except msgspec.ValidationError:
            raise
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:  # what follows the field is no JSON
            refused = error
    if (request := read_broken(raw, wanted)) is not None:
        return request
    raise RuleError("invalid_json", f"the body: expected one JSON object in UTF-8, got {_what(refused, raw)}")


@cache
def _decoder(wanted: type[Wire]) -> msgspec.json.Decoder[Wire]:
    return msgspec.json.Decoder(wanted, strict=True)


def _what(error: Exception, raw: bytes) -> str:
    if isinstance(error, msgspec.DecodeError):
        return _malformed(str(error), raw)
    is_deep = isinstance(error, RecursionError)
    return "text that is nested too deeply" if is_deep else _mark(raw) or "text that is not UTF-8"


def _malformed(text: str, raw: bytes) -> str:
    if not raw.strip():
        return "white space alone" if raw else "nothing"
    found = re.search(r"\(byte (\d+)\)\Z", text)
    place = f"malformed at byte {found[1]}" if found else f"incomplete at byte {len(raw)}"
    return _mark(raw) or f"text that is {place}"


def _mark(raw: bytes) -> str | None:
    """The byte order mark at the beginning, which JSON between systems must not have (RFC 8259 section 8.1)."""
    mark = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), None)
    return mark and f"text that begins with a byte order mark{mark}; send it without"
