"""Content key to vision features: least recently used out first, never above its cap in bytes. Knows no tensors."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Entry(Generic[T]):
    """One picture's features and what they weigh."""

    features: T
    num_bytes: int


class EncoderCache(Generic[T]):
    """A byte-bounded map. Features that are too large for it are not admitted; a miss is never an error.

    Attributes:
        max_bytes: the cap; 0 switches the cache off.
        num_bytes: what the entries weigh now, never above `max_bytes`.
        num_evictions: entries pushed out since the start.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.num_bytes = 0
        self.num_evictions = 0
        self._entries: OrderedDict[bytes, Entry[T]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: bytes) -> bool:
        return key in self._entries

    def get(self, key: bytes) -> T | None:
        """The features under `key`, now the most recently used; None on a miss."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry.features

    def clear(self) -> None:
        """Let everything go: its memory is needed."""
        self.num_evictions += len(self._entries)
        self._entries.clear()
        self.num_bytes = 0

    def put(self, key: bytes, features: T, num_bytes: int) -> bool:
        """Admit features, evicting the least recently used until they fit; False when they never could."""
        if num_bytes > self.max_bytes:
            return False
        if (old := self._entries.pop(key, None)) is not None:
            self.num_bytes -= old.num_bytes
        while self.num_bytes + num_bytes > self.max_bytes:
            _, evicted = self._entries.popitem(last=False)
            self.num_bytes -= evicted.num_bytes
            self.num_evictions += 1
        self._entries[key] = Entry(features, num_bytes)
        self.num_bytes += num_bytes
        return True
