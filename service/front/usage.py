"""What answered inputs cost: the one count that JSON, headers, streams and Cohere's form all tell.

Every answered input counts with all tokens of its prompt, whether it was computed or kept, and however often the
request repeats it; an input that failed counts nothing. In: prompts and what the engine says of them. Out: `Usage`.
"""

from dataclasses import dataclass

from schemas.usage import PromptTokensDetails, Usage
from service.ipc.messages import Vector
from service.prompt.prompt import Prompt


@dataclass(slots=True)
class InputCounts:
    """Sums over answered inputs.

    Attributes:
        num_tokens: of all prompts: text, template and media.
        num_image_tokens: those that stand for images.
        num_video_tokens: those that stand for pairs of frames.
        num_audio_tokens: those that stand for audio.
        num_cached_tokens: all tokens of the inputs whose vector was there already.
        num_images: images, those that came as features too; a video's frames are none.
        num_precomputed: images that came as features.
        num_hits: images, pairs of frames and audio whose features were there already.
        num_misses: those that had to be encoded.
        num_truncated: inputs whose text was cut to fit.
    """

    num_tokens: int = 0
    num_image_tokens: int = 0
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
        num_tokens = len(prompt.token_ids)
        self.num_tokens += num_tokens
        self.num_cached_tokens += num_tokens if vector.is_cached else 0
        self.num_hits += vector.num_hits
        self.num_misses += vector.num_misses
        self.num_truncated += prompt.truncated
        if prompt.placeholders:
            self._add_media(prompt)

    def _add_media(self, prompt: Prompt) -> None:
        for place in prompt.placeholders:
            if place.item.num_frames == 1:
                self.num_images += 1
                self.num_image_tokens += place.length
            elif place.item.num_frames:
                self.num_video_tokens += place.length
            else:
                self.num_audio_tokens += place.length
            self.num_precomputed += place.item.dtype is not None

    @property
    def num_visual_tokens(self) -> int:
        """Tokens that stand for images and videos: what the field `image_tokens` of an answer counts."""
        return self.num_image_tokens + self.num_video_tokens

    def usage(self, num_inputs: int) -> Usage:
        """As the wire has it.

        Args:
            num_inputs: of the request or stream, those that failed too.
        """
        return Usage(
            prompt_tokens=self.num_tokens,
            total_tokens=self.num_tokens,
            prompt_tokens_details=PromptTokensDetails(
                text_tokens=self.num_tokens - self.num_visual_tokens - self.num_audio_tokens,
                image_tokens=self.num_image_tokens,
                video_tokens=self.num_video_tokens,
                audio_tokens=self.num_audio_tokens,
                cached_tokens=self.num_cached_tokens,
            ),
            num_inputs=num_inputs,
            image_tokens=self.num_visual_tokens,
            encoder_cache_hits=self.num_hits,
            encoder_cache_misses=self.num_misses,
            precomputed_images=self.num_precomputed,
        )
