"""The pieces of a rendered prompt: text, special tokens and images.

There is always a special token between two texts, so that each text can be tokenized alone: byte-pair merges never
cross a special token.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from service.media.media_item import MediaItem, Video


class TextPiece(NamedTuple):
    """Text between two special tokens, tokenized as one."""

    text: str
    user_start: int | None = None
    """Index of the first character that the client wrote; None when the template wrote all of it."""
    cuttable: bool = False
    """Truncation may cut the client's part."""
    num_after: int = 0
    """Characters of the template after the client's part."""

    def closed(self, words: str) -> "Sequence[TextPiece]":
        """The piece with words of the template after it, before a medium; none where nothing is written."""
        text = self.text + words
        if self.user_start is not None and self.user_start < len(self.text):
            return [self._replace(text=text, num_after=len(words))]
        return [TextPiece(text)] if text else []


class TokenPiece(NamedTuple):
    """One special token of the template."""

    token_id: int


class ImagePiece(NamedTuple):
    """One image, pair of frames or audio file; becomes a run of its placeholder token."""

    item: MediaItem


Piece = TextPiece | TokenPiece | ImagePiece


def timed_items(part: MediaItem | Video) -> Iterator[tuple[str, MediaItem]]:
    """Yield what a model sees of a part: each pair of a video's frames, with its time as text, or an image without any.

    Source: transformers 4.57 `Qwen3VLProcessor`, the form that the models were trained on; 5.x puts two more vision
    tokens around all pairs of a video.
    """
    if isinstance(part, Video):
        for time_s, pair in zip(part.times_s, part.pairs, strict=True):
            yield f"<{time_s:.1f} seconds>", pair
    else:
        yield "", part
