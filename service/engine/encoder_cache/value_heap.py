"""Entries by priority, least first. Each operation costs O(log n); priorities may rise while entries are in it.

An entry's place in the heap may say less than its priority by now: that is put right when it comes up. A place whose
entry has left is passed over, and all such places are dropped once they are the most.
"""

from heapq import heapify, heappop, heappush, heapreplace
from itertools import count
from typing import Generic, TypeVar

from service.engine.encoder_cache.entry import Entry

T = TypeVar("T")
_Place = tuple[float, int, int, Entry[T]]

MIN_PLACES = 64
"""Below so many places nothing is tidied."""


class ValueHeap(Generic[T]):
    """A priority queue that entries may leave from anywhere."""

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
