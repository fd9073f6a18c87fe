"""A record of a file as an item: which fields are id, text and picture; the rest is metadata."""

import base64
import datetime
import decimal
import hashlib
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from service.ingest.errors import Reason
from service.ingest.item import VERSION_BYTES, BadRecord, Item, Picture
from service.ingest.version import stamp_of

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


MAX_DEPTH = 200
"""How deep metadata may be nested: what encoders and stores take, which give up between 250 and 1,000."""


class _RecordError(Exception):
    """What is wrong with a record."""


@dataclass(frozen=True, slots=True)
class ImageFolder:
    """Where paths of images lead.

    Attributes:
        base: where relative ones start.
        root: below which every file has to be, links followed: who writes a record need not be who owns the machine.
    """

    base: Path
    root: Path

    def find(self, written: str) -> tuple[Path, os.stat_result] | None:
        """A file by its path in a record; None where there is none.

        Raises:
            ValueError: it is not below the root.
        """
        path = self.base / written
        try:
            found = path.stat()
            is_below = path.resolve().is_relative_to(self.root.resolve())
        except (OSError, ValueError):  # a name that is too long, or has a zero in it: base64 without `data:`
            return None
        if not is_below:
            raise ValueError(written)
        return (path, found) if stat.S_ISREG(found.st_mode) else None


@dataclass(frozen=True, slots=True)
class _Image:
    """An image that a record names; `file` when it is one."""

    picture: Picture | None
    file: os.stat_result | None = None


def read_record(record: Mapping[str, Any], fields: Fields, images: ImageFolder, place: str) -> Item | BadRecord:
    """What a record says.

    Args:
        record: its fields.
        fields: their roles.
        images: where paths of images lead.
        place: names the record where its id does not: `line 17`.
    """
    name = place
    try:
        given = _scalar(record, fields.id, fields.name("id"))
        name = place if given is None else str(given)
        text = _text(record, fields)
        image = _image(record, fields, images)
        if text is None and image.picture is None:
            raise _RecordError(f"neither `{fields.name('text')}` nor `{fields.name('image')}` holds anything")
        roles = {fields.name(role) for role in FIELDS}
        metadata = {str(key): _plain(value) for key, value in record.items() if key not in roles}
        digest = _digest(name, text, image, metadata)
    except _RecordError as error:
        shown = name.encode(errors="backslashreplace").decode()
        return BadRecord(shown, Reason("invalid_record", f"{place}: {error}"))
    own = name if given is not None else digest.hex()
    picture, file = image.picture, image.file
    num_bytes = len(text or "") + (0 if picture is None or isinstance(picture, Path) else len(picture))
    num_bytes += file.st_size if file else 0
    return Item(own, digest[:VERSION_BYTES], num_bytes, text, picture, metadata, stamp_of(file) if file else b"")


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


def _image(record: Mapping[str, Any], fields: Fields, images: ImageFolder) -> _Image:
    name = fields.name("image")
    value = record.get(name)
    if isinstance(value, Mapping):  # Hugging Face's image columns: the bytes, or a path
        value = value.get("bytes") or value.get("path")
    if value is None or value == "":
        return _Image(None)
    if isinstance(value, bytes):
        return _Image(value)
    if not isinstance(value, str):
        raise _RecordError(f"`{name}`: got {type(value).__name__}, expected a path, a URL, a data URI or bytes")
    if value.startswith(LINKS):
        return _Image(value)
    try:
        found = images.find(value)
    except ValueError:
        raise _RecordError(
            f"`{name}`: {value[:200]} is not below {images.root}; --root names another folder of images"
        ) from None
    if found is None:
        raise _RecordError(f"`{name}`: no such file: {value[:200]}")
    return _Image(*found)


def _plain(value: Any, depth: int = 1) -> Any:
    """A value of a Parquet column as JSON holds it.

    Raises:
        _RecordError: there is no such form, or it is nested too deep.
    """
    if depth > MAX_DEPTH:
        raise _RecordError(f"metadata is nested deeper than {MAX_DEPTH}")
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
            return {str(key): _plain(each, depth + 1) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each, depth + 1) for each in value]
    raise _RecordError(f"metadata of type {type(value).__name__} has no form in JSON")


def _digest(name: str, text: str | None, image: _Image, metadata: Mapping[str, Any]) -> bytes:
    """Of all that a record says; of an image's file the path and the size."""
    seen = [str(image.picture), image.file.st_size] if image.file else image.picture
    try:
        name.encode()
        return hashlib.sha256(msgspec.json.encode([text, seen, metadata])).digest()[:16]
    except UnicodeEncodeError:
        raise _RecordError("there are bytes in it that are no UTF-8") from None
