"""What one model family needs to be told apart from another: data, and one pure function for its layout.

Knows no route and no request. A family's page makes profiles (`families/`); everything else only reads them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from service.media.picture_rule import PictureRule
from service.media.reading import Background
from service.media.sound_rule import SoundRule
from service.media.video_rule import VideoRule
from service.prompt.conversation import Conversation
from service.prompt.piece import Piece

Modality = Literal["text", "image", "video", "audio"]
Pooling = Literal["last_token", "mean", "cls", "multi_vector"]
MULTI_VECTOR: Literal["multi_vector"] = "multi_vector"
"""No pooling: each token of a prompt has a vector, for late interaction."""


class UnsupportedModelError(Exception):
    """A checkpoint that this release cannot serve rightly. Raised at start, never for a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureProfile:
    """How a model that sees pictures is fed with them."""

    pixel_rule: PictureRule
    background: Background | None = None
    """What shows where a picture is transparent, where neither request nor server says; None: see `Reading`."""
    feature_width: int
    """Numbers of one visual token's features: hidden size · (1 + deepstack layers)."""
    image_pad: int
    """One per visual token of a picture; its embedding is replaced by the vision tower's output."""
    video_pad: int
    """Likewise, of a pair of a video's frames."""
    video_rule: VideoRule | None = None
    """Which frames of a video are seen, and how large; None: the model takes no video."""

    @property
    def media_tokens(self) -> tuple[int, ...]:
        """Tokens that stand for media, and that no text may hold."""
        return (self.image_pad, self.video_pad)

    def pad_of(self, num_frames: int) -> int:
        """The placeholder of a picture (1 frame) or of a pair of a video's frames (2)."""
        return self.image_pad if num_frames == 1 else self.video_pad


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundProfile:
    """How a model that hears is fed with sounds."""

    rule: SoundRule
    audio_pad: int
    """The placeholder of a sound; its features are the sound's final vector."""


@dataclass(frozen=True, slots=True)
class Padding:
    """Tokens behind every text, where the model attends to them.

    Attributes:
        token_id: what they are.
        num_tokens: length that a text is brought to.
    """

    token_id: int
    num_tokens: int

    def fill(self, token_ids: Sequence[int]) -> list[int]:
        """The tokens, padded."""
        return [*token_ids, *[self.token_id] * (self.num_tokens - len(token_ids))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How one checkpoint is fed and read.

    Source: DESIGN.md section 4, reference/qwen3-vl-embedding.md.
    """

    name: str
    """Name of the family."""
    architecture: str
    """Which code of the engine runs it: a key of `service.model.architectures`."""
    default_instruction: str | None
    """What a request that gives no instruction has; None: nothing."""
    input_types: Mapping[str, str]
    """Instruction by Cohere's `input_type`, and by each name among the checkpoint's own prompts."""
    pooling: Pooling
    normalize: bool
    dimensions: int
    """Length of the full vector."""
    min_dimensions: int
    """Shortest prefix offered."""
    matryoshka: tuple[int, ...] | None
    """The lengths offered, ascending; None: any from `min_dimensions` to `dimensions`."""
    max_tokens: int
    """Longest prompt, visual tokens included."""
    modalities: tuple[Modality, ...]
    pictures: PictureProfile | None
    """None: the model sees no pictures."""
    sounds: SoundProfile | None = None
    """None: the model hears nothing."""
    takes_instructions: bool = True
    """Whether a request may say what the vectors are for."""
    mixes: bool = True
    """Whether a text and pictures may stand together in one item, where the model sees pictures at all."""
    protected: tuple[int, ...]
    """Special tokens of the template, which a client's text must never become."""
    layout: Callable[[Conversation], Sequence[Piece]]
    """The family's template: a conversation as text, special tokens and pictures, in order."""
    add_special_tokens: bool = True
    """Default of the request's flag of the same name."""
    lower_case: bool = False
    """Make texts lower case before the tokenizer sees them."""
    padding: Padding | None = None
    """What texts are padded to; None: to nothing."""
    expected_tail: int | None = None
    """The token that tokenizers of this family are understood to append; one that does not is warned of."""

    @property
    def media_tokens(self) -> tuple[int, ...]:
        """Tokens that stand for media; none for a model of text."""
        seen = self.pictures.media_tokens if self.pictures else ()
        return (*seen, self.sounds.audio_pad) if self.sounds else seen

    def pad_of(self, num_frames: int) -> int:
        """The placeholder of a picture (1 frame), a pair of a video's frames (2), or a sound (0)."""
        if num_frames:
            assert self.pictures is not None  # a layout has pictures where the profile has
            return self.pictures.pad_of(num_frames)
        assert self.sounds is not None  # likewise
        return self.sounds.audio_pad

    def offers(self, dimensions: int) -> bool:
        """Tell whether a vector may be cut to this length.

        Args:
            dimensions: the length asked for.

        Returns:
            True when the length is among those offered.
        """
        if self.matryoshka is not None:
            return dimensions in self.matryoshka
        return self.min_dimensions <= dimensions <= self.dimensions
