"""Conversations, for clients that send OpenAI's chat messages. One conversation gives one vector."""

from typing import Annotated, Literal

from msgspec import Meta

from schemas.base import Wire
from schemas.content.parts import ContentField

Role = Literal["system", "user", "assistant"]
"""The speaker. The system message holds the instruction."""


class Message(Wire, frozen=True, kw_only=True):
    """One turn of a conversation."""

    role: Annotated[
        Role,
        Meta(description="Who speaks. A system message comes first and holds the instruction.", examples=["user"]),
    ]
    content: ContentField


Conversation = Annotated[list[Message], Meta(min_length=1)]
"""The turns of one conversation, in order."""

MessageOrConversation = Message | Conversation
"""An entry of `messages`: all entries are messages of one conversation, or each entry is a conversation."""


def conversations(messages: list[MessageOrConversation]) -> list[list[Message]]:
    """The messages of each vector to answer; `check_embedding_request` has made sure that `messages` is not mixed."""
    single = [entry for entry in messages if isinstance(entry, Message)]
    return [single] if single else [entry for entry in messages if not isinstance(entry, Message)]
