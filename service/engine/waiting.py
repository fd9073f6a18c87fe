"""What waits in the engine: requests, and the pictures that they need encoded. Data only; plain Python."""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from service.ipc.messages import Media, PixelSlot, Request

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Waiting(Generic[T]):
    """A request on its way, the features that it holds on to, and its twins: others who asked for the same prompt.

    The request owns its features from the moment they exist, so an eviction can never take them away from it. Twins
    hold none: whoever is first waits for all of them.
    """

    request: Request
    arrived_s: float
    features: list[T | None]
    num_hits: int = 0
    num_misses: int = 0
    is_spared: bool = False
    """It needs no run of its own: its vector is kept, or it is a twin."""
    digest: bytes = b""
    """Of its prompt; empty when nobody may share its run."""
    twins: list["Waiting[T]"] = field(default_factory=list)

    @property
    def everyone(self) -> list["Waiting[T]"]:
        """All who asked for this prompt, the first one first."""
        return [self, *self.twins]

    def leave(self, gone: Container[int]) -> bool:
        """Those with these ids wait no more; whether anybody is left, who then stands where the first one stood."""
        self.twins = [twin for twin in self.twins if twin.request.id not in gone]
        if self.request.id not in gone:
            return True
        if not self.twins:
            return False
        heir = self.twins.pop(0)
        self.request, self.arrived_s = heir.request, heir.arrived_s
        self.num_hits, self.num_misses = heir.num_hits, heir.num_misses
        return True

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
