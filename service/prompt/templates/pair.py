"""A pair to be scored: the query's turn and the document's."""

from service.errors import InputError
from service.prompt.conversation import Conversation, Turn


def pair_turns(conversation: Conversation) -> tuple[Turn, Turn]:
    """The query and the document of a conversation.

    Raises:
        InputError: `invalid_request` for other turns. The caller adds the field.
    """
    turns = conversation.turns
    if [turn.role for turn in turns] != ["query", "document"]:
        roles = ", ".join(turn.role for turn in turns)
        message = f"The conversation has turns of {roles}; this model scores pairs, of a query and a document."
        raise InputError("invalid_request", message)
    query, document = turns
    return query, document
