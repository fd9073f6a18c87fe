"""Clients' names for images, from one front to the others, before the answer that binds them is sent.

Each front keeps all names, within its own store. Two fronts that bind one name to two contents at the same moment keep
one each: whoever sends both at once has no order that could be kept.
"""

import asyncio
from collections.abc import Callable

import msgspec

from service.front.inputs.uuids import UuidStore
from service.media.features.features import FeaturesItem
from service.media.image.image_file import ImageFile
from service.media.item import MediaItem
from service.processes.messages import NamedKind, UuidBound

KNOWN_TIMEOUT_S = 2.0
"""An answer waits so long for a front that does not hear."""

encode = msgspec.msgpack.Encoder().encode
decode_file = msgspec.msgpack.Decoder(ImageFile).decode
decode_features = msgspec.msgpack.Decoder(FeaturesItem).decode


class SharedNames:
    """The names that are bound at this front, on their way to the others.

    Args:
        index: of this front.
        send: to the main process; on the loop's own thread.
    """

    def __init__(self, index: int, send: Callable[[UuidBound], None]) -> None:
        self._index = index
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._last = 0
        self._unknown: dict[int, asyncio.Future[None]] = {}

    def bound(self, tenant: bytes, uuid: str, item: MediaItem, identities: frozenset[bytes]) -> None:
        """Tell of a name; from any thread."""
        kind: NamedKind = "file" if isinstance(item, ImageFile) else "features"
        packed = encode(item)
        self._loop.call_soon_threadsafe(self._tell, tenant, uuid, kind, packed, sorted(identities))

    async def known(self) -> None:
        """Wait until the others know what was bound so far, but not for long."""
        await asyncio.sleep(0)  # a name that was bound just now is told first
        if unknown := list(self._unknown.values()):
            await asyncio.wait(unknown, timeout=KNOWN_TIMEOUT_S)

    def heard(self, number: int) -> None:
        """All others know a name."""
        if (future := self._unknown.pop(number, None)) is not None:
            future.set_result(None)

    def _tell(self, tenant: bytes, uuid: str, kind: NamedKind, item: bytes, identities: list[bytes]) -> None:
        self._last += 1
        self._unknown[self._last] = self._loop.create_future()
        self._loop.call_later(KNOWN_TIMEOUT_S, self.heard, self._last)
        number, index = self._last, self._index
        self._send(
            UuidBound(index=index, number=number, tenant=tenant, uuid=uuid, kind=kind, item=item, identities=identities)
        )


def bind_here(store: UuidStore, message: UuidBound) -> None:
    """Bind a name that another front has bound; nothing is told of it again."""
    item: MediaItem = decode_file(message.item) if message.kind == "file" else decode_features(message.item)
    store.take_over(message.tenant, message.uuid, item, message.identities)
