r"""The template of ColQwen2 and similar models: an item is one page (an image) or one query (a text).

`<|im_start|>user\n{page}Describe the image.<|im_end|><|endoftext|>` and a prefix, `{text}` and end tokens; a newline in
transformers' form of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from service.errors import InputError
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.templates.chatml import SpecialTokens
from service.prompt.templates.single_item import single_turn

NUM_QUERY_ENDS = 10
"""End tokens after a query, with which the model was trained to expand it."""


@dataclass(frozen=True, slots=True)
class PageOrQuery:
    """A `Profile.layout`.

    Attributes:
        tokens: of the checkpoint.
        query_prefix: text before a query.
        num_query_ends: end tokens after a query.
        query_tail: text after those.
        strips: blanks at a query's ends are dropped.
        answers: a page's prompt ends in the assistant's turn.
    """

    tokens: SpecialTokens
    query_prefix: str
    num_query_ends: int = NUM_QUERY_ENDS
    query_tail: str = ""
    strips: bool = False
    answers: bool = False

    @property
    def is_uniform(self) -> bool:
        """See `frame_pieces`."""
        return not self.strips

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """A page if there is an image, else a query; only the client's text is cuttable.

        Args:
            conversation: one user turn, no instruction.

        Raises:
            InputError: `unsupported_modality` for a text beside an image, `conflicting_input` for several images,
                `invalid_request` for an instruction or other turns.

        Source: transformers 5.23 `ColQwen2Processor`; colpali-engine 0.3.18 `ColQwen2_5_Processor`.
        """
        turn = page_or_query_turn(conversation)
        return self._page(turn) if turn.images else self._query(turn)

    def _page(self, turn: Turn) -> Sequence[Piece]:
        answer: list[Piece] = [TokenPiece(self.tokens.im_start), TextPiece("assistant\n")] if self.answers else []
        return [
            TokenPiece(self.tokens.im_start),
            TextPiece("user\n"),
            TokenPiece(self.tokens.vision_start),
            ImagePiece(turn.images[0]),
            TokenPiece(self.tokens.vision_end),
            TextPiece("Describe the image."),
            TokenPiece(self.tokens.im_end),
            *answer,
            TokenPiece(self.tokens.end_of_text),
        ]

    def _query(self, turn: Turn) -> Sequence[Piece]:
        words = turn.text.strip() if self.strips else turn.text
        text = TextPiece(self.query_prefix + words, user_start=len(self.query_prefix), cuttable=True)
        ends = [TokenPiece(self.tokens.end_of_text)] * self.num_query_ends
        return [text, *ends, *([TextPiece(self.query_tail)] if self.query_tail else [])]


def page_or_query_turn(conversation: Conversation) -> Turn:
    """The one turn of an item: a page or a query.

    Raises:
        InputError: see `PageOrQuery`.
    """
    turn = single_turn(conversation)
    if (conversation.instruction or "").strip():
        message = "The conversation has a system message; this model was trained without instructions."
        raise InputError("invalid_request", message)
    if turn.images and turn.text:
        message = (
            "The item has a text beside an image; this model embeds pages, which are images, and queries, which are "
            "texts: send them as two items."
        )
        raise InputError("unsupported_modality", message)
    if len(turn.images) > 1:
        message = (
            f"The item has {len(turn.images)} images; this model embeds one page at a time: send each as an item of "
            "its own."
        )
        raise InputError("conflicting_input", message)
    return turn
