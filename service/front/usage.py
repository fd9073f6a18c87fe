"""The cost of a request, counted once over its answered inputs, for answers, the log line and metrics.

Every answered input counts with all tokens of its prompt, whether it was computed or kept, and however often the
request repeats it; an input that failed counts nothing but `num_inputs`. With late chunking each window counts once,
with the tokens that it repeats of the one before.
"""

from dataclasses import dataclass

from schemas.usage import PromptTokensDetails, Usage
from service import metrics
from service.outputs.block import Vector
from service.prompt.prompt import Prompt


@dataclass(slots=True)
class InputCounts:
    """Sums over answered inputs; a stream has one for all its lines, so it holds numbers and no inputs.

    Attributes:
        num_tokens: of all prompts: text, template and media.
        num_visual_tokens: those that stand for images and for pairs of frames: the field `image_tokens` of an answer.
        num_video_tokens: of these, those that stand for pairs of frames.
        num_cached_tokens: all tokens of the inputs whose vector was there already.
        num_images: images, those that came as features too; a video's frames are none.
        num_precomputed: images that came as features.
        num_hits: images, pairs of frames and audio whose features were there already.
    """

    num_tokens: int = 0
    num_visual_tokens: int = 0
    num_video_tokens: int = 0
    num_audio_tokens: int = 0
    num_cached_tokens: int = 0
    num_images: int = 0
    num_precomputed: int = 0
    num_hits: int = 0
    num_misses: int = 0
    num_truncated: int = 0

    def add(self, prompt: Prompt, vector: Vector) -> None:
        """Count an input that has its vector."""
        num_tokens = len(prompt.plan.ids)
        self.num_tokens += num_tokens
        self.num_hits += vector.num_hits
        self.num_misses += vector.num_misses
        if vector.is_cached:
            self.num_cached_tokens += num_tokens
        if prompt.chunks:
            self.num_truncated += sum(one.truncated for one in prompt.chunks)
        elif prompt.truncated:
            self.num_truncated += 1
        for placeholder in prompt.placeholders:
            kind = placeholder.item.kind
            if kind == "audio":
                self.num_audio_tokens += placeholder.length
            else:
                self.num_visual_tokens += placeholder.length
                self.num_images += kind == "image"
                self.num_video_tokens += placeholder.length if kind == "video" else 0
            self.num_precomputed += placeholder.item.dtype is not None

    def include(self, other: "InputCounts") -> None:
        """Count what another has counted."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def usage(self, num_inputs: int) -> Usage:
        """`usage` of an answer in JSON, and of a stream's last line; `num_inputs` counts those that failed too."""
        return Usage(
            prompt_tokens=self.num_tokens,
            total_tokens=self.num_tokens,
            prompt_tokens_details=PromptTokensDetails(
                text_tokens=self.num_tokens - self.num_visual_tokens - self.num_audio_tokens,
                image_tokens=self.num_visual_tokens - self.num_video_tokens,
                video_tokens=self.num_video_tokens,
                audio_tokens=self.num_audio_tokens,
                cached_tokens=self.num_cached_tokens,
            ),
            num_inputs=num_inputs,
            image_tokens=self.num_visual_tokens,
            encoder_cache_hits=self.num_hits,
            encoder_cache_misses=self.num_misses,
            precomputed_images=self.num_precomputed,
            truncated_inputs=self.num_truncated,
        )

    def observe(self) -> None:
        """Add these inputs to the metrics, once: a request's when it is answered, a stream's group by group."""
        metrics.PRECOMPUTED.inc(self.num_precomputed)
        metrics.TRUNCATED.inc(self.num_truncated)
