"""What a rendered prompt is made of, in order: text, special tokens and images.

A special token always stands between two texts, so that each text can be tokenized alone: byte-pair merges never cross
a special token. Knows no tokenizer and no model family.
"""

from typing import NamedTuple

from service.media.item import MediaItem


class TextPiece(NamedTuple):
    """Text between two special tokens, tokenized as a whole.

    Attributes:
        text: template words and a client's text, joined as they are tokenized.
        user_start: index of the first character that the client wrote; None when the template wrote all of it.
        cuttable: whether truncation may shorten the client's part.
    """

    text: str
    user_start: int | None = None
    cuttable: bool = False


class TokenPiece(NamedTuple):
    """One special token of the template."""

    token_id: int


class ImagePiece(NamedTuple):
    """One image, or pair of frames; becomes a run of `image_pad` or `video_pad` tokens."""

    item: MediaItem


Piece = TextPiece | TokenPiece | ImagePiece
