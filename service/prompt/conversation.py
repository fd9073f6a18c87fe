"""What a client wants embedded, before any template: an instruction and turns.

Knows no model family, no tokenizer and no route.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from service.media.item import MediaItem
from service.media.video.frame_pair import Video

Role = Literal["user", "assistant"]
"""Who speaks. The system turn is the conversation's instruction."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: videos, then images, then text.

    Attributes:
        role: who speaks.
        images: the images, in the order written.
        text: all texts of the turn, joined with nothing between.
        videos: the videos, in the order written.
    """

    role: Role
    images: tuple[MediaItem, ...] = ()
    text: str = ""
    videos: tuple[Video, ...] = ()

    @classmethod
    def of_parts(cls, role: Role, parts: Iterable[MediaItem | Video | str]) -> "Turn":
        """Put videos and images first and join the texts with nothing between, whatever order was written.

        Returns:
            The turn.

        Source: docs/notes/qwen3-vl-embedding.md: all videos, then all images, then all texts.
        """
        texts: list[str] = []
        images: list[MediaItem] = []
        videos: list[Video] = []
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, Video):
                videos.append(part)
            else:
                images.append(part)
        return cls(role, tuple(images), "".join(texts), tuple(videos))


@dataclass(frozen=True, slots=True)
class Conversation:
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
