"""Pixels for the engine: each distinct picture is decoded once, into shared memory, off the event loop.

In: pictures whose headers or features were checked. Out: `LoadedPictures`: their content keys, with a slot of pixels or
features for those that the engine has not seen, or the error of the one that cannot be decoded. A picture whose level-2
key is known is neither decoded nor resized nor copied.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from service import metrics
from service.errors import MediaError
from service.front.loaded import LoadedMedia, LoadedPictures
from service.front.tenant import SERVICE, Tenant
from service.ipc.arena import PixelArena
from service.ipc.messages import PixelSlot
from service.media.picture import Picture

Source = tuple[bytes, bytes]
"""A tenant's salt and a picture's level-2 key."""


class PixelLoader:
    """Decodes and resizes in its own threads, so that text never waits for a picture.

    Cancelling a load is safe at any point: slots that threads still write to are given back when the threads are done.
    """

    def __init__(
        self, arena: PixelArena, fingerprint: bytes, *, num_threads: int, max_known_keys: int = 1 << 16
    ) -> None:
        self._arena = arena
        self._fingerprint = fingerprint
        self._pool = ThreadPoolExecutor(num_threads, thread_name_prefix="media")
        self._known: OrderedDict[Source, bytes] = OrderedDict()
        self._max_known_keys = max_known_keys
        self._in_flight: dict[Source, asyncio.Future[None]] = {}

    async def load(self, items: Sequence[Picture], tenant: Tenant = SERVICE.tenant) -> LoadedPictures:
        """Content keys of the items, and pixels of those that are new; a picture that fails harms no other.

        Whoever waits for another's decode holds nothing meanwhile, so no two can wait for each other. What is new is
        asked per tenant: another's picture costs as much as one that nobody has sent, and so tells nothing.

        Args:
            items: pictures of one request.
            tenant: whose request.
        """
        salt = tenant.salt
        distinct = {item.digest: item for item in reversed(items)}
        while others := [self._in_flight[salt, digest] for digest in distinct if (salt, digest) in self._in_flight]:
            await asyncio.wait(others)
        known = {
            digest: LoadedMedia(self._touch((salt, digest)), None)
            for digest in distinct
            if (salt, digest) in self._known
        }
        new = [item for digest, item in distinct.items() if digest not in known]
        return LoadedPictures(self._arena, known | (await self._claim_and_decode(new, salt) if new else {}))

    async def decode(self, item: Picture) -> PixelSlot:
        """One picture's pixels, whatever is known of it: the engine asked for them.

        Raises:
            MediaError: it cannot be decoded.
        """
        (loaded,) = await self._decode([item], b"")  # its key is known, salt and all: only the pixels are wanted
        if isinstance(loaded, MediaError):
            raise loaded
        assert loaded.slot is not None  # a decode always fills one
        return loaded.slot

    async def _claim_and_decode(self, new: list[Picture], salt: bytes) -> dict[bytes, LoadedMedia | MediaError]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._in_flight.update(((salt, item.digest), done) for item in new)
        try:
            decoded = await self._decode(new, salt)
        finally:
            for item in new:
                del self._in_flight[salt, item.digest]
            done.set_result(None)
        for item, one in zip(new, decoded, strict=True):
            if isinstance(one, LoadedMedia):
                self._remember((salt, item.digest), one.key)
        return {item.digest: one for item, one in zip(new, decoded, strict=True)}

    async def _decode(self, items: Sequence[Picture], salt: bytes) -> list[LoadedMedia | MediaError]:
        """Each item's key and slot of pixels, or why it has none."""
        slots = await self._arena.reserve([item.num_slot_bytes for item in items])
        each = [self._decode_into(item, slot, salt) for item, slot in zip(items, slots, strict=True)]
        decoding = asyncio.gather(*each, return_exceptions=True)
        try:
            keys = await asyncio.shield(decoding)
        except asyncio.CancelledError:
            decoding.add_done_callback(lambda _: self._release(slots))
            raise
        bug = next((key for key in keys if not isinstance(key, bytes | MediaError)), None)
        if bug is not None:
            self._release(slots)
            raise bug
        ends = [key for key in keys if isinstance(key, bytes | MediaError)]
        self._release([slot for slot, end in zip(slots, ends, strict=True) if isinstance(end, MediaError)])
        pairs = zip(slots, ends, strict=True)
        return [end if isinstance(end, MediaError) else LoadedMedia(end, slot) for slot, end in pairs]

    async def _decode_into(self, item: Picture, slot: PixelSlot, salt: bytes) -> bytes:
        key = await asyncio.get_running_loop().run_in_executor(self._pool, self._decode_in_thread, item, slot, salt)
        if item.dtype is None:
            metrics.PICTURES_DECODED.inc()
        return key

    def _decode_in_thread(self, item: Picture, slot: PixelSlot, salt: bytes) -> bytes:
        return item.fill(self._arena.view(slot), self._fingerprint, salt)

    def _release(self, slots: Sequence[PixelSlot]) -> None:
        for slot in slots:
            self._arena.release(slot.start)

    def _remember(self, source: Source, key: bytes) -> None:
        self._known[source] = key
        while len(self._known) > self._max_known_keys:
            self._known.popitem(last=False)

    def _touch(self, source: Source) -> bytes:
        self._known.move_to_end(source)
        return self._known[source]
