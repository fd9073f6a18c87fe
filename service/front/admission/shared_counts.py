"""The counts of all fronts in one shared mapping: a row for each front, which it alone writes and all read.

There are no locks, so a front that is killed in the middle of anything holds up nobody. The price is a race: between
the check and the count of one front another may pass its own check, so a limit may be exceeded by one request of each
other front (N - 1 requests for N fronts), for as long as these run. A number is an aligned word of eight bytes, written
and read whole.

A row has the numbers of `SERVICE_WIDE`, and a table by a 64-bit hash of all other names, in buckets of `NUM_WAYS`:

    service-wide  four words for each name: three counts and a time (`Shown`)
    hashes        NUM_BUCKETS x NUM_WAYS words; 0 is a free entry
    numbers       four words for each of these

An entry whose counts are 0 and whose time is over gives its place to the next name of its bucket that needs one. Where
all places are in use, the name is not shown: for that name the others no longer count this front's part, and all else
stays exact. With 1,000 names in use at once the chance of that is one in five thousand.
"""

import hashlib
import mmap
import os
import time
from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from sys import byteorder

from service.front.admission.load import Load
from service.front.admission.other_fronts import SERVICE_WIDE, Shown
from service.front.admission.shared_load import SharedLoad
from service.ipc.arena import create_shared_file

NUM_BUCKETS = 256
NUM_WAYS = 16
NUM_ENTRIES = NUM_BUCKETS * NUM_WAYS

WORD = 8
"""Bytes of a number, and of a hash."""
NUMBERS = Struct("4q")
BUCKET_BYTES = NUM_WAYS * WORD
HASHES_AT = len(SERVICE_WIDE) * NUMBERS.size
NUMBERS_AT = HASHES_AT + NUM_ENTRIES * WORD
ROW_BYTES = NUMBERS_AT + NUM_ENTRIES * NUMBERS.size
"""160 KiB."""

WIDE_AT = {name: place * NUMBERS.size for place, name in enumerate(SERVICE_WIDE)}


class SharedRows:
    """The memory of all rows, which the main process makes once and the fronts inherit.

    Attributes:
        descriptor: of the file, to be inherited.
    """

    def __init__(self, num_fronts: int) -> None:
        self.descriptor = create_shared_file(num_fronts * ROW_BYTES, "cenote-counts")
        self._memory = mmap.mmap(self.descriptor, num_fronts * ROW_BYTES)

    def clear(self, index: int) -> None:
        """Forget what a front has shown; it must have ended. The next front with this index begins with nothing."""
        _clear(self._memory, index)


class SharedCounts:
    """One front's view of the mapping: an `OtherFronts`.

    Args:
        descriptor: of `SharedRows`.
        index: of this front, from 0; no other front may have it.
        now: a monotonic clock, in seconds.
    """

    def __init__(self, descriptor: int, index: int, now: Callable[[], float] = time.monotonic) -> None:
        num_bytes = os.fstat(descriptor).st_size
        self._num_fronts = num_bytes // ROW_BYTES
        self._memory = mmap.mmap(descriptor, num_bytes)
        self._words = memoryview(self._memory).cast("q")
        self._row = index * ROW_BYTES
        self._other_rows = [row * ROW_BYTES for row in range(self._num_fronts) if row != index]
        self._now = now
        self._places: dict[bytes, int] = {}  # of own entries, from 0, by hash
        _clear(self._memory, index)

    @property
    def num_fronts(self) -> int:
        """Fronts of the service, this one included."""
        return self._num_fronts

    def load(self, name: str) -> Load:
        """A load that all fronts count in."""
        return SharedLoad(self, name)

    def show(self, name: str, first: int, second: int = 0, third: int = 0, until_ns: int = 0) -> None:
        """Show this front's counts to the others; see `OtherFronts.show`."""
        wide_at = WIDE_AT.get(name)
        if wide_at is not None:
            NUMBERS.pack_into(self._memory, self._row + wide_at, first, second, third, until_ns)
            return
        key = _hash(name)
        place = self._places.get(key)
        if place is not None:
            NUMBERS.pack_into(self._memory, self._numbers_at(place), first, second, third, until_ns)
        elif first or second or third or until_ns:
            self._enter(key, first, second, third, until_ns)

    def sums(self, name: str) -> Shown | None:
        """What the others show, added up; see `OtherFronts.sums`."""
        shown = self._shown(name)
        if len(shown) < 2:
            return shown[0] if shown else None
        first, second, third, until_ns = zip(*shown, strict=True)
        return sum(first), sum(second), sum(third), max(until_ns)

    def latest(self, name: str) -> Shown | None:
        """What the front with the latest time shows; see `OtherFronts.latest`."""
        return max(self._shown(name), key=lambda one: one[3], default=None)

    def _shown(self, name: str) -> list[Shown]:
        """What the others show, one by one."""
        memory, wide_at = self._memory, WIDE_AT.get(name)
        if wide_at is not None:
            return [NUMBERS.unpack_from(memory, row + wide_at) for row in self._other_rows]
        key, shown = _hash(name), []
        begin = HASHES_AT + key[0] * BUCKET_BYTES
        for row in self._other_rows:
            at = memory.find(key, row + begin, row + begin + BUCKET_BYTES)
            if at >= 0:
                place = (at - row - HASHES_AT) // WORD
                one = NUMBERS.unpack_from(memory, row + NUMBERS_AT + place * NUMBERS.size)
                if memory[at : at + WORD] == key:  # else it was freed meanwhile, and these may be another name's
                    shown.append(one)
        return shown

    def _enter(self, key: bytes, first: int, second: int, third: int, until_ns: int) -> None:
        """Begin an entry, if its bucket has a free one; numbers first, so that no reader finds older ones."""
        place = self._free_place(key)
        if place is not None:
            self._places[key] = place
            NUMBERS.pack_into(self._memory, self._numbers_at(place), first, second, third, until_ns)
            self._words[self._hash_word(place)] = int.from_bytes(key, byteorder, signed=True)

    def _free_place(self, key: bytes) -> int | None:
        """A place of a key's bucket that was never used, or is over."""
        begin = key[0] * NUM_WAYS
        for place in range(begin, begin + NUM_WAYS):
            if not self._words[self._hash_word(place)]:
                return place
        now_ns = self._now() * 1e9
        for place in range(begin, begin + NUM_WAYS):
            *counts, until_ns = NUMBERS.unpack_from(self._memory, self._numbers_at(place))
            if not any(counts) and until_ns <= now_ns:
                self._leave(place)
                return place
        return None

    def _leave(self, place: int) -> None:
        word = self._hash_word(place)
        del self._places[self._words[word].to_bytes(WORD, byteorder, signed=True)]
        self._words[word] = 0

    def _hash_word(self, place: int) -> int:
        return (self._row + HASHES_AT) // WORD + place

    def _numbers_at(self, place: int) -> int:
        return self._row + NUMBERS_AT + place * NUMBERS.size


@lru_cache(maxsize=2 * NUM_ENTRIES)
def _hash(name: str) -> bytes:
    """Eight bytes, the first of which is the bucket's; two of a million names share them once in 37 million."""
    return hashlib.blake2b(name.encode(), digest_size=WORD).digest()


def _clear(memory: mmap.mmap, index: int) -> None:
    begin = index * ROW_BYTES
    memory[begin : begin + ROW_BYTES] = bytes(ROW_BYTES)  # hashes come first: nobody finds numbers that are gone
