"""Counts of work that the fronts of one service publish: limits hold for all fronts together.

They stand in one shared mapping with a row for each front, which it alone writes and all read. One front has a mapping
with one row.

| name | counts | until |
| --- | --- | --- |
| `queue`, `queue/TENANT` | inputs, tokens, bytes under way; requests whose bodies are held | |
| `answers`, `answers/TENANT` | the same, of which large answers have bytes | |
| `rate` | tokens finished since the start; thousandths of a token per second | when that was measured |
| `MODEL/queue`, `MODEL/queue/TENANT`, `MODEL/rate` | the same of one of several models | |
| `key/SHA256` | requests of an API key under way | the time that its requests have used up |

There are no locks, so a front that is killed in the middle of anything holds up nobody. The price is a race: between
the check and the count of one front another may pass its own check, so a limit may be exceeded by one request of each
other front (N - 1 requests for N fronts), for as long as these run. A number is an aligned word of eight bytes, written
and read whole.

A row has the numbers of `SERVICE_WIDE`, and a table by a 64-bit hash of all other names, in buckets of `NUM_WAYS`:

    service-wide  five words for each name: four counts and a time (`Published`)
    hashes        NUM_BUCKETS x NUM_WAYS words; 0 is a free entry
    numbers       five words for each of these

An entry whose counts are 0 and whose time is over gives its place to the next name of its bucket that needs one. Where
all places are in use, the name is not published: for that name the others no longer count this front's part, and all
else stays exact. With 1,000 names in use at once the chance of that is one in five thousand.
"""

import hashlib
import mmap
import os
import time
from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from sys import byteorder
from typing import NamedTuple

from service.front.admission.load import Load
from service.ipc.arena import create_shared_file

SERVICE_WIDE = ("queue", "answers", "rate")
"""Names that every front has from its start to its end."""

NUM_BUCKETS = 256
NUM_WAYS = 16
NUM_ENTRIES = NUM_BUCKETS * NUM_WAYS

WORD = 8
"""Bytes of a number, and of a hash."""
NUMBERS = Struct("5q")
BUCKET_BYTES = NUM_WAYS * WORD
HASHES_AT = len(SERVICE_WIDE) * NUMBERS.size
NUMBERS_AT = HASHES_AT + NUM_ENTRIES * WORD
ROW_BYTES = NUMBERS_AT + NUM_ENTRIES * NUMBERS.size
"""192 KiB."""

WIDE_AT = {name: place * NUMBERS.size for place, name in enumerate(SERVICE_WIDE)}


class Published(NamedTuple):
    """Four counts under one name, and a time in ns on `time.monotonic`, 0 for none: one clock for a whole machine."""

    first: int = 0
    second: int = 0
    third: int = 0
    fourth: int = 0
    until_ns: int = 0


class SharedRows:
    """The memory of all rows, which the main process makes once and the fronts inherit.

    Attributes:
        descriptor: of the file, to be inherited.
    """

    def __init__(self, num_fronts: int) -> None:
        self.descriptor = create_shared_file(num_fronts * ROW_BYTES, "cenote-counts")
        self._memory = mmap.mmap(self.descriptor, num_fronts * ROW_BYTES)

    def clear(self, index: int) -> None:
        """Forget what a front has published; it must have ended. The next one with this index begins with nothing."""
        _clear(self._memory, index)


class SharedTable:
    """One front's view of the mapping; used on the event loop only.

    Args:
        memory: with a row for each front.
        index: of this front, from 0; no other front may have it.
        now: a monotonic clock, in seconds.

    Attributes:
        num_fronts: fronts of the service, this one included.
    """

    def __init__(self, memory: mmap.mmap, index: int, now: Callable[[], float] = time.monotonic) -> None:
        self.num_fronts = len(memory) // ROW_BYTES
        self._memory = memory
        self._words = memoryview(self._memory).cast("q")
        self._row = index * ROW_BYTES
        self._other_rows = [row * ROW_BYTES for row in range(self.num_fronts) if row != index]
        self._now = now
        self._places: dict[bytes, int] = {}  # of own entries, from 0, by hash
        _clear(self._memory, index)

    @classmethod
    def of_one_front(cls) -> "SharedTable":
        """A table with one row, of the only front."""
        return cls(mmap.mmap(-1, ROW_BYTES), 0)

    @classmethod
    def inherited(cls, descriptor: int, index: int, now: Callable[[], float] = time.monotonic) -> "SharedTable":
        """The table of `SharedRows`, by its descriptor."""
        return cls(mmap.mmap(descriptor, os.fstat(descriptor).st_size), index, now)

    def publish(
        self, name: str, first: int, second: int = 0, third: int = 0, fourth: int = 0, *, until_ns: int = 0
    ) -> None:
        """Show this front's counts to the others, in place of those before."""
        wide_at, new_hash = WIDE_AT.get(name), None
        if wide_at is not None:
            at = self._row + wide_at
        else:
            key = _hash(name)
            place = self._places.get(key)
            if place is None:
                is_nothing = not (first or second or third or fourth or until_ns)
                if is_nothing or (place := self._free_place(key)) is None:
                    return
                self._places[key] = place
                new_hash = self._hash_word(place), int.from_bytes(key, byteorder, signed=True)
            at = self._numbers_at(place)
        words, word = self._words, at // WORD
        words[word] = first  # by `struct` all five would be zeros for a moment, and another front would count by them
        words[word + 1] = second
        words[word + 2] = third
        words[word + 3] = fourth
        words[word + 4] = until_ns
        if new_hash is not None:  # last, so that no reader finds older numbers
            words[new_hash[0]] = new_hash[1]

    def others(self, name: str) -> list[Published]:
        """What each of the others publishes, of those that do."""
        memory, wide_at = self._memory, WIDE_AT.get(name)
        if wide_at is not None:
            return [Published(*NUMBERS.unpack_from(memory, row + wide_at)) for row in self._other_rows]
        key, published = _hash(name), list[Published]()
        begin = HASHES_AT + key[0] * BUCKET_BYTES
        for row in self._other_rows:
            at = memory.find(key, row + begin, row + begin + BUCKET_BYTES)
            if at >= 0:
                place = (at - row - HASHES_AT) // WORD
                one = Published(*NUMBERS.unpack_from(memory, row + NUMBERS_AT + place * NUMBERS.size))
                if memory[at : at + WORD] == key:  # else it was freed meanwhile, and these may be another name's
                    published.append(one)
        return published

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
                word = self._hash_word(place)
                del self._places[self._words[word].to_bytes(WORD, byteorder, signed=True)]
                self._words[word] = 0
                return place
        return None

    def _hash_word(self, place: int) -> int:
        return (self._row + HASHES_AT) // WORD + place

    def _numbers_at(self, place: int) -> int:
        return self._row + NUMBERS_AT + place * NUMBERS.size


class Row:
    """This front's row under one name of the table: what it holds of all requests, or of a tenant's."""

    def __init__(self, table: SharedTable, name: str) -> None:
        self.name = name
        self.held = Load()
        self._table = table

    def whole(self) -> Load:
        """Load of all fronts; not to be changed."""
        if not (others := self._table.others(self.name)):
            return self.held
        whole = Load()
        for one in (self.held, *[Load(*one[:4]) for one in others]):
            whole.add(one)
        return whole


@lru_cache(maxsize=2 * NUM_ENTRIES)
def _hash(name: str) -> bytes:
    """Eight bytes, the first of which is the bucket's; two of a million names share them once in 37 million."""
    return hashlib.blake2b(name.encode(), digest_size=WORD).digest()


def _clear(memory: mmap.mmap, index: int) -> None:
    begin = index * ROW_BYTES
    memory[begin : begin + ROW_BYTES] = bytes(ROW_BYTES)  # hashes come first: nobody finds numbers that are gone
