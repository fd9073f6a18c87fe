"""Cuts texts, at headings and by characters, and makes items of the pieces: `ID#chunk=N`, which say where they lie.

The splitter is semantic-text-splitter (MIT): it cuts at the largest unit that fits, of paragraphs, sentences and words.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from typing import Any

from service.ingest.errors import load
from service.ingest.item import VERSION_BYTES, DocumentSection, LateChunk, Metadata, SourceItem

SECTION_CHARS = 50_000
"""Characters that are split together: the splitter's time grows with the square of a text without paragraphs."""
MAX_TOGETHER = 256
MAX_TOGETHER_CHARS = 200_000
"""Chunks that one request holds for late chunking, and their characters. Later ones begin a new request."""

Piece = tuple[int, str]
"""Where it begins in its text, and what stands there."""


def cut_at_headings(text: str, sections: Sequence[DocumentSection]) -> list[Piece]:
    """The sections of a document, each from its heading to the next, without blanks around it."""
    starts = sorted({0, *(section.start for section in sections)})
    found = [_stripped(start, text[start:end]) for start, end in pairwise([*starts, len(text)])]
    return [piece for piece in found if piece[1]]


def cut_by_chars(text: str, num_chars: int, num_overlap_chars: int = 0) -> list[Piece]:
    """Pieces of at most `num_chars`, which repeat up to `num_overlap_chars` of the one before; none of blanks alone."""
    splitter: Any = load("semantic_text_splitter", "ingest").TextSplitter(num_chars, overlap=num_overlap_chars)
    return [
        (start + offset, piece)
        for start, section in _long_sections(text)
        for offset, piece in splitter.chunk_indices(section)
    ]


def chunk_items(item: SourceItem, pieces: Sequence[Piece], *, late_chunking: bool = False) -> Iterator[SourceItem]:
    """An item for each piece of `item`'s text, in order; with `late_chunking` each knows the others."""
    assert item.text is not None
    late = _late_chunks(item.text, pieces) if late_chunking else [None] * len(pieces)
    for number, (start, piece) in enumerate(pieces, start=1):
        place: Metadata = {"of": item.id, "number": number, "num_chunks": len(pieces)}
        place |= {"start": start, "end": start + len(piece)}
        encoded = piece.encode(errors="surrogatepass")
        version = hashlib.sha256(item.version + encoded).digest()[:VERSION_BYTES]
        content = version if late_chunking else hashlib.sha256(encoded).digest()[:VERSION_BYTES]
        yield replace(
            item,
            id=f"{item.id}#chunk={number}",
            version=version,
            num_bytes=len(piece),
            text=piece,
            metadata=item.metadata | headings(item.sections, start, start + len(piece)) | {"chunk": place},
            late=late[number - 1],
            content=content,
            root=item.root or item.id,
        )


def with_headings(item: SourceItem) -> SourceItem:
    """A document as a whole, with the headings that all of it stands under."""
    return replace(item, metadata=item.metadata | headings(item.sections, 0, item.num_bytes)) if item.sections else item


def headings(sections: Sequence[DocumentSection], start: int, end: int) -> Metadata:
    """The headings under which all of `text[start:end]` stands; nothing of what is no document."""
    if not sections:
        return {}
    ends = [*(section.start for section in sections[1:]), end]
    within = [one.headings for one, stop in zip(sections, ends, strict=True) if one.start < end and stop > start]
    shared = takewhile(lambda level: len(set(level)) == 1, zip(*within, strict=False))
    return {"headings": [level[0] for level in shared]}


def _stripped(start: int, text: str) -> Piece:
    return start + len(text) - len(text.lstrip()), text.strip()


def _long_sections(text: str) -> Iterator[Piece]:
    """Parts of at most `SECTION_CHARS` that end at a line, a word, or where there is none within, anywhere."""
    start = 0
    while start < len(text):
        end = start + SECTION_CHARS
        if end < len(text):
            cut = text.rfind("\n", start, end) + 1 or text.rfind(" ", start, end) + 1
            end = cut if cut > start else end
        yield start, text[start:end]
        start = end


def _late_chunks(text: str, found: Sequence[Piece]) -> list[LateChunk]:
    """Each chunk among those that are read with it, which depend on the text alone."""
    ends = [start + len(chunk) for start, chunk in found]
    begins = [found[0][0], *ends[:-1]]
    late: list[LateChunk] = []
    first = 0
    while first < len(found):
        stop = first + 1
        while stop < min(len(found), first + MAX_TOGETHER) and ends[stop] - begins[first] <= MAX_TOGETHER_CHARS:
            stop += 1
        chunks = (found[first][1], *(text[begins[i] : ends[i]] for i in range(first + 1, stop)))
        late += [LateChunk(chunks, i - first, i + 1) for i in range(first, stop)]
        first = stop
    return late
