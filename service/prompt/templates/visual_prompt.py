r"""The template of colpali-engine's bi-encoders: an item is a page (images) or a query (a text).

`<|im_start|>user\n{media}Describe the image.<|im_end|><|endoftext|>` and `Query: {text}` followed by end tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from service.prompt.conversation import Conversation, Turn
from service.prompt.templates.chatml import SpecialTokens
from service.prompt.templates.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.templates.single_item import single_turn

DESCRIPTION = "Describe the image."
QUERY_PREFIX = "Query: "


@dataclass(frozen=True, slots=True)
class VisualPrompt:
    """A `Profile.layout`.

    Attributes:
        tokens: of the checkpoint.
        num_query_ends: end tokens after a text.
    """

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    tokens: SpecialTokens
    num_query_ends: int

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """A page if there is an image, else a query; only the client's text is cuttable.

        An instruction replaces the family's own words: `Query: ` before a text, `Describe the image.` after an image. A
        text beside an image replaces them too, as `context_prompts` do.

        Raises:
            InputError: `invalid_request` for other turns.

        Source: illuin-tech/colpali, `ColQwen2_5_Processor`.
        """
        turn, given = single_turn(conversation), conversation.instruction or ""
        instruction = given if given.strip() else ""
        return self._page(turn, instruction) if turn.images else self._query(turn, instruction)

    def _page(self, turn: Turn, instruction: str) -> Sequence[Piece]:
        words = instruction or ("" if turn.text else DESCRIPTION)
        pieces: list[Piece] = [TokenPiece(self.tokens.im_start), TextPiece("user\n")]
        for item in turn.images:
            pieces += [TokenPiece(self.tokens.vision_start), ImagePiece(item), TokenPiece(self.tokens.vision_end)]
        text = TextPiece(words + turn.text, user_start=len(words), cuttable=True)
        return [*pieces, text, TokenPiece(self.tokens.im_end), TokenPiece(self.tokens.end_of_text)]

    def _query(self, turn: Turn, instruction: str) -> Sequence[Piece]:
        prefix = instruction or QUERY_PREFIX
        text = TextPiece(prefix + turn.text, user_start=len(prefix), cuttable=True)
        return [text, *[TokenPiece(self.tokens.end_of_text)] * self.num_query_ends]
