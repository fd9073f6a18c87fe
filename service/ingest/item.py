"""What goes through a run: an item as its source gives it, what is asked about it, and the point that comes of it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from service.ingest.errors import Reason

Metadata = dict[str, Any]
"""What stands beside an item and goes into the sink with its vectors; plain JSON values."""

Picture = Path | bytes | str
"""A file that is read when its turn comes, the encoded bytes, or what the server is to read: a URL or data URI."""


VERSION_BYTES = 8


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to embed: a text, a picture, or both.

    Attributes:
        id: names it within its source, and for ever in sink and ledger.
        version: says whether the content under an id is still the same: `VERSION_BYTES` of a digest, or a file's size.
        num_bytes: about what it takes in memory and in a request.
        stamp: when its image's file was changed; empty where there is no such file.
    """

    id: str
    version: bytes
    num_bytes: int
    text: str | None = None
    picture: Picture | None = None
    metadata: Metadata = field(default_factory=dict)
    stamp: bytes = b""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """What a source could not make an item of, and why; `id` says where it stands when it names itself badly."""

    id: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Ask:
    """One item under one instruction: what becomes one vector."""

    item: Item
    instruction: str | None
    point: UUID


@dataclass(frozen=True, slots=True)
class Point:
    """One vector with what it is the vector of, as a sink keeps it.

    Attributes:
        vector: components as little-endian float32.
        version: of what it was made, as `version.py` has it.
    """

    ask: Ask
    vector: bytes
    version: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """One vector that will not be, and why."""

    ask: Ask
    reason: Reason
