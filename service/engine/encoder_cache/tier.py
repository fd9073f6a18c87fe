"""One tier: a byte-bounded map that keeps what is worth most for its bytes. Knows no tensors and no other tier.

Worth is frequency × cost. What goes first is what is worth least per byte, and a clock makes worth fade: an entry's
priority is the clock at its last use plus its density. The clock rises only with entries that were seen before and find
no free room: they are the sign that other images are wanted now, and a passing scan is not. (In the source it jumps
to the priority of each entry that goes; then whatever comes next is always worth more than what is there.) A tenant by
name never holds more than its share: past that its own go first.

Costs are in tokens of a small image. They are estimated and not measured: only ratios matter, one image's time on a
busy machine is mostly noise, and the same images in the same order then always leave the same cache.

Source: L. Cherkasova, "Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching", HPL-98-69.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from itertools import count
from typing import Generic, TypeVar

from service.ipc.reports import TierName, TierReport

T = TypeVar("T")

MAX_FREQUENCY = 8
"""Uses beyond this count no more, so that what was popular once can be overtaken."""
NUM_EVEN_TOKENS = 1536
"""Visual tokens at which attention costs the vision tower as much as all that is linear in them.

A layer of width d takes 24 d² operations for each patch, and 4 d for each pair of patches: equal at 6 d patches. Four
patches make a token, and d is 1024 in Qwen3-VL's tower.
"""
READ_COST = 0.02
"""Of a token that came as features: read and copied, not computed."""
MIN_GAIN = 1 / 0.6
"""Least ratio of a new entry's worth to that of all that it evicts: what is there has proved itself."""
FADING = 1 / 8
"""Rise of the clock when an entry that was seen before finds no free room: this part of its density, over the entries.

Higher follows a new set of images sooner, lower keeps more of a collection that is gone through again and again.
"""
MIN_PLACES = 64
"""Below so many places of a heap nothing is tidied."""


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


_Place = tuple[float, int, int, Entry[T]]


class ValueHeap(Generic[T]):
    """Entries by priority, least first. Each operation costs O(log n); priorities may rise while entries are in it.

    An entry's place in the heap may say less than its priority by now: that is put right when it comes up. A place
    whose entry has left is passed over, and all such places are dropped once they are the most.
    """

    def __init__(self) -> None:
        self._places: list[_Place[T]] = []
        self._current: dict[bytes, int] = {}  # key to the number of its only place that counts
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._current)

    def push(self, entry: Entry[T]) -> None:
        """Take an entry in. It must not be in already."""
        number = self._current[entry.key] = next(self._numbers)
        heappush(self._places, (entry.priority, entry.used_at, number, entry))

    def discard(self, entry: Entry[T]) -> None:
        """Let an entry go."""
        del self._current[entry.key]
        if len(self._places) > max(MIN_PLACES, 2 * len(self._current)):
            self._places = [place for place in self._places if self._counts(place)]
            heapify(self._places)

    def least(self) -> Entry[T]:
        """The entry with the least priority; of equals the least recently used. The heap must not be empty."""
        while True:
            _, used_at, number, entry = self._places[0]
            if not self._counts(self._places[0]):
                heappop(self._places)
            elif used_at < entry.used_at:
                heapreplace(self._places, (entry.priority, entry.used_at, number, entry))
            else:
                return entry

    def _counts(self, place: _Place[T]) -> bool:
        return self._current.get(place[3].key) == place[2]


class Tier(Generic[T]):
    """A map from content key to entry, never above its cap.

    Attributes:
        max_bytes: the cap; 0 keeps nothing.
        max_tenant_bytes: most bytes of one tenant; requests without a tenant's name may use all.
        tenant_bytes: what those of each tenant weigh.
        num_misses: entries that were asked for and not there.
        saved_s: what making the entries took that were asked for and there, once for each time.
    """

    def __init__(self, max_bytes: int, tenant_share: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.max_bytes = max_bytes
        self.max_tenant_bytes = int(max_bytes * tenant_share)
        self.entries: dict[bytes, Entry[T]] = {}
        self.num_bytes = 0
        self.tenant_bytes: Counter[str] = Counter()
        self.num_hits = self.num_misses = self.num_evictions = self.num_rejected = 0
        self.saved_s = 0.0
        self._now_s = clock
        self._ages_s: list[float] = []
        self._clock = 0.0
        self._num_uses = 0
        self._heap: ValueHeap[T] = ValueHeap()
        self._tenants: defaultdict[str, ValueHeap[T]] = defaultdict(ValueHeap)

    def use(self, key: bytes) -> Entry[T] | None:
        """The entry under `key`, used once more; None on a miss."""
        entry = self.entries.get(key)
        if entry is None:
            self.num_misses += 1
            return None
        self.num_hits += 1
        self.saved_s += entry.seconds
        entry.frequency = min(MAX_FREQUENCY, entry.frequency + 1)
        self._rank(entry)
        return entry

    def make_room(self, new: Entry[T]) -> list[Entry[T]] | None:
        """Push out the least valuable until a new entry fits, if it is worth more than all of them.

        Args:
            new: not in the tier; its `num_bytes` are what it will take here.

        Returns:
            The evicted keys; None when the entry is not let in, and then nothing is evicted.
        """
        most = self.max_tenant_bytes if new.tenant else self.max_bytes
        value, worth = new.frequency * new.cost, 0.0
        victims: list[Entry[T]] = []
        is_let_in = new.num_bytes <= most
        while is_let_in and (
            (is_share := self.tenant_bytes[new.tenant] + new.num_bytes > most)
            or self.num_bytes + new.num_bytes > self.max_bytes
        ):
            victim = (self._tenants[new.tenant] if is_share else self._heap).least()
            worth += max(0.0, victim.priority - self._clock) * victim.num_bytes
            self._unlist(victim)
            victims.append(victim)
            is_let_in = worth * MIN_GAIN <= value
        if new.frequency > 1 and (victims or not is_let_in):
            self._clock += FADING * (value / max(1, new.num_bytes)) / max(1, len(self.entries))
        if not is_let_in:
            for each in victims:
                self._list(each)
            self.num_rejected += 1
            return None
        for victim in victims:
            self._evict(victim)
        return victims

    def add(self, entry: Entry[T]) -> None:
        """Add an entry; `make_room` has made room for it."""
        entry.since_s = self._now_s()
        self._rank(entry)
        self.entries[entry.key] = entry
        self._list(entry)
        assert self.num_bytes <= self.max_bytes  # `make_room` comes before

    def remove(self, key: bytes) -> Entry[T]:
        """Take an entry out, which is no eviction."""
        entry = self.entries.pop(key)
        self._unlist(entry)
        return entry

    def clear(self) -> None:
        """Push everything out."""
        for entry in list(self.entries.values()):
            self._unlist(entry)
            self._evict(entry)

    def report(self, tier: TierName) -> TierReport:
        """The tier as it is now, and the ages of what was evicted since this was last asked."""
        ages_s, self._ages_s = self._ages_s, []
        return TierReport(
            tier=tier,
            num_hits=self.num_hits,
            num_misses=self.num_misses,
            num_bytes=self.num_bytes,
            num_entries=len(self.entries),
            num_evictions=self.num_evictions,
            num_rejected=self.num_rejected,
            evicted_after_s=tuple(ages_s),
        )

    def _evict(self, entry: Entry[T]) -> None:
        """Let an entry go that is on no list any more."""
        del self.entries[entry.key]
        self._ages_s.append(self._now_s() - entry.since_s)
        self.num_evictions += 1

    def _rank(self, entry: Entry[T]) -> None:
        self._num_uses += 1
        entry.used_at = self._num_uses
        entry.priority = self._clock + entry.frequency * entry.cost / max(1, entry.num_bytes)

    def _list(self, entry: Entry[T]) -> None:
        self._heap.push(entry)
        self._tenants[entry.tenant].push(entry)
        self.tenant_bytes[entry.tenant] += entry.num_bytes
        self.num_bytes += entry.num_bytes

    def _unlist(self, entry: Entry[T]) -> None:
        self._heap.discard(entry)
        own = self._tenants[entry.tenant]
        own.discard(entry)
        self.tenant_bytes[entry.tenant] -= entry.num_bytes
        self.num_bytes -= entry.num_bytes
        if not own:  # tenants that have left take no memory
            del self._tenants[entry.tenant], self.tenant_bytes[entry.tenant]


def encode_cost(num_tokens: int) -> float:
    """Cost of the vision tower for n visual tokens: n + n² / 1536."""
    return num_tokens + num_tokens * num_tokens / NUM_EVEN_TOKENS


def read_cost(num_tokens: int) -> float:
    """Cost of having n rows of features sent again: n / 50."""
    return READ_COST * num_tokens
