"""Pixels for the engine: each distinct picture is decoded once, into shared memory, off the event loop.

In: `MediaItem`s whose headers were checked. Out: their content keys, with a slot of pixels for those that the engine
has not seen. A picture whose level-2 key is known is neither decoded nor resized.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from service import metrics
from service.ipc.arena import PixelArena
from service.ipc.messages import PixelSlot
from service.media.item import MediaItem, load_pixels
from service.media.key import content_key


@dataclass(frozen=True, slots=True)
class LoadedMedia:
    """A picture's content key, and its pixels unless the engine is expected to have its features."""

    key: bytes
    slot: PixelSlot | None


class PixelLoader:
    """Decodes and resizes in its own threads, so that text never waits for a picture.

    Attributes:
        num_decoded: pictures decoded since the start.
    """

    def __init__(
        self, arena: PixelArena, fingerprint: bytes, *, num_threads: int, max_known_keys: int = 1 << 16
    ) -> None:
        self._arena = arena
        self._fingerprint = fingerprint
        self._pool = ThreadPoolExecutor(num_threads, thread_name_prefix="media")
        self._known: OrderedDict[bytes, bytes] = OrderedDict()
        self._max_known_keys = max_known_keys
        self._in_flight: dict[bytes, asyncio.Future[None]] = {}
        self.num_decoded = 0

    async def load(self, items: Sequence[MediaItem]) -> list[LoadedMedia]:
        """Content keys of the items, in order; the first item of each new picture carries its pixels.

        Whoever waits for another's decode holds nothing meanwhile, so no two can wait for each other.

        Raises:
            MediaError: a picture cannot be decoded; nothing stays reserved.
        """
        distinct = {item.digest: item for item in reversed(items)}
        while others := [self._in_flight[digest] for digest in distinct if digest in self._in_flight]:
            await asyncio.wait(others)
        new = [item for digest, item in distinct.items() if digest not in self._known]
        slots = await self._claim_and_decode(new)
        return [LoadedMedia(self._key(item), slots.pop(item.digest, None)) for item in items]

    async def decode(self, item: MediaItem) -> LoadedMedia:
        """One picture's pixels, whatever is known of it: the engine asked for them."""
        (slot,) = await self._arena.reserve([item.num_pixel_bytes])
        try:
            return LoadedMedia(await self._decode_into(item, slot), slot)
        except BaseException:
            self._arena.release(slot.start)
            raise

    async def _claim_and_decode(self, new: list[MediaItem]) -> dict[bytes, PixelSlot]:
        if not new:
            return {}
        done = asyncio.get_running_loop().create_future()
        self._in_flight.update((item.digest, done) for item in new)
        slots: list[PixelSlot] = []
        try:
            slots = await self._arena.reserve([item.num_pixel_bytes for item in new])
            results = await asyncio.gather(
                *(self._decode_into(item, slot) for item, slot in zip(new, slots, strict=True)), return_exceptions=True
            )
            for result in results:
                if isinstance(result, BaseException):
                    raise result
            for item, key in zip(new, results, strict=True):
                self._remember(item.digest, key)  # type: ignore[arg-type]  # the exceptions were raised above
            return {item.digest: slot for item, slot in zip(new, slots, strict=True)}
        except BaseException:
            for slot in slots:
                self._arena.release(slot.start)
            raise
        finally:
            for item in new:
                del self._in_flight[item.digest]
            done.set_result(None)

    async def _decode_into(self, item: MediaItem, slot: PixelSlot) -> bytes:
        key = await asyncio.get_running_loop().run_in_executor(self._pool, self._decode, item, slot)
        self.num_decoded += 1
        metrics.PICTURES_DECODED.inc()
        return key

    def _decode(self, item: MediaItem, slot: PixelSlot) -> bytes:
        view = self._arena.view(slot)
        load_pixels(item, view)
        return content_key(view, item.size, self._fingerprint)

    def _remember(self, digest: bytes, key: bytes) -> None:
        self._known[digest] = key
        while len(self._known) > self._max_known_keys:
            self._known.popitem(last=False)

    def _key(self, item: MediaItem) -> bytes:
        self._known.move_to_end(item.digest)
        return self._known[item.digest]
