"""What a model that was trained on single inputs takes: one turn, and in it a picture or sound alone."""

from service.errors import InputError
from service.media.picture import Picture
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


def lone_medium(turn: Turn, noun: str, reason: str) -> Picture:
    """The picture or sound of a turn that holds nothing else.

    Args:
        turn: with one at least.
        noun: what it is called.
        reason: why no text may stand beside it.

    Raises:
        InputError: `unsupported_modality` for a text beside it, `conflicting_input` for several. It names no field; who
            asks knows which.
    """
    if turn.text:
        message = f"The item has a text beside a {noun}; {reason}: send them as two items."
        raise InputError("unsupported_modality", message)
    first, *others = turn.images
    if others:
        count = f"The item has {len(turn.images)} {noun}s"
        raise InputError(
            "conflicting_input", f"{count}; this model embeds one at a time: send each as an item of its own."
        )
    return first
