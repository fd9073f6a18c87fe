"""The one turn of a model that was trained on single inputs and has no template for a conversation."""

from service.errors import InputError
from service.prompt.conversation import Conversation, Turn


def single_turn(conversation: Conversation) -> Turn:
    """The user turn.

    Args:
        conversation: with at least one turn.

    Raises:
        InputError: `invalid_request` for other turns. It names no field; who asks knows which.
    """
    turns = conversation.turns
    if len(turns) != 1 or turns[0].role != "user":
        message = (
            f"The conversation has {len(turns)} turns, the first by the {turns[0].role}; expected one user turn, "
            "and at most a system message, which is the instruction: this model embeds single inputs."
        )
        raise InputError("invalid_request", message)
    return turns[0]
