"""The prompt of one input, as the engine gets it: token ids and where its images stand. Data only."""

from dataclasses import dataclass

import msgspec

from service.media.media_item import MediaItem
from service.outputs.plan import TokenPlan


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


class Prompt(msgspec.Struct, frozen=True, gc=False):
    """One input as tokens. No dataclass: a frozen one takes twelve times as long to make.

    Attributes:
        plan: head, template, text, placeholders and tail, in order.
        placeholders: one per image, in order.
        chunks: those that have a vector of it, in order, each as its own tokens: what the model wants around a text may
            be in the mean of the first and of the last, too. Empty without late chunking.
    """

    plan: TokenPlan
    placeholders: tuple[Placeholder, ...]
    truncated: bool
    chunks: tuple["Prompt", ...] = ()

    @property
    def num_image_tokens(self) -> int:
        """Placeholders of what is seen: an audio file has one, and is not."""
        return sum(place.length for place in self.placeholders if place.item.kind != "audio")
