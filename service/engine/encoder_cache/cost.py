"""Cost of making features again, in tokens of a small image. An estimate: plain Python, no clock.

Estimated and not measured: only ratios matter, one image's time on a busy machine is mostly noise, and the same
images in the same order then always leave the same cache.
"""

from service.ipc.messages import Media, PixelSlot

NUM_EVEN_TOKENS = 1536
"""Visual tokens at which attention costs the vision tower as much as all that is linear in them.

A layer of width d takes 24 d² operations for each patch, and 4 d for each pair of patches: equal at 6 d patches. Four
patches make a token, and d is 1024 in Qwen3-VL's tower.
"""
BYTES_PER_TOKEN = 6_144
"""Pixels that one visual token of Qwen3-VL stands for: two frames of 32 x 32, three bytes each."""
READ_COST = 0.02
"""Of a token that came as features: read and copied, not computed."""


def encode_tokens(media: Media, slot: PixelSlot) -> int:
    """Tokens that a round of images counts for one: its own, but no fewer than its pixels would be elsewhere.

    A tower that gives a whole image as one token works no less for that.
    """
    return media.num_tokens if media.dtype else max(media.num_tokens, slot.num_bytes // BYTES_PER_TOKEN)


def encode_cost(num_tokens: int) -> float:
    """Cost of the vision tower for n visual tokens: n + n² / 1536."""
    return num_tokens + num_tokens * num_tokens / NUM_EVEN_TOKENS


def read_cost(num_tokens: int) -> float:
    """Cost of having n rows of features sent again: n / 50."""
    return READ_COST * num_tokens
