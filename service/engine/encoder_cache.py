"""Content key to vision features: least recently used out first, never above its cap in bytes. Knows no tensors.

A tenant by name never holds more than its share: past that its own oldest features go first, so nobody can push
everybody else's out by sending many pictures.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Entry(Generic[T]):
    """One picture's features, what they weigh, and whose they are."""

    features: T
    num_bytes: int
    tenant: str


class EncoderCache(Generic[T]):
    """A byte-bounded map. Features that are too large for it are not admitted; a miss is never an error.

    Attributes:
        max_bytes: the cap; 0 switches the cache off.
        max_tenant_bytes: what one tenant may hold; not for those without a name, who are everybody.
        num_bytes: what the entries weigh now, never above `max_bytes`.
        num_evictions: entries pushed out since the start.
    """

    def __init__(self, max_bytes: int, tenant_share: float = 1.0) -> None:
        self.max_bytes = max_bytes
        self.max_tenant_bytes = int(max_bytes * tenant_share)
        self.num_bytes = 0
        self.num_evictions = 0
        self._entries: OrderedDict[bytes, Entry[T]] = OrderedDict()
        self._by_tenant: dict[str, int] = {}

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
        self._by_tenant.clear()

    def put(self, key: bytes, features: T, num_bytes: int, tenant: str = "") -> bool:
        """Admit features, evicting the least recently used until they fit; False when they never could."""
        most = self.max_tenant_bytes if tenant else self.max_bytes
        if num_bytes > most:
            return False
        if key in self._entries:
            self._remove(key)
        while self._by_tenant.get(tenant, 0) + num_bytes > most:
            self._evict(next(key for key, entry in self._entries.items() if entry.tenant == tenant))
        while self.num_bytes + num_bytes > self.max_bytes:
            self._evict(next(iter(self._entries)))
        self._entries[key] = Entry(features, num_bytes, tenant)
        self._weigh(tenant, num_bytes)
        return True

    def _evict(self, key: bytes) -> None:
        self._remove(key)
        self.num_evictions += 1

    def _remove(self, key: bytes) -> None:
        entry = self._entries.pop(key)
        self._weigh(entry.tenant, -entry.num_bytes)

    def _weigh(self, tenant: str, num_bytes: int) -> None:
        self.num_bytes += num_bytes
        self._by_tenant[tenant] = self._by_tenant.get(tenant, 0) + num_bytes
        if not self._by_tenant[tenant]:  # tenants that have left take no memory
            del self._by_tenant[tenant]
