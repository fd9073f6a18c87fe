"""The frame of plain texts: what a layout puts around a user's text, for layouts that put the same around any.

A request of many texts has one frame. Its tokens are made once, and each text costs its own tokens alone.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from service.errors import InputError
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import Piece, TextPiece

PROBE = "probe"


class TextFrame(NamedTuple):
    """The tokens around a text.

    Attributes:
        before: those in front of it, the tokenizer's head included.
        header: the template's words that are tokenized together with the text.
        after: those after it, the tokenizer's tail included.
        header_ids: the header's own tokens in front of any text that does not begin with white space; None where they
            depend on the text.
    """

    before: list[int]
    header: str
    after: list[int]
    header_ids: list[int] | None = None

    @property
    def num_tokens(self) -> int:
        """Those that are known: the header's depend on the text."""
        return len(self.before) + len(self.after)


class FramePieces(NamedTuple):
    """A layout's pieces around a text, as in `TextFrame`."""

    before: Sequence[Piece]
    header: str
    after: Sequence[Piece]


def frame_pieces(layout: Callable[[Conversation], Sequence[Piece]], like: Conversation) -> FramePieces | None:
    """Return the pieces of a layout around a text; None where they depend on the text, or an error has to be raised.

    A layout says by `is_uniform` that, whatever the text of a user's only turn, one piece is a header and the text, and
    all others are the same.

    Args:
        layout: of a profile.
        like: a conversation without turns: instruction and flags.
    """
    if not getattr(layout, "is_uniform", False):
        return None
    try:
        pieces = layout(replace(like, turns=(Turn("user", (PROBE,)),)))
    except InputError:
        return None
    (place,) = [i for i, piece in enumerate(pieces) if isinstance(piece, TextPiece) and piece.cuttable]
    text = pieces[place]
    assert isinstance(text, TextPiece)
    assert text.user_start is not None  # it is cuttable
    return FramePieces(pieces[:place], text.text[: text.user_start], pieces[place + 1 :])
