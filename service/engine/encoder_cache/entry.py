"""One image's features in a tier, and what they are worth there. Data only; plain Python."""

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
        cost: of making them again, see `cost.py`.
        frequency: how often they were wanted, at most `MAX_FREQUENCY`.
        priority: the clock of the tier at their last use, plus their density.
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

    @property
    def benefit(self) -> float:
        """What keeping them saves: frequency × cost."""
        return self.frequency * self.cost

    @property
    def density(self) -> float:
        """Benefit per byte: frequency × cost / bytes."""
        return self.benefit / max(1, self.num_bytes)

    def use(self, num_uses: int = 1) -> None:
        """Count uses."""
        self.frequency = min(MAX_FREQUENCY, self.frequency + num_uses)
