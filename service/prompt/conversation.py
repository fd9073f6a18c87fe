"""The input of a client before any template: an instruction and turns.

Knows no model family, no tokenizer and no route.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from service.media.media_item import MediaItem, Video

Role = Literal["user", "assistant", "query", "document"]
"""Who speaks; the system turn is the conversation's instruction.

A pair to be scored is a conversation of exactly two turns, of the roles `query` and `document` in this order.
"""
Part = str | Video | MediaItem
"""A text, a video, or another medium: an image, a page, an audio file."""


class Turn(msgspec.Struct, frozen=True):
    """One turn."""

    role: Role
    parts: tuple[Part, ...] = ()
    """In the order in which the model reads them. None at all are another thing than an empty text: a pair's side then
    is the reranker's word for nothing."""

    @property
    def text(self) -> str:
        """All texts, joined with nothing between."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def videos(self) -> tuple[Video, ...]:
        """The videos."""
        return tuple(part for part in self.parts if isinstance(part, Video))

    @property
    def images(self) -> tuple[MediaItem, ...]:
        """All else: images, pages and audio files."""
        return tuple(part for part in self.parts if not isinstance(part, str | Video))


class Conversation(msgspec.Struct, frozen=True):
    """Everything that becomes one prompt and one vector. A flag of None means the profile's default.

    Attributes:
        instruction: the system turn; None or blank means the profile's default instruction.
        turns: at least one; none where it stands for what conversations have in common.
        add_generation_prompt: end with the opening of an assistant turn.
        continue_final_message: leave the last turn open, without its end token.
        add_special_tokens: let the tokenizer add its own head and tail.
    """

    instruction: str | None
    turns: tuple[Turn, ...] = ()
    add_generation_prompt: bool | None = None
    continue_final_message: bool = False
    add_special_tokens: bool | None = None


def in_reference_order(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Videos, images, then one text, whatever order the client wrote.

    Source: docs/notes/qwen3-vl-embedding.md; the scripts of the other families put an image before a text too.
    """
    found = list(parts)
    videos = [part for part in found if isinstance(part, Video)]
    images = [part for part in found if not isinstance(part, str | Video)]
    return (*videos, *images, "".join(part for part in found if isinstance(part, str))) if found else ()
