"""The template of cross-encoders: two texts with a separator between them, no instruction."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.errors import InputError
from service.prompt.conversation import Conversation
from service.prompt.piece import Piece, TextPiece, TokenPiece
from service.prompt.templates.pair import pair_turns


@dataclass(frozen=True, slots=True)
class TextPair:
    """A `Profile.layout`.

    Attributes:
        between: ids between query and document.
    """

    between: tuple[int, ...]

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """Query, separator, document; both texts are cuttable. The tokenizer's head and tail come around them.

        Raises:
            InputError: `invalid_request` for an instruction, or other turns than a pair's. The caller adds the field.

        Source: sentence-transformers 6.2, `CrossEncoder.predict`.
        """
        if (conversation.instruction or "").strip():
            raise InputError("invalid_request", "The pair has an instruction; this model was trained without any.")
        query, document = pair_turns(conversation)
        texts = [TextPiece(turn.text, user_start=0, cuttable=True) for turn in (query, document)]
        return [texts[0], *map(TokenPiece, self.between), texts[1]]
