"""What waits in the engine: requests, and the pictures that they need encoded. Data only; plain Python."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from service.ipc.messages import Media, PixelSlot, Request

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Waiting(Generic[T]):
    """A request on its way, and the features that it holds on to.

    The request owns its features from the moment they exist, so an eviction can never take them away from it.
    """

    request: Request
    arrived_s: float
    features: list[T | None]
    num_hits: int = 0
    num_misses: int = 0

    @property
    def is_ready(self) -> bool:
        """Whether every picture has its features."""
        return all(feature is not None for feature in self.features)


@dataclass(slots=True, eq=False)
class Encode(Generic[T]):
    """One picture to be encoded once, and everyone who waits for it (single flight).

    Attributes:
        seeker: who wanted it first, while it is looked for in shared tiers: neither hit nor miss yet.
    """

    media: Media
    slot: PixelSlot | None
    waiters: list[tuple[Waiting[T], int]] = field(default_factory=list)
    is_asked_for: bool = False
    seeker: Waiting[T] | None = None

    @property
    def needs_pixels(self) -> bool:
        """Whether it can be encoded only once somebody sends its pixels."""
        return self.slot is None and self.seeker is None

    @property
    def tenant(self) -> str:
        """Whose it is: keys are salted, so all who wait are of one tenant."""
        return self.waiters[0][0].request.tenant
