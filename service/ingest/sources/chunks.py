"""Long texts as chunks: each is an item `ID#chunk=N`, whose metadata say where it lies in the text.

The splitter is semantic-text-splitter (MIT): it cuts at the largest unit that fits, of paragraphs, sentences and words.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from service.ingest.errors import load
from service.ingest.item import VERSION_BYTES, BadRecord, LateChunk, Metadata, OpenSource, SourceItem

SECTION_CHARS = 50_000
"""Characters that are split together: the splitter's time grows with the square of a text without paragraphs."""
MAX_TOGETHER = 256
MAX_TOGETHER_CHARS = 200_000
"""Chunks that one request holds for late chunking, and their characters. Later ones begin a new request."""


class Chunks:
    """Another source with its texts split. An item with an image stays whole, since its text belongs to the image."""

    def __init__(
        self, source: OpenSource, num_chars: int, num_overlap_chars: int, *, late_chunking: bool = False
    ) -> None:
        """Split texts into chunks of at most `num_chars`, which repeat up to `num_overlap_chars` of the one before.

        With `late_chunking` each knows the others, and none repeats anything.
        """
        self._source = source
        package = load("semantic_text_splitter", "chunks")
        self._late_chunking = late_chunking
        self._splitter: Any = package.TextSplitter(num_chars, overlap=num_overlap_chars)

    def items(self) -> Iterator[SourceItem | BadRecord]:
        """Yield the chunks of each text, in order."""
        for item in self._source.items():
            if isinstance(item, BadRecord) or item.media is not None or item.text is None:
                yield item
            else:
                yield from self._chunks(item, item.text)

    def count(self) -> None:
        """None: only the texts tell."""

    def _chunks(self, item: SourceItem, text: str) -> Iterator[SourceItem]:
        found = [
            (start + offset, chunk)
            for start, section in _sections(text)
            for offset, chunk in self._splitter.chunk_indices(section)
        ] or [(0, text)]  # of spaces alone
        late = _late_chunks(text, found) if self._late_chunking else [None] * len(found)
        for number, (start, chunk) in enumerate(found, start=1):
            place: Metadata = {"of": item.id, "number": number, "num_chunks": len(found)}
            place |= {"start": start, "end": start + len(chunk)}
            version = hashlib.sha256(item.version + chunk.encode(errors="surrogatepass")).digest()[:VERSION_BYTES]
            metadata = item.metadata | {"chunk": place}
            id_ = f"{item.id}#chunk={number}"
            yield SourceItem(id_, version, len(chunk), chunk, metadata=metadata, late=late[number - 1])


def _sections(text: str) -> Iterator[tuple[int, str]]:
    """Parts of at most `SECTION_CHARS` that end at a line, a word, or where there is none within, anywhere."""
    start = 0
    while start < len(text):
        end = start + SECTION_CHARS
        if end < len(text):
            cut = text.rfind("\n", start, end) + 1 or text.rfind(" ", start, end) + 1
            end = cut if cut > start else end
        yield start, text[start:end]
        start = end


def _late_chunks(text: str, found: Sequence[tuple[int, str]]) -> list[LateChunk]:
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
