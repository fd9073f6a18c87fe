"""The layout of two-tower models: an item is one text or one picture, and nothing stands beside it."""

from collections.abc import Sequence

from service.errors import InputError
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece


def single_item(conversation: Conversation) -> Sequence[Piece]:
    """One piece; a `Profile.layout`.

    Args:
        conversation: one user turn.

    Raises:
        InputError: `unsupported_modality` for a text with a picture, `conflicting_input` for several pictures,
            `invalid_request` for a system message or other turns. It names no field; who asks knows which.
    """
    if (conversation.instruction or "").strip():
        raise InputError(
            "invalid_request",
            "The conversation has a system message; this model was trained without instructions and has no place for "
            "one.",
        )
    turns = conversation.turns
    if len(turns) != 1 or turns[0].role != "user":
        raise InputError(
            "invalid_request",
            f"The conversation has {len(turns)} turns, the first by the {turns[0].role}; expected one user turn: this "
            "model embeds one text or one picture.",
        )
    return [_piece(turns[0])]


def _piece(turn: Turn) -> Piece:
    if not turn.images:
        return TextPiece(turn.text, user_start=0, cuttable=True)
    if turn.text:
        raise InputError(
            "unsupported_modality",
            "The item has a text beside a picture; this model has a tower for each and embeds one or the other: send "
            "them as two items.",
        )
    if len(turn.images) > 1:
        raise InputError(
            "conflicting_input",
            f"The item has {len(turn.images)} pictures; this model embeds one picture at a time: send each as an item "
            "of its own.",
        )
    return ImagePiece(turn.images[0])
