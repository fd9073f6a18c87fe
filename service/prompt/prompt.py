"""What the engine is given of one input: token ids and where its pictures stand. Data only."""

from dataclasses import dataclass

from service.media.picture import Picture


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A run of `image_pad` tokens, of a pair of frames `video_pad`, of a sound `audio_pad`, that its features replace.

    Attributes:
        offset: index of the first of them in the prompt.
        length: how many: the picture's visual tokens.
        grid_thw: the picture's patches, (1, rows, columns).
        item: the picture.
    """

    offset: int
    length: int
    grid_thw: tuple[int, int, int]
    item: Picture


@dataclass(frozen=True, slots=True)
class Prompt:
    """One input as tokens.

    Attributes:
        token_ids: head, template, text, placeholders and tail, in order.
        placeholders: one per picture, in order.
        num_text_tokens: all tokens that are not placeholders: the template's count too.
        truncated: whether text was cut to fit.
    """

    token_ids: list[int]
    placeholders: tuple[Placeholder, ...]
    num_text_tokens: int
    truncated: bool

    @property
    def num_image_tokens(self) -> int:
        """Placeholders of what is seen: a sound has one, and is not."""
        return sum(place.length for place in self.placeholders if place.item.num_frames)
