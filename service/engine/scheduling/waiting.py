"""The scheduler's data: requests that wait, the media that they need encoded, and the steps that the loop runs."""

from collections.abc import Container
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from service.ipc.messages import Media, PixelSlot, Request

T = TypeVar("T")


class Waiting(msgspec.Struct, Generic[T], eq=False):
    """A request in the engine, with its features and the requests that were coalesced with it.

    The request owns its features from the moment they exist, so an eviction can never take them away. Coalesced
    requests hold none: they wait for the first.
    """

    request: Request
    arrived_s: float
    features: list[T | None]
    num_media_tokens: int = 0
    """Placeholder tokens of its media, as the scheduler counts them."""
    num_hits: int = 0
    num_misses: int = 0
    is_spared: bool = False
    """No forward runs for it alone: its vector is kept, or it joined another request."""
    digest: bytes = b""
    """Of its prompt; empty when its forward may not be shared."""
    joined: list["Waiting[T]"] = []

    @property
    def group(self) -> list["Waiting[T]"]:
        """All requests for this prompt, the first one first."""
        return [self, *self.joined]

    def leave(self, gone: Container[int]) -> bool:
        """Drop the requests with these ids, and return whether any is left.

        When the first one goes, the next takes its place, with the hits and misses of the features that it inherits.
        """
        self.joined = [one for one in self.joined if one.request.id not in gone]
        if self.request.id not in gone:
            return True
        if not self.joined:
            return False
        heir = self.joined.pop(0)
        self.request, self.arrived_s = heir.request, heir.arrived_s
        return True


@dataclass(slots=True, eq=False)
class Encode(Generic[T]):
    """Media to be encoded once, and every request that waits for it (single flight).

    Attributes:
        tenant: of all who wait, since content keys are salted by tenant.
        waiters: and which of their media it is; empty once nobody waits any more.
        seeker: the first request to want it, while shared tiers are asked: neither a hit nor a miss yet.
    """

    media: Media
    tenant: str
    waiters: list[tuple[Waiting[T], int]]
    slot: PixelSlot | None = None
    is_asked_for: bool = False
    seeker: Waiting[T] | None = None


@dataclass(frozen=True, slots=True)
class ForwardStep(Generic[T]):
    """Requests to run through the model in one batch."""

    batch: list[Waiting[T]]


@dataclass(frozen=True, slots=True)
class FeaturesStep(Generic[T]):
    """A request to be answered with features that exist."""

    waiting: Waiting[T]


@dataclass(frozen=True, slots=True)
class EncodeStep(Generic[T]):
    """Media to make features of, one after the other: by their encoder, or from features that were sent."""

    encodes: list[Encode[T]]
