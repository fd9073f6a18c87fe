"""Content key to vision features, in two tiers: on the device, and behind it in host memory. Knows no tensors.

What leaves the device goes to the host if it is worth its room there; what is found there is copied back, and moves up
if it is worth more than what it would push down. Both tiers are bounded in bytes, at every moment of a move: features
are copied down before others take their place, and room is made before anything is taken in. A miss is never an error.
Where the device is the CPU there is no second tier: it would be the same memory twice.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from service.engine.encoder_cache.tier import MAX_FREQUENCY, Entry, Tier
from service.ipc.reports import CacheReport, TierReport

T = TypeVar("T")

MAX_GHOSTS = 8192
"""Ghosts: keys of features that are not kept, and how often they were wanted, to tell reuse from a passing scan.

Source: the ghost lists of N. Megiddo and D. Modha, "ARC", FAST 2003.
"""


class HostMemory(Protocol[T]):
    """Where features are when they are not on the device."""

    def num_bytes_of(self, num_bytes: int) -> int:
        """Number of bytes that features of `num_bytes` take there."""
        ...

    def store(self, features: T) -> Any | None:
        """A copy of features; None where there is no memory for it."""
        ...

    def load(self, stored: Any) -> T:
        """A copy on the device of what `store` gave."""
        ...

    def free(self, stored: Any) -> None:
        """Give back what `store` gave."""
        ...


@dataclass(frozen=True, slots=True)
class Stored:
    """Features as the host tier stores them.

    Attributes:
        copy: what `HostMemory.store` gave.
        num_bytes: what the features take on the device.
    """

    copy: Any
    num_bytes: int


class EncoderCache(Generic[T]):
    """Features by content key. What one tenant holds in each tier is bounded, too, but for those without a name.

    Attributes:
        device: the tier whose features can be used as they are.
        host: the tier behind it; it keeps nothing where there is no host memory.
        spared_s: seconds that were saved without asking a tier.
        has_changed: something may be new since the last report.
    """

    def __init__(
        self,
        max_bytes: int,
        tenant_share: float = 1.0,
        *,
        host_memory: HostMemory[T] | None = None,
        max_host_bytes: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.device: Tier[T] = Tier(max_bytes, tenant_share, clock)
        self.host: Tier[Stored] = Tier(0 if host_memory is None else max_host_bytes, tenant_share, clock)
        self.spared_s = 0.0
        self.has_changed = False
        self._memory = host_memory
        self._ghosts: OrderedDict[bytes, int] = OrderedDict()

    def __contains__(self, key: bytes) -> bool:
        return key in self.device.entries or key in self.host.entries

    def get(self, key: bytes) -> T | None:
        """The features under `key`, used once more; None on a miss."""
        self.has_changed = True
        entry = self.device.use(key)
        if entry is not None:
            return entry.kept
        if self._memory is None:
            return None
        below = self.host.use(key)
        if below is None:
            return None
        features = self._memory.load(below.kept.copy)
        self._promote(below, features)
        return features

    def put(
        self,
        key: bytes,
        features: T,
        num_bytes: int,
        tenant: str = "",
        *,
        cost: float | None = None,
        num_uses: int = 1,
        seconds: float = 0.0,
    ) -> bool:
        """Keep features that are worth it, in either tier, or return False; with room to spare all are.

        They take the place of others under `key`. The `cost` of making them again is their bytes when not given.
        """
        self.has_changed = True
        if key in self.device.entries:
            self.device.remove(key)
        if key in self.host.entries:
            self._free(self.host.remove(key))
        frequency = min(MAX_FREQUENCY, self._ghosts.pop(key, 0) + num_uses)
        new = Entry(key, features, num_bytes, tenant, num_bytes if cost is None else cost, frequency, seconds=seconds)
        victims = self.device.make_room(new)
        if victims is None:
            return self._demote(new)
        while victims:  # one by one, so that each is free on the device when the next one moves
            self._demote(victims.pop(0))
        self.device.add(new)
        return True

    def clear(self) -> None:
        """Let everything on the device go: its memory is needed. What the host has stays."""
        self.has_changed = True
        self.device.clear()

    def report(self, *behind: TierReport) -> CacheReport:
        """The cache as it is now, and the ages of what was evicted since this was last asked."""
        self.has_changed = False
        device = self.device.report("device")
        return CacheReport(
            num_entries=device.num_entries,
            num_bytes=device.num_bytes,
            num_evictions=device.num_evictions,
            saved_s=self.spared_s + self.device.saved_s + self.host.saved_s,
            tiers=(device, *(() if self._memory is None else (self.host.report("host"),)), *behind),
        )

    def _promote(self, below: Entry[Stored], features: T) -> None:
        num_bytes = below.kept.num_bytes
        new = Entry(below.key, features, num_bytes, below.tenant, below.cost, below.frequency, seconds=below.seconds)
        victims = self.device.make_room(new)
        if victims is None:
            return
        self._free(self.host.remove(below.key))
        while victims:  # as in `put`
            self._demote(victims.pop(0))
        self.device.add(new)

    def _demote(self, entry: Entry[T]) -> bool:
        """Copy an entry down; False when it is not worth its room there, and is gone but for a memory of its key."""
        if self._memory is not None:
            num_bytes = self._memory.num_bytes_of(entry.num_bytes)
            below = Entry(
                entry.key, Stored(None, 0), num_bytes, entry.tenant, entry.cost, entry.frequency, seconds=entry.seconds
            )
            victims = self.host.make_room(below)
            for victim in victims or ():
                self._free(victim)
                self._remember(victim)
            if victims is not None and (copy := self._memory.store(entry.kept)) is not None:
                below.kept = Stored(copy, entry.num_bytes)
                self.host.add(below)
                return True
        self._remember(entry)
        return False

    def _remember(self, gone: Entry[T] | Entry[Stored]) -> None:
        """Make a ghost of an entry, the oldest forgotten first."""
        self._ghosts[gone.key] = gone.frequency
        self._ghosts.move_to_end(gone.key)
        while len(self._ghosts) > MAX_GHOSTS:
            self._ghosts.popitem(last=False)

    def _free(self, entry: Entry[Stored]) -> None:
        assert self._memory is not None  # else nothing is ever in that tier
        self._memory.free(entry.kept.copy)
