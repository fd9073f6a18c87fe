"""What the engine is given of one input: token ids and where its images stand. Data only."""

from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from service.media.item import MediaItem


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A run of `image_pad` tokens, of a pair of frames `video_pad`, of audio `audio_pad`, that its features replace.

    Attributes:
        offset: index of the first of them in the prompt.
        length: how many: the image's visual tokens.
        grid_thw: the image's patches, (1, rows, columns).
        item: the image.
    """

    offset: int
    length: int
    grid_thw: tuple[int, int, int]
    item: MediaItem


class ChunkSpan(NamedTuple):
    """The tokens of a prompt whose mean is the vector of one chunk of a text.

    Attributes:
        first: the first of them.
        stop: after the last.
        num_tokens: of the chunk itself: what the model wants around a text may be among those above.
        truncated: whether the chunk was cut to fit.
    """

    first: int
    stop: int
    num_tokens: int
    truncated: bool


class Prompt(msgspec.Struct, frozen=True, gc=False):
    """One input as tokens. No dataclass: a frozen one takes twelve times as long to make.

    Attributes:
        token_ids: head, template, text, placeholders and tail, in order.
        placeholders: one per image, in order.
        truncated: whether text was cut to fit.
        num_hidden: tokens at the end that no token attends to: a query's filling in late interaction.
        dropped: places of tokens whose vectors are not given, ascending, where each token has one.
        is_looked_up: its vector is made of its tokens' own weights, and the model does not run.
        spans: with late chunking the chunks that have a vector of it, ascending; else empty.
    """

    token_ids: list[int]
    placeholders: tuple[Placeholder, ...]
    truncated: bool
    num_hidden: int = 0
    dropped: tuple[int, ...] = ()
    is_looked_up: bool = False
    spans: tuple[ChunkSpan, ...] = ()

    @property
    def pooled(self) -> tuple[tuple[int, int], ...]:
        """The places of tokens that have a vector together; empty where all of them have one, as a lone chunk's do."""
        if len(self.spans) == 1 and self.spans[0][:2] == (0, len(self.token_ids)):
            return ()
        return tuple((span.first, span.stop) for span in self.spans)

    @property
    def num_image_tokens(self) -> int:
        """Placeholders of what is seen: an audio file has one, and is not."""
        return sum(place.length for place in self.placeholders if place.item.kind != "audio")
