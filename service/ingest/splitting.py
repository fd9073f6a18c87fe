"""Splits texts so that the model reads each as a whole: by tokens that the server counts, at headings and sentences.

How a text is cut depends on nothing but the text, the flags and the tokenizer, so that every run finds the same chunks.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from service.ingest.arguments import Options
from service.ingest.errors import IngestError
from service.ingest.item import BadRecord, DocumentSection, SourceItem
from service.ingest.ledger.choosing import Chooser
from service.ingest.progress import RunCounts
from service.ingest.sending.tokens import TokenCounter
from service.ingest.sources.chunks import Piece, chunk_items, cut_at_headings, cut_by_chars, with_headings

DOCUMENT_TOKENS = 512
"""Of a document's chunk without a flag, where the model reads more: one vector says little of a long chapter."""
CHARS_PER_TOKEN = 4
"""A first guess, of English; a byte counts as a character of it."""
SURELY_OVER_CHARS = 16
"""Characters for each token that no text has as a whole: more are not worth a question."""
NFKC_GROWTH = 18
"""Most characters that a tokenizer's normalization makes of one.

Source: Unicode, UAX 15, "Detecting Normalization Forms", U+FDFA.
"""
MARGIN = 0.95
"""Of the length that would fit if tokens lay evenly in the text."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of an item's text that has to have at most `max_tokens`; a document that is not cut yet has sections."""

    owner: int
    start: int
    text: str
    max_tokens: int
    sections: Sequence[DocumentSection] = ()

    def surely_fits(self, template_tokens: int) -> bool:
        """True if no tokenizer makes more tokens of it: each has a byte of the text at least."""
        text = self.text
        num_bytes = len(text) if text.isascii() else NFKC_GROWTH * len(text.encode(errors="replace"))
        return num_bytes + template_tokens <= self.max_tokens or len(text) <= 1

    @property
    def surely_is_over(self) -> bool:
        """True if it is not worth a question."""
        return len(self.text) > self.max_tokens * SURELY_OVER_CHARS

    def cut(self, num_tokens: int) -> list["_Part"]:
        """Parts of it, at headings where there are some; `num_tokens` of it, 0 where they are not known."""
        pieces = cut_at_headings(self.text, self.sections)
        if len(pieces) < 2:
            pieces = cut_by_chars(self.text, self._num_chars(num_tokens))
        return [_Part(self.owner, self.start + start, text, self.max_tokens) for start, text in pieces]

    def _num_chars(self, num_tokens: int) -> int:
        length = len(self.text)
        if num_tokens:
            return max(1, min(length - 1, int(length * self.max_tokens / num_tokens * MARGIN)))
        guess = self.max_tokens * CHARS_PER_TOKEN * length // len(self.text.encode(errors="replace"))
        return max(1, min(length // 2, guess))


def _cut_again(over: Sequence[tuple[_Part, int]]) -> list[_Part]:
    return [new for part, num_tokens in over for new in part.cut(num_tokens)]


class Splitting:
    """Splits the texts of items, which come from any source; an item with an image stays whole."""

    def __init__(self, options: Options, tokens: TokenCounter, chooser: Chooser, counts: RunCounts) -> None:
        if options.chunk_tokens > tokens.max_tokens:
            raise IngestError(
                f"--chunk-tokens: got {options.chunk_tokens}, and the model reads at most {tokens.max_tokens} tokens "
                "of a text, its instruction aside"
            )
        self._options = options
        self._tokens = tokens
        self._chooser = chooser
        self._counts = counts
        self._is_asked_for = bool(options.chunk_chars or options.chunk_tokens)

    async def split(self, read: Sequence[SourceItem | BadRecord]) -> list[SourceItem | BadRecord]:
        """The items with their texts split; those that the ledger has as a whole stay whole, and as chunks, chunks."""
        texts = {i: one for i, one in enumerate(read) if isinstance(one, SourceItem) and one.media is None and one.text}
        if not self._is_asked_for:
            stays = self._chooser.in_chunks if self._options.truncate else self._chooser.whole
            found = stays(list(texts.values()))
            texts = {i: one for i, one in texts.items() if (one.id in found) is self._options.truncate}
        pieces = await self._pieces(texts)
        split: list[SourceItem | BadRecord] = []
        for i, item in enumerate(read):
            if isinstance(item, SourceItem) and i in pieces:
                split += self._items(item, pieces[i])
            else:
                split.append(with_headings(item) if isinstance(item, SourceItem) else item)
        return split

    def _items(self, item: SourceItem, pieces: Sequence[Piece]) -> list[SourceItem]:
        if not self._is_asked_for and len(pieces) == 1:
            return [with_headings(item)]
        if self._counts.total is not None:
            self._counts.total += (len(pieces) - 1) * max(1, len(self._options.instruction))
        return list(chunk_items(item, pieces, late_chunking=self._options.late_chunking))

    async def _pieces(self, texts: dict[int, SourceItem]) -> dict[int, list[Piece]]:
        """The pieces of each text."""
        left = await asyncio.to_thread(self._first_cut, texts)
        done: list[_Part] = []
        while left:
            sure = {part for part in left if part.surely_fits(self._tokens.template_tokens)}
            unsure = [part for part in left if part not in sure]
            done += sure
            asked = [part for part in unsure if not part.surely_is_over]
            counts = dict(zip(asked, await self._tokens.count([part.text for part in asked]), strict=True))
            fit = {part for part, count in counts.items() if 0 < count <= part.max_tokens}
            done += fit
            over = [(part, counts.get(part, 0)) for part in unsure if part not in fit]
            left = await asyncio.to_thread(_cut_again, over)
        pieces: dict[int, list[Piece]] = {owner: [] for owner in texts}
        for part in sorted(done, key=lambda part: (part.owner, part.start)):
            pieces[part.owner].append((part.start, part.text))
        return {owner: found or [(0, texts[owner].text or "")] for owner, found in pieces.items()}

    def _first_cut(self, texts: dict[int, SourceItem]) -> list[_Part]:
        """Each text as a whole, or cut by `--chunk-chars`."""
        options, parts = self._options, []
        for owner, item in texts.items():
            assert item.text is not None
            if not options.chunk_chars:
                parts.append(_Part(owner, 0, item.text, self._max_tokens(item), item.sections))
                continue
            max_tokens = 1 << 50 if options.truncate else self._tokens.max_tokens
            for at, section in cut_at_headings(item.text, item.sections):
                pieces = cut_by_chars(section, options.chunk_chars, options.chunk_overlap)
                parts += [_Part(owner, at + start, piece, max_tokens) for start, piece in pieces]
        return parts

    def _max_tokens(self, item: SourceItem) -> int:
        """Of a chunk of this item."""
        most = self._tokens.max_tokens
        return self._options.chunk_tokens or (min(DOCUMENT_TOKENS, most) if item.is_document else most)
