"""Clients' own names for images: each bound to the content that it was first answered with, per tenant.

In: a tenant, a name and an image. Out: the image, later, for the name alone. Bounded in bytes, least recently used
out first; a name that has gone is asked for again (`cache_miss`) and never stands for anything else. Knows no request.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Literal

import msgspec

from service import metrics
from service.media.features.features import FeaturesItem
from service.media.image.image_file import ImageFile
from service.media.media_item import MediaItem

AskOthers = Callable[[bytes, str], Awaitable[bytes]]
"""Asks the other fronts what a tenant's name stands for: as `UuidStore.packed` gives it, empty where none knows it."""


class PackedName(msgspec.Struct, frozen=True, array_like=True):
    """Content of a name, on its way to another front."""

    kind: Literal["file", "features"]
    item: bytes
    identities: list[bytes]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PackedName).decode
_decode_item: dict[str, Callable[[bytes], MediaItem]] = {
    "file": msgspec.msgpack.Decoder(ImageFile).decode,
    "features": msgspec.msgpack.Decoder(FeaturesItem).decode,
}


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
        self._keep(tenant, uuid, item, frozenset((item.identity, *equal_identities)))

    def packed(self, tenant: bytes, uuid: str) -> bytes:
        """Content of a tenant's name, for another front; empty where it is unknown here."""
        bound = self.find(tenant, uuid)
        if bound is None:
            return b""
        kind: Literal["file", "features"] = "file" if isinstance(bound.item, ImageFile) else "features"
        return _encode(PackedName(kind, _encode(bound.item), sorted(bound.identities)))

    def take_over(self, tenant: bytes, uuid: str, packed: bytes) -> None:
        """Bind a name as another front has."""
        name = _decode(packed)
        self._keep(tenant, uuid, _decode_item[name.kind](name.item), frozenset(name.identities))

    def _keep(self, tenant: bytes, uuid: str, item: MediaItem, identities: frozenset[bytes]) -> None:
        """Keep a name, or what more counts as its image."""
        with self._lock:
            old = self._bound.get((tenant, uuid))
            if old is not None:
                if old.identities & identities:
                    self._bound[tenant, uuid] = Bound(old.item, old.identities | identities)
                return
            if item.num_stored_bytes > self.max_bytes:
                return
            self._bound[tenant, uuid] = Bound(item, identities)
            before, self.num_bytes = self.num_bytes, self.num_bytes + item.num_stored_bytes
            while self.num_bytes > self.max_bytes:
                _, forgotten = self._bound.popitem(last=False)
                self.num_bytes -= forgotten.item.num_stored_bytes
            metrics.UUID_STORE_BYTES.inc(self.num_bytes - before)  # of all stores of the process


class Uuids:
    """The names of images that one model knows: each reads an image in its own way, so its name is of one model.

    Args:
        model: the name of this one.
        ask: asks the other fronts of the service.
    """

    def __init__(self, store: UuidStore, model: str, ask: AskOthers) -> None:
        self._store = store
        self._model = b"\0" + model.encode()
        self._ask = ask

    def find(self, tenant: bytes, uuid: str) -> Bound | None:
        """Return what a tenant's name stands for; None when it is unknown."""
        return self._store.find(tenant + self._model, uuid)

    def bind(self, tenant: bytes, uuid: str, item: MediaItem, *equal_identities: bytes) -> None:
        """Let a name stand for an image; see `UuidStore.bind`."""
        self._store.bind(tenant + self._model, uuid, item, *equal_identities)

    async def ask_others(self, tenant: bytes, uuids: Collection[str]) -> None:
        """Learn what other fronts have bound names to; two that bind one at the same moment keep one content each."""
        tenant += self._model
        for uuid, packed in zip(uuids, await asyncio.gather(*[self._ask(tenant, uuid) for uuid in uuids]), strict=True):
            if packed:
                self._store.take_over(tenant, uuid, packed)
