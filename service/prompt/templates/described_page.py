r"""The template of ColModernVBERT: an item is one page (an image) or one query (a text).

`<|begin_of_text|>User:{page}Describe the image.<end_of_utterance>\nAssistant:` and `{text}` with ten end tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from service.prompt.conversation import Conversation
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.templates.page_or_query import NUM_QUERY_ENDS, page_or_query_turn

BEGIN = "<|begin_of_text|>"
END = "<end_of_utterance>"


@dataclass(frozen=True, slots=True)
class DescribedPage:
    """A `Profile.layout`.

    Attributes:
        begin: the token `BEGIN`; None where the vocabulary has none, and it is text.
        end: the token `END`.
        query_prefix: text before a query.
    """

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    begin: int | None
    end: int
    query_prefix: str

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """A page if there is an image, else a query; only the client's text is cuttable.

        Raises:
            InputError: as `PageOrQuery` has them.

        Source: transformers 5.23 `ColModernVBertProcessor`.
        """
        turn = page_or_query_turn(conversation)
        if not turn.images:
            text = TextPiece(self.query_prefix + turn.text, user_start=len(self.query_prefix), cuttable=True)
            return [text, *[TokenPiece(self.end)] * NUM_QUERY_ENDS]
        begin: list[Piece] = [TextPiece(f"{BEGIN}User:")]
        if self.begin is not None:
            begin = [TokenPiece(self.begin), TextPiece("User:")]
        return [
            *begin,
            ImagePiece(turn.images[0]),
            TextPiece("Describe the image."),
            TokenPiece(self.end),
            TextPiece("\nAssistant:"),
        ]
