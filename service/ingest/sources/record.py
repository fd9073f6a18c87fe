"""Turns a record of a file into an item: id, text and image; other fields are metadata."""

import base64
import datetime
import decimal
import hashlib
import math
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from service.ingest.errors import FailureReason
from service.ingest.files.source_file import stamp_of
from service.ingest.item import VERSION_BYTES, BadRecord, ImageInput, SourceItem

LINKS = ("data:", "http://", "https://", "file:")
"""Prefixes of images that the server reads. Other strings are paths."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Field names of a record. An id that is asked for by a name must be there; None is `id`, which may be absent."""

    id: str | None = None
    text: str = "text"
    image: str = "image"


MAX_DEPTH = 200
"""Maximum nesting of metadata; encoders and stores fail between 250 and 1,000."""


class _RecordError(Exception):
    """A record is invalid."""


@dataclass(frozen=True, slots=True)
class ImageFolder:
    """Resolves image paths of records.

    Attributes:
        base: folder of relative paths.
        root: folder that must contain every file, after symbolic links: records may come from an untrusted source.
    """

    base: Path
    root: Path

    def find(self, written: str) -> tuple[Path, os.stat_result] | None:
        """A file by its path in a record; None if there is none.

        Raises:
            ValueError: the file is outside the root.
        """
        path = self.base / written
        try:
            found = path.stat()
            is_below = path.resolve().is_relative_to(self.root.resolve())
        except (OSError, ValueError):  # a name that is too long or contains NUL, such as base64 without `data:`
            return None
        if not is_below:
            raise ValueError(written)
        return (path, found) if stat.S_ISREG(found.st_mode) else None


_FoundImage = tuple[ImageInput | None, os.stat_result | None]
"""Image of a record, with the stat result of a file."""


def read_record(record: Mapping[str, Any], fields: Fields, images: ImageFolder, place: str) -> SourceItem | BadRecord:
    """The item of a record. `place`, such as `line 17`, names a record without an id."""
    name = place
    try:
        given = _id(record, fields)
        name = place if given is None else str(given)
        text = _text(record, fields)
        image, file = _image(record, fields, images)
        if text is None and image is None:
            raise _RecordError(f"neither `{fields.text}` nor `{fields.image}` holds anything")
        roles = {fields.id or "id", fields.text, fields.image}
        metadata = {str(key): _plain(value) for key, value in record.items() if key not in roles}
        content = [text, [str(image), file.st_size] if file else image]
        digest = _record_digest(name, [*content, metadata])
    except _RecordError as error:
        shown = name.encode(errors="backslashreplace").decode()
        return BadRecord(shown, FailureReason("invalid_record", f"{place}: {error}"))
    own = name if given is not None else digest.hex()
    num_bytes = len(text or "") + (len(image) if isinstance(image, bytes | str) else 0)
    num_bytes += file.st_size if file else 0
    return SourceItem(
        own, digest[:VERSION_BYTES], num_bytes, text, image, metadata, stamp_of(file) if file else b"",
        content=_record_digest(name, content)[:VERSION_BYTES],
    )  # fmt: skip


def _id(record: Mapping[str, Any], fields: Fields) -> str | int | None:
    name = fields.id or "id"
    value = record.get(name)
    if value is None or value == "":
        if fields.id is not None:
            raise _RecordError(f"`{name}`: got nothing, expected an id")
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _RecordError(f"`{name}`: got {type(value).__name__}, expected a string or an integer")
    return value


def _text(record: Mapping[str, Any], fields: Fields) -> str | None:
    value = record.get(fields.text)
    if value is not None and not isinstance(value, str):
        raise _RecordError(f"`{fields.text}`: got {type(value).__name__}, expected a string")
    has_image = record.get(fields.image) not in (None, "")
    return None if value == "" and has_image else value  # CSV has no absent fields


def _image(record: Mapping[str, Any], fields: Fields, images: ImageFolder) -> _FoundImage:
    name = fields.image
    value = record.get(name)
    if isinstance(value, Mapping):  # Hugging Face's image columns: the bytes, or a path
        value = value.get("bytes") or value.get("path")
    if value is None or value == "":
        return None, None
    if isinstance(value, bytes):
        return value, None
    if not isinstance(value, str):
        raise _RecordError(f"`{name}`: got {type(value).__name__}, expected a path, a URL, a data URI or bytes")
    if value.startswith(LINKS):
        return value, None
    try:
        found = images.find(value)
    except ValueError:
        raise _RecordError(
            f"`{name}`: {value[:200]} is not below {images.root}; --root names another folder of images"
        ) from None
    if found is None:
        raise _RecordError(f"`{name}`: no such file: {value[:200]}")
    return found


def _plain(value: Any, depth: int = 1) -> Any:
    """A value as plain JSON.

    Raises:
        _RecordError: the value has no form in JSON, or is nested too deep.
    """
    if depth > MAX_DEPTH:
        raise _RecordError(f"metadata is nested deeper than {MAX_DEPTH}")
    match value:
        case int() if not -(1 << 63) <= value < 1 << 63:
            return str(value)  # valid JSON, but stores have 64 bits
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


def _record_digest(name: str, content: Sequence[Any]) -> bytes:
    """Digest of a record's text, image (of a file path and size) and metadata."""
    try:
        name.encode()
        return hashlib.sha256(msgspec.json.encode(content)).digest()[:16]
    except UnicodeEncodeError:
        raise _RecordError("it has bytes that are not UTF-8") from None
