"""What a client wants embedded, before any template: an instruction and turns.

Knows no model family, no tokenizer and no route.
"""

from typing import Literal

import msgspec

from service.media.item import MediaItem
from service.media.video.frame_pair import Video

Role = Literal["user", "assistant", "query", "document"]
"""Who speaks; the system turn is the conversation's instruction.

A pair to be scored is a conversation of exactly two turns, of the roles `query` and `document` in this order.
"""


class Turn(msgspec.Struct, frozen=True):
    """One turn: videos, then images, then text, whatever order the client wrote.

    Attributes:
        role: who speaks.
        images: the images, in the order written.
        text: all texts of the turn, joined with nothing between.
        videos: the videos, in the order written.
        is_empty: no part was given, not even an empty text; a pair's side then is the reranker's word for nothing.

    Source: docs/notes/qwen3-vl-embedding.md: all videos, then all images, then all texts.
    """

    role: Role
    images: tuple[MediaItem, ...] = ()
    text: str = ""
    videos: tuple[Video, ...] = ()
    is_empty: bool = False


class Conversation(msgspec.Struct, frozen=True):
    """Everything that becomes one prompt and one vector. A flag of None means the profile's default.

    Attributes:
        instruction: the system turn; None or blank means the profile's default instruction.
        turns: at least one.
        add_generation_prompt: end with the opening of an assistant turn.
        continue_final_message: leave the last turn open, without its end token.
        add_special_tokens: let the tokenizer add its own head and tail.
    """

    instruction: str | None
    turns: tuple[Turn, ...]
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    add_special_tokens: bool | None = None
