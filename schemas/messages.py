"""Conversations, for clients that speak OpenAI's chat form. One conversation gives one vector.

Knows no chat template: `service.prompt` renders a conversation.
"""

from typing import Annotated, Literal

from msgspec import Meta

from schemas.base import Wire
from schemas.content import ContentParts

Role = Literal["system", "user", "assistant"]
"""Who speaks. The system message holds the instruction."""


class Message(Wire, frozen=True, kw_only=True):
    """One turn of a conversation."""

    role: Annotated[
        Role,
        Meta(description="Who speaks. A system message comes first and holds the instruction.", examples=["user"]),
    ]
    content: Annotated[
        str | ContentParts,
        Meta(
            description="The parts of the message. A bare string is accepted too and means one text part; this "
            "document lists only the array, since many client generators cannot send a union that holds arrays.",
            examples=[[{"type": "text", "text": "a red bicycle"}]],
        ),
    ]


Conversation = Annotated[list[Message], Meta(min_length=1)]
"""The turns of one conversation, in order."""

MessageOrConversation = Message | Conversation
"""An entry of `messages`: all entries are messages of one conversation, or each entry is a conversation."""


def conversations(messages: list[MessageOrConversation]) -> list[list[Message]]:
    """The list of conversations that `messages` stands for.

    Args:
        messages: the field of a request that passed `schemas.rules.check_embedding_request`, so it is not mixed.

    Returns:
        One list of messages for each vector to answer.
    """
    single = [entry for entry in messages if isinstance(entry, Message)]
    return [single] if single else [entry for entry in messages if not isinstance(entry, Message)]
