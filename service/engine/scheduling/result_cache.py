"""The result cache: raw pooled vectors by prompt digest, least recently used out first, capped in bytes.

The vector is kept as it was before it was cut, so any length, number format or scale is made from it. A tenant by name
never holds more than its share: past that its own oldest go first. Knows no tensors and no prompts.
"""

from collections import OrderedDict
from collections.abc import Sequence

ENTRY_BYTES = 512
"""Bytes of an entry besides its vector: two keys, two places in ordered maps, three objects."""


class ResultCache:
    """A byte-bounded map. A vector that does not fit is not kept; a miss is never an error.

    Attributes:
        max_bytes: the cap; 0 switches the cache off.
        max_tenant_bytes: most bytes of one tenant; requests without a tenant's name may use all.
        num_bytes: what the entries weigh now, their keeping included.
        vectors: by prompt digest, each with its tenant, the least recently used first.
    """

    def __init__(self, max_bytes: int, tenant_share: float = 1.0) -> None:
        self.max_bytes = max_bytes
        self.is_on = max_bytes > 0
        self.max_tenant_bytes = int(max_bytes * tenant_share)
        self.num_bytes = 0
        self.num_evictions = 0
        self.vectors: OrderedDict[bytes, tuple[bytes, str]] = OrderedDict()
        self._of_tenant: dict[str, OrderedDict[bytes, int]] = {}
        self._tenant_bytes: dict[str, int] = {}

    def get(self, digest: bytes) -> bytes | None:
        """The vector of a prompt, now the most recently used; None on a miss."""
        entry = self.vectors.get(digest)
        if entry is None:
            return None
        vector, tenant = entry
        self.vectors.move_to_end(digest)
        self._of_tenant[tenant].move_to_end(digest)
        return vector

    def have(self, digests: Sequence[bytes]) -> list[bool]:
        """Of each prompt whether its vector is kept."""
        return [digest in self.vectors for digest in digests]

    def put(self, digest: bytes, vector: bytes, tenant: str = "") -> None:
        """Keep a vector; the least recently used make room, those of its tenant first where that is at its share."""
        most = self.max_tenant_bytes if tenant else self.max_bytes
        num_bytes = len(vector) + ENTRY_BYTES
        if num_bytes > most:
            return
        if digest in self.vectors:
            self._remove(digest)
        while self._tenant_bytes.get(tenant, 0) + num_bytes > most:
            self._evict(next(iter(self._of_tenant[tenant])))
        while self.num_bytes + num_bytes > self.max_bytes:
            self._evict(next(iter(self.vectors)))
        self.vectors[digest] = (vector, tenant)
        self._of_tenant.setdefault(tenant, OrderedDict())[digest] = num_bytes
        self._weigh(tenant, num_bytes)

    def _evict(self, digest: bytes) -> None:
        self._remove(digest)
        self.num_evictions += 1

    def _remove(self, digest: bytes) -> None:
        _, tenant = self.vectors.pop(digest)
        self._weigh(tenant, -self._of_tenant[tenant].pop(digest))

    def _weigh(self, tenant: str, num_bytes: int) -> None:
        self.num_bytes += num_bytes
        self._tenant_bytes[tenant] = self._tenant_bytes.get(tenant, 0) + num_bytes
        if not self._tenant_bytes[tenant]:  # tenants that have left take no memory
            del self._tenant_bytes[tenant], self._of_tenant[tenant]


NO_RESULTS = ResultCache(0)
