"""A record of a file as an item: which fields are id, text and picture; the rest is metadata."""

import base64
import datetime
import decimal
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from service.ingest.errors import Reason
from service.ingest.item import BadRecord, Item, Picture

FIELDS = {"id": "id", "text": "text", "image": "image"}
"""Names that are looked for where the user gives none."""

LINKS = ("data:", "http://", "https://", "file:")
"""Beginnings of pictures that the server reads. Every other text is a path."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of a record's fields; None is the usual one, which may be absent."""

    id: str | None = None
    text: str | None = None
    image: str | None = None

    def name(self, role: str) -> str:
        """The field that holds `id`, `text` or `image`."""
        return getattr(self, role) or FIELDS[role]


class _RecordError(Exception):
    """What is wrong with a record."""


def read_record(record: Mapping[str, Any], fields: Fields, base: Path, place: str) -> Item | BadRecord:
    """What a record says.

    Args:
        record: its fields.
        fields: their roles.
        base: where relative paths of pictures start.
        place: names the record where its id does not: `line 17`.
    """
    name = place
    try:
        given = _scalar(record, fields.id, fields.name("id"))
        name = place if given is None else str(given)
        text = _text(record, fields)
        picture = _picture(record, fields, base)
        if text is None and picture is None:
            raise _RecordError(f"neither `{fields.name('text')}` nor `{fields.name('image')}` holds anything")
        roles = {fields.name(role) for role in FIELDS}
        metadata = {str(key): _plain(value) for key, value in record.items() if key not in roles}
        digest = _digest(name, text, picture, metadata)
    except _RecordError as error:
        shown = name.encode(errors="backslashreplace").decode()
        return BadRecord(shown, Reason("invalid_record", f"{place}: {error}"))
    own = name if given is not None else digest.hex()
    num_bytes = len(text or "") + (picture.stat().st_size if isinstance(picture, Path) else len(picture or ""))
    return Item(own, digest[:8], num_bytes, text, picture, metadata)


def _scalar(record: Mapping[str, Any], asked: str | None, name: str) -> str | int | None:
    value = record.get(name)
    if value is None or value == "":
        if asked is not None:
            raise _RecordError(f"`{name}`: got nothing, expected an id")
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _RecordError(f"`{name}`: got {type(value).__name__}, expected a string or an integer")
    return value


def _text(record: Mapping[str, Any], fields: Fields) -> str | None:
    name = fields.name("text")
    value = record.get(name)
    if value is not None and not isinstance(value, str):
        raise _RecordError(f"`{name}`: got {type(value).__name__}, expected a string")
    has_picture = record.get(fields.name("image")) not in (None, "")
    return None if value == "" and has_picture else value  # CSV cannot say that a field is absent


def _picture(record: Mapping[str, Any], fields: Fields, base: Path) -> Picture | None:
    name = fields.name("image")
    value = record.get(name)
    if isinstance(value, Mapping):  # Hugging Face's image columns: the bytes, or a path
        value = value.get("bytes") or value.get("path")
    if value is None or value == "":
        return None
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise _RecordError(f"`{name}`: got {type(value).__name__}, expected a path, a URL, a data URI or bytes")
    if value.startswith(LINKS):
        return value
    path = base / value
    try:
        found = path.is_file()
    except OSError:  # a name that is too long: base64 without `data:`
        found = False
    if not found:
        raise _RecordError(f"`{name}`: no such file: {value[:200]}")
    return path


def _plain(value: Any) -> Any:
    """A value of a Parquet column as JSON holds it.

    Raises:
        _RecordError: there is no such form.
    """
    match value:
        case int() if not -(1 << 63) <= value < 1 << 63:
            return str(value)  # JSON has it, stores do not
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case bytes():
            return base64.b64encode(value).decode()
        case decimal.Decimal():
            return str(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
    raise _RecordError(f"metadata of type {type(value).__name__} has no form in JSON")


def _digest(name: str, text: str | None, picture: Picture | None, metadata: Mapping[str, Any]) -> bytes:
    """Of all that a record says; of a picture's file the path and the size."""
    seen = [str(picture), picture.stat().st_size] if isinstance(picture, Path) else picture
    try:
        name.encode()
        return hashlib.sha256(msgspec.json.encode([text, seen, metadata])).digest()[:16]
    except UnicodeEncodeError:
        raise _RecordError("there are bytes in it that are no UTF-8") from None
