"""What one model family needs to be told apart from another: data, and one pure function for its layout.

Knows no route and no request. `detect.load_profile` makes profiles; everything else only reads them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from service.media.resize import PixelRule
from service.media.video_rule import VideoRule
from service.prompt.conversation import Conversation
from service.prompt.piece import Piece

Modality = Literal["text", "image", "video"]
Pooling = Literal["last_token"]


class UnsupportedModelError(Exception):
    """A checkpoint that this release cannot serve rightly. Raised at start, never for a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialTokens:
    """Ids of the tokens that build a prompt. Always read from the checkpoint."""

    im_start: int
    im_end: int
    vision_start: int
    vision_end: int
    image_pad: int
    """One per visual token of a picture; its embedding is replaced by the vision tower's output."""
    video_pad: int
    """The same for a pair of a video's frames."""
    end_of_text: int
    """What a Qwen3-VL-Embedding tokenizer appends, and so the token that is pooled."""

    def pad_of(self, num_frames: int) -> int:
        """The placeholder of a picture (1 frame) or of a pair of a video's frames (2)."""
        return self.image_pad if num_frames == 1 else self.video_pad


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How one checkpoint is fed and read.

    Source: DESIGN.md section 4, reference/qwen3-vl-embedding.md.
    """

    name: str
    """Name of the family."""
    default_instruction: str
    """The system turn when a request gives no instruction."""
    query_instruction: str
    """The system turn for `search_query`."""
    input_types: Mapping[str, str]
    """Instruction by Cohere's `input_type`, and by each name among the checkpoint's own prompts."""
    pooling: Pooling
    normalize: bool
    dimensions: int
    """Length of the full vector: the language model's hidden size."""
    feature_width: int
    """Numbers of one visual token's features: hidden size · (1 + deepstack layers)."""
    min_dimensions: int
    """Shortest prefix offered."""
    matryoshka: tuple[int, ...] | None
    """The lengths offered, ascending; None: any from `min_dimensions` to `dimensions`."""
    pixel_rule: PixelRule
    video_rule: VideoRule | None = None
    """Which frames of a video are seen, and how large; None: the model takes no video."""
    max_tokens: int
    """Longest prompt, visual tokens included."""
    tokens: SpecialTokens
    modalities: tuple[Modality, ...]
    layout: Callable[["Profile", Conversation], Sequence[Piece]]
    """The family's template: a conversation as text, special tokens and pictures, in order."""
    add_generation_prompt: bool = True
    """Default of the request's flag of the same name."""
    continue_final_message: bool = False
    """Default of the request's flag of the same name."""
    add_special_tokens: bool = True
    """Default of the request's flag of the same name."""

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
