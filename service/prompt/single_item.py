"""The layout of two-tower models: an item is one text or one picture (or sound), and nothing stands beside it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from service.errors import InputError
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece
from service.prompt.single_turn import lone_medium


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class SingleItem:
    """A `Profile.layout`.

    Attributes:
        rewrite: what the family does to every text before its tokenizer sees it.
        other: what the model takes beside texts, for errors.
    """

    rewrite: Callable[[str], str] = _as_it_is
    other: Literal["picture", "sound"] = "picture"

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """One piece.

        Args:
            conversation: one user turn.

        Raises:
            InputError: `unsupported_modality` for a text with a picture, `conflicting_input` for several pictures,
                `invalid_request` for a system message or other turns. It names no field; who asks knows which.
        """
        if (conversation.instruction or "").strip():
            raise InputError(
                "invalid_request",
                "The conversation has a system message; this model was trained without instructions and has no place "
                "for one.",
            )
        turns, first = conversation.turns, conversation.turns[0]
        if len(turns) != 1 or first.role != "user":
            raise InputError(
                "invalid_request",
                f"The conversation has {len(turns)} turns, the first by the {first.role}; expected one user turn: this "
                f"model embeds one text or one {self.other}.",
            )
        return [self._piece(first)]

    def _piece(self, turn: Turn) -> Piece:
        if not turn.images:
            return TextPiece(self.rewrite(turn.text), user_start=0, cuttable=True)
        reason = "this model has a tower for each and embeds one or the other"
        return ImagePiece(lone_medium(turn, self.other, reason))
