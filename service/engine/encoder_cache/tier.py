"""One tier: a byte-bounded map that keeps what is worth most for its bytes. Knows no tensors and no other tier.

Worth is frequency × cost. What goes first is what is worth least per byte, and a clock makes worth fade: an entry's
priority is the clock at its last use plus its density. The clock rises only with entries that were seen before and find
no free room: they are the sign that other images are wanted now, and a passing scan is not. (In the source it jumps
to the priority of each entry that goes; then whatever comes next is always worth more than what is there.) A tenant by
name never holds more than its share: past that its own go first.

Source: L. Cherkasova, "Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching", HPL-98-69.
"""

import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from service.engine.encoder_cache.entry import Entry
from service.engine.encoder_cache.value_heap import ValueHeap
from service.ipc.reports import TierName, TierReport

T = TypeVar("T")

MIN_GAIN = 1 / 0.6
"""How much more a new entry must be worth than all that it pushes out: what is there has proved itself where it is."""
FADING = 1 / 8
"""How far the clock rises when what was seen before finds no free room: this part of its density, over the entries.

Higher follows a new set of images sooner, lower keeps more of a collection that is gone through again and again.
"""


class Tier(Generic[T]):
    """A map from content key to entry, never above its cap.

    Attributes:
        max_bytes: the cap; 0 keeps nothing.
        max_tenant_bytes: most bytes of one tenant; requests without a tenant's name may use all.
        num_bytes: what the entries weigh now.
        num_hits: entries that were asked for and there.
        num_misses: entries that were asked for and not there.
        num_evictions: entries pushed out since the start.
        num_rejected: entries not let in since the start.
        saved_s: what making the entries took that were asked for and there, once for each time.
    """

    def __init__(self, max_bytes: int, tenant_share: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.max_bytes = max_bytes
        self.max_tenant_bytes = int(max_bytes * tenant_share)
        self.num_bytes = 0
        self.num_hits = self.num_misses = self.num_evictions = self.num_rejected = 0
        self.saved_s = 0.0
        self._now_s = clock
        self._ages_s: list[float] = []
        self._clock = 0.0
        self._num_uses = 0
        self._entries: dict[bytes, Entry[T]] = {}
        self._heap: ValueHeap[T] = ValueHeap()
        self._tenants: dict[str, ValueHeap[T]] = {}
        self._tenant_bytes: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: bytes) -> bool:
        return key in self._entries

    def __getitem__(self, key: bytes) -> Entry[T]:
        return self._entries[key]

    def use(self, key: bytes) -> Entry[T] | None:
        """The entry under `key`, used once more; None on a miss."""
        entry = self._entries.get(key)
        if entry is None:
            self.num_misses += 1
            return None
        self.num_hits += 1
        self.saved_s += entry.seconds
        entry.use()
        self._rank(entry)
        return entry

    def tenant_bytes(self, tenant: str) -> int:
        """What a tenant holds now."""
        return self._tenant_bytes.get(tenant, 0)

    def make_room(self, new: Entry[T]) -> list[Entry[T]] | None:
        """Push out what a new entry needs the room of, if it is worth more than that.

        Args:
            new: not in the tier; its `num_bytes` are what it will take here.

        Returns:
            What has gone; None when the entry is not let in, and then nothing has gone.
        """
        victims = self._weigh_against(new)
        if new.frequency > 1 and victims != []:
            self._clock += FADING * new.density / max(1, len(self._entries))
        if victims is None:
            self.num_rejected += 1
            return None
        for victim in victims:
            del self._entries[victim.key]
        self._evicted(victims)
        return victims

    def add(self, entry: Entry[T]) -> None:
        """Add an entry; `make_room` has made room for it."""
        entry.since_s = self._now_s()
        self._rank(entry)
        self._entries[entry.key] = entry
        self._list(entry)
        assert self.num_bytes <= self.max_bytes  # `make_room` comes before

    def remove(self, key: bytes) -> Entry[T]:
        """Take an entry out, which is no eviction."""
        entry = self._entries.pop(key)
        self._unlist(entry)
        return entry

    def clear(self) -> None:
        """Push everything out."""
        self._evicted([self.remove(key) for key in list(self._entries)])

    def report(self, tier: TierName) -> TierReport:
        """The tier as it is now, and the ages of what has gone since this was last asked."""
        ages_s, self._ages_s = self._ages_s, []
        return TierReport(
            tier=tier,
            num_hits=self.num_hits,
            num_misses=self.num_misses,
            num_bytes=self.num_bytes,
            num_entries=len(self._entries),
            num_evictions=self.num_evictions,
            num_rejected=self.num_rejected,
            evicted_after_s=tuple(ages_s),
        )

    def _evicted(self, entries: Iterable[Entry[T]]) -> None:
        now_s = self._now_s()
        ages_s = [now_s - entry.since_s for entry in entries]
        self._ages_s += ages_s
        self.num_evictions += len(ages_s)

    def _weigh_against(self, new: Entry[T]) -> list[Entry[T]] | None:
        """Take the least valuable off the lists until `new` fits; all back on, when together they are worth more."""
        most = self.max_tenant_bytes if new.tenant else self.max_bytes
        if new.num_bytes > most:
            return None
        victims: list[Entry[T]] = []
        worth = 0.0
        while (is_share := self.tenant_bytes(new.tenant) + new.num_bytes > most) or (
            self.num_bytes + new.num_bytes > self.max_bytes
        ):
            victim = (self._tenants[new.tenant] if is_share else self._heap).least()
            worth += max(0.0, victim.priority - self._clock) * victim.num_bytes
            self._unlist(victim)
            victims.append(victim)
            if worth * MIN_GAIN > new.benefit:
                for each in victims:
                    self._list(each)
                return None
        return victims

    def _rank(self, entry: Entry[T]) -> None:
        self._num_uses += 1
        entry.used_at = self._num_uses
        entry.priority = self._clock + entry.density

    def _list(self, entry: Entry[T]) -> None:
        self._heap.push(entry)
        self._tenants.setdefault(entry.tenant, ValueHeap()).push(entry)
        self._tenant_bytes[entry.tenant] = self.tenant_bytes(entry.tenant) + entry.num_bytes
        self.num_bytes += entry.num_bytes

    def _unlist(self, entry: Entry[T]) -> None:
        self._heap.discard(entry)
        own = self._tenants[entry.tenant]
        own.discard(entry)
        self._tenant_bytes[entry.tenant] -= entry.num_bytes
        self.num_bytes -= entry.num_bytes
        if not own:  # tenants that have left take no memory
            del self._tenants[entry.tenant], self._tenant_bytes[entry.tenant]
