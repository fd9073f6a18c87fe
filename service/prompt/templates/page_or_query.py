r"""The template of ColQwen2, ColModernVBERT and similar models: an item is one page (an image) or one query (a text).

`<|im_start|>user\n{page}Describe the image.<|im_end|><|endoftext|>` and a prefix, `{text}` and end tokens; a newline in
transformers' form of it. ColModernVBERT's is `<|begin_of_text|>User:{page}Describe the image.<end_of_utterance>\n`
`Assistant:`, and `{text}` with ten end tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from service.errors import InputError
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.templates.chatml import SpecialTokens
from service.prompt.templates.single_item import single_turn
from service.prompt.templates.visual_prompt import DESCRIPTION

NUM_QUERY_ENDS = 10
"""End tokens after a query, with which the model was trained to expand it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOrQuery:
    """A `Profile.layout`.

    Attributes:
        before: pieces before a page.
        after: and after it.
        query_prefix: text before a query.
        query_end: end token after a query.
        num_query_ends: how many there are.
        query_tail: text after those.
        strips: blanks at a query's ends are dropped.
    """

    before: tuple[Piece, ...]
    after: tuple[Piece, ...]
    query_prefix: str
    query_end: int
    num_query_ends: int = NUM_QUERY_ENDS
    query_tail: str = ""
    strips: bool = False

    @classmethod
    def of_chat(
        cls,
        tokens: SpecialTokens,
        query_prefix: str,
        num_query_ends: int = NUM_QUERY_ENDS,
        *,
        query_tail: str = "",
        strips: bool = False,
        answers: bool = False,
    ) -> "PageOrQuery":
        """ColQwen2's and that of similar models.

        Args:
            answers: a page's prompt ends in the assistant's turn.
        """
        answer = (TokenPiece(tokens.im_start), TextPiece("assistant\n")) if answers else ()
        said = (TokenPiece(tokens.vision_end), TextPiece(DESCRIPTION), TokenPiece(tokens.im_end))
        return cls(
            before=(TokenPiece(tokens.im_start), TextPiece("user\n"), TokenPiece(tokens.vision_start)),
            after=(*said, *answer, TokenPiece(tokens.end_of_text)),
            query_prefix=query_prefix,
            query_end=tokens.end_of_text,
            num_query_ends=num_query_ends,
            query_tail=query_tail,
            strips=strips,
        )

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

        Source: transformers 5.23 `ColQwen2Processor`, `ColModernVBertProcessor`; colpali-engine 0.3.18,
            `ColQwen2_5_Processor`.
        """
        turn = single_turn(conversation)
        _check(conversation, turn)
        if turn.images:
            return [*self.before, ImagePiece(turn.images[0]), *self.after]
        words = turn.text.strip() if self.strips else turn.text
        text = TextPiece(self.query_prefix + words, user_start=len(self.query_prefix), cuttable=True)
        ends = [TokenPiece(self.query_end)] * self.num_query_ends
        return [text, *ends, *([TextPiece(self.query_tail)] if self.query_tail else [])]


def _check(conversation: Conversation, turn: Turn) -> None:
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
