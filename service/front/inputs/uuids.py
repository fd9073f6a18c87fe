"""Clients' own names for images: each bound to the content that it was first answered with, per tenant.

In: a tenant, a name and an image. Out: the image, later, for the name alone. Bounded in bytes, least recently used
out first; a name that has gone is asked for again (`cache_miss`) and never stands for anything else. Knows no request.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from service import metrics
from service.media.item import MediaItem


class UuidSharing(Protocol):
    """Tells the other fronts of names, where there are several."""

    def bound(self, tenant: bytes, uuid: str, item: MediaItem, identities: frozenset[bytes]) -> None:
        """A name was bound here, or more counts as its image; called from any thread."""
        ...

    async def known(self) -> None:
        """Wait until all others know of what was bound so far, but not for long."""
        ...


class Uuids(Protocol):
    """The names of images that one model knows."""

    def find(self, tenant: bytes, uuid: str) -> "Bound | None":
        """Return what a tenant's name stands for; None when it is unknown."""
        ...

    def bind(self, tenant: bytes, uuid: str, item: MediaItem, *equal_identities: bytes) -> None:
        """Let a name stand for an image; see `UuidStore.bind`."""
        ...

    async def known_everywhere(self) -> None:
        """Wait until every front knows the names that were bound here."""
        ...


@dataclass(frozen=True, slots=True)
class Bound:
    """The image that a name stands for.

    Attributes:
        item: the image, kept as it was sent: it can be read again whatever the engine has forgotten.
        identities: of every content that counts as this image.
    """

    item: MediaItem
    identities: frozenset[bytes]


class UuidStore:
    """Names of all tenants, within one bound. Safe to use from any thread.

    vLLM takes a `uuid` as it is for a cache key, whatever content comes with it, so that colliding names give the other
    image's features (its issues 55547, 53471).
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.sharing: UuidSharing | None = None
        self.num_bytes = 0
        self._bound: OrderedDict[tuple[bytes, str], Bound] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._bound)

    def find(self, tenant: bytes, uuid: str) -> Bound | None:
        """Return what a tenant's name stands for, and mark it as most recently used; None when it is unknown."""
        with self._lock:
            bound = self._bound.get((tenant, uuid))
            if bound is not None:
                self._bound.move_to_end((tenant, uuid))
            return bound

    def bind(self, tenant: bytes, uuid: str, item: MediaItem, *equal_identities: bytes) -> None:
        """Let a name stand for an image, unless it stands for another already: the first content keeps it.

        Args:
            item: the image; one that is larger than the whole store is not kept.
            equal_identities: of other content that counts as the same image: features made from it.
        """
        identities = frozenset((item.identity, *equal_identities))
        if self._keep(tenant, uuid, item, identities) and self.sharing is not None:
            self.sharing.bound(tenant, uuid, item, identities)

    async def known_everywhere(self) -> None:
        """Wait until every front knows the names that were bound here, before an answer says that they are bound."""
        if self.sharing is not None:
            await self.sharing.known()

    def take_over(self, tenant: bytes, uuid: str, item: MediaItem, identities: Iterable[bytes]) -> None:
        """Bind a name as another front has."""
        self._keep(tenant, uuid, item, frozenset(identities))

    def _keep(self, tenant: bytes, uuid: str, item: MediaItem, identities: frozenset[bytes]) -> bool:
        """Keep a name, or what more counts as its image; whether anything is new."""
        with self._lock:
            old = self._bound.get((tenant, uuid))
            if old is not None:
                if not old.identities & identities or identities <= old.identities:
                    return False
                self._bound[tenant, uuid] = Bound(old.item, old.identities | identities)
                return True
            if item.num_stored_bytes > self.max_bytes:
                return False
            self._bound[tenant, uuid] = Bound(item, identities)
            before, self.num_bytes = self.num_bytes, self.num_bytes + item.num_stored_bytes
            while self.num_bytes > self.max_bytes:
                _, forgotten = self._bound.popitem(last=False)
                self.num_bytes -= forgotten.item.num_stored_bytes
            metrics.UUID_STORE_BYTES.inc(self.num_bytes - before)  # of all stores of the process
            return True


class ModelUuids:
    """The names of one model in a store of several: each reads an image in its own way, so its name is of one model."""

    def __init__(self, store: UuidStore, model: str) -> None:
        self._store = store
        self._model = b"\0" + model.encode()

    def find(self, tenant: bytes, uuid: str) -> Bound | None:
        """Return what a tenant's name stands for; None when it is unknown."""
        return self._store.find(tenant + self._model, uuid)

    def bind(self, tenant: bytes, uuid: str, item: MediaItem, *equal_identities: bytes) -> None:
        """Let a name stand for an image; see `UuidStore.bind`."""
        self._store.bind(tenant + self._model, uuid, item, *equal_identities)

    async def known_everywhere(self) -> None:
        """Wait until every front knows the names that were bound here."""
        await self._store.known_everywhere()
