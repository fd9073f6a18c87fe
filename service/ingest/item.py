"""The data of a run: items of a source, asks (item and instruction), points (vectors) and failures."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from service.ingest.errors import FailureReason
from service.ingest.files.source_file import PageImage
from service.ingest.files.video_segment import VideoSegment
from service.ingest.vectors import Vectors

Metadata = dict[str, Any]
"""Other fields of an item, stored with its vectors; plain JSON values."""

ImageInput = Path | bytes | str | PageImage
"""A file that is read when it is sent, encoded bytes, a URL or data URI that the server reads, or a page of a PDF."""

VERSION_BYTES = 8


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """Part of a document from a heading to the next, or what is before the first one.

    Attributes:
        start: where it begins in the text, in characters.
        headings: those that it stands under, the outermost first.
    """

    start: int
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LateChunk:
    """A chunk whose vector is made from a text as a whole, by late chunking.

    Attributes:
        chunks: all chunks that are read together, with the blanks before them; the same object for each of them.
        index: of this one.
        number: of this one in the text, from 1.
    """

    chunks: tuple[str, ...]
    index: int
    number: int


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One thing to embed: a text, an image, or both, or a video.

    Attributes:
        id: unique within the source; identifies the item in sink and ledger.
        version: changes with the content: `VERSION_BYTES` of a digest, or a file's size.
        num_bytes: approximate size in memory and in a request.
        stamp: modification time of the file that holds image or video; empty without a file.
        late: of a chunk under `--late-chunking`.
        content: digest of what the vectors depend on, without metadata; empty where `version` and the file tell alone.
        root: file or record that it is a part of; empty of a whole one.
        sections: of a document, in order; other texts have none.
    """

    id: str
    version: bytes
    num_bytes: int
    text: str | None = None
    media: ImageInput | VideoSegment | None = None
    metadata: Metadata = field(default_factory=dict)
    stamp: bytes = b""
    late: LateChunk | None = None
    content: bytes = b""
    root: str = ""
    sections: tuple[DocumentSection, ...] = ()

    @property
    def is_document(self) -> bool:
        """True if its text is that of a file."""
        return bool(self.sections)


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that is not a valid item, and why.

    Attributes:
        id: its position when it has no usable id.
        root: the file that it is a part of; empty of a whole one.
    """

    id: str
    reason: FailureReason
    root: str = ""


class OpenSource(Protocol):
    """Items of a folder or file. Read by one thread, from the start in every run."""

    def items(self) -> Iterator[SourceItem | BadRecord]:
        """Yield every item, in a stable order, with one in memory at a time."""
        ...

    def count(self) -> int | None:
        """Approximate number of items; None for a stream. May be slow."""
        ...


@dataclass(frozen=True, slots=True)
class Ask:
    """One item under one instruction, which gives one point."""

    item: SourceItem
    instruction: str | None
    point: UUID


@dataclass(frozen=True, slots=True)
class Point:
    """The vectors of an ask, as a sink stores them together, and the version of the item's content (`version.py`)."""

    ask: Ask
    vectors: Vectors
    version: bytes


@dataclass(frozen=True, slots=True)
class Relabelled:
    """A point in the sink whose vectors stay, while other metadata are written; `version` as in `Point`."""

    ask: Ask
    version: bytes


@dataclass(frozen=True, slots=True)
class FailedAsk:
    """An ask without vectors, and why."""

    ask: Ask
    reason: FailureReason
