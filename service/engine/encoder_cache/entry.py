"""One image's features in a tier, and what they are worth there: by use, and by the cost of making them again.

Costs are in tokens of a small image. They are estimated and not measured: only ratios matter, one image's time on a
busy machine is mostly noise, and the same images in the same order then always leave the same cache.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_FREQUENCY = 8
"""Uses beyond this count no more, so that what was popular once can be overtaken."""


@dataclass(slots=True, eq=False)
class Entry(Generic[T]):
    """Features that are kept, wherever they are.

    Attributes:
        key: level-1 content key.
        kept: the features, or what the host tier has of them.
        num_bytes: what they take where they are.
        tenant: whose they are; empty for all who send no key.
        cost: of making them again.
        frequency: how often they were wanted, at most `MAX_FREQUENCY`.
        priority: the clock of the tier at their last use, plus frequency × cost / bytes: what a byte of them saves.
        seconds: that making them took, as measured, or as estimated where another process made them.
        since_s: when they came into the tier, on the tier's clock.
        used_at: the tier's count of uses at their last one: of equals the least recently used goes first.
    """

    key: bytes
    kept: T
    num_bytes: int
    tenant: str
    cost: float
    frequency: int = 1
    priority: float = 0.0
    used_at: int = 0
    seconds: float = 0.0
    since_s: float = 0.0


NUM_EVEN_TOKENS = 1536
"""Visual tokens at which attention costs the vision tower as much as all that is linear in them.

A layer of width d takes 24 d² operations for each patch, and 4 d for each pair of patches: equal at 6 d patches. Four
patches make a token, and d is 1024 in Qwen3-VL's tower.
"""
READ_COST = 0.02
"""Of a token that came as features: read and copied, not computed."""


def encode_cost(num_tokens: int) -> float:
    """Cost of the vision tower for n visual tokens: n + n² / 1536."""
    return num_tokens + num_tokens * num_tokens / NUM_EVEN_TOKENS


def read_cost(num_tokens: int) -> float:
    """Cost of having n rows of features sent again: n / 50."""
    return READ_COST * num_tokens
