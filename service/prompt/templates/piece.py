"""The pieces of a rendered prompt: text, special tokens and images.

There is always a special token between two texts, so that each text can be tokenized alone: byte-pair merges never
cross a special token.
"""

from typing import NamedTuple

from service.media.item import MediaItem


class TextPiece(NamedTuple):
    """Text between two special tokens, tokenized as one.

    Attributes:
        text: the template's text and the client's.
        user_start: index of the first character that the client wrote; None when the template wrote all of it.
        cuttable: whether truncation may cut the client's part.
    """

    text: str
    user_start: int | None = None
    cuttable: bool = False


class TokenPiece(NamedTuple):
    """One special token of the template."""

    token_id: int


class ImagePiece(NamedTuple):
    """One image, pair of frames or audio file; becomes a run of its placeholder token."""

    item: MediaItem


Piece = TextPiece | TokenPiece | ImagePiece
