"""Pixels for the engine: each distinct picture is decoded once, into shared memory, off the event loop.

In: pictures whose headers or features were checked. Out: `LoadedPictures`: their content keys, with a slot of pixels or
features for those that the engine has not seen, or the error of the one that cannot be decoded. A picture whose level-2
key is known is neither decoded nor resized nor copied.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from service import metrics
from service.decode.clips import ClipDecoder
from service.decode.decoder import Decoder
from service.decode.sounds import SoundDecoder
from service.errors import FrameError, MediaError
from service.fairness.threads import FairThreads
from service.front.clip_frames import ClipFrames
from service.front.loaded import LoadedMedia, LoadedPictures
from service.ipc.arena import PixelArena
from service.ipc.messages import PixelSlot
from service.media.clip import ClipPair
from service.media.features import FeaturesItem
from service.media.frame_pair import FramePair
from service.media.item import MediaItem
from service.media.picture import Picture
from service.media.sound import Sound

SMALL_SLOT_BYTES = 1 << 20
"""Pixels that are copied and hashed in a millisecond."""


class PixelLoader:
    """Has pictures decoded, copies them into slots in its own threads, and remembers their keys.

    Cancelling a load is safe at any point: what is not decoded yet never will be, and slots that threads still write to
    are given back when the threads are done.
    """

    def __init__(
        self,
        arena: PixelArena,
        fingerprint: bytes,
        decoder: Decoder,
        clips: ClipDecoder | None = None,
        sounds: SoundDecoder | None = None,
        *,
        num_threads: int,
        max_known_keys: int = 1 << 16,
    ) -> None:
        self._arena = arena
        self._decoder = decoder
        self._clips = clips
        self._sounds = sounds
        self._fingerprint = fingerprint
        self._threads = FairThreads(num_threads, "media", small=SMALL_SLOT_BYTES)
        self._known: OrderedDict[bytes, bytes] = OrderedDict()
        self._max_known_keys = max_known_keys
        self._in_flight: dict[bytes, asyncio.Future[None]] = {}

    async def load(self, items: Sequence[Picture]) -> LoadedPictures:
        """Content keys of the items, and pixels of those that are new; a picture that fails harms no other.

        Whoever waits for another's decode holds nothing meanwhile, so no two can wait for each other.
        """
        distinct = {item.digest: item for item in reversed(items)}
        while others := [self._in_flight[digest] for digest in distinct if digest in self._in_flight]:
            await asyncio.wait(others)
        known = {digest: LoadedMedia(self._touch(digest), None) for digest in distinct if digest in self._known}
        new = [item for digest, item in distinct.items() if digest not in known]
        return LoadedPictures(self._arena, known | (await self._claim_and_decode(new) if new else {}))

    async def decode(self, item: Picture) -> PixelSlot:
        """One picture's pixels, whatever is known of it: the engine asked for them.

        Raises:
            MediaError: it cannot be decoded.
        """
        (loaded,) = await self._decode([item])
        if isinstance(loaded, MediaError):
            raise loaded
        assert loaded.slot is not None  # a decode always fills one
        return loaded.slot

    async def _claim_and_decode(self, new: list[Picture]) -> dict[bytes, LoadedMedia | MediaError]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._in_flight.update((item.digest, done) for item in new)
        try:
            decoded = await self._decode(new)
        finally:
            for item in new:
                del self._in_flight[item.digest]
            done.set_result(None)
        for item, one in zip(new, decoded, strict=True):
            if isinstance(one, LoadedMedia):
                self._remember(item.digest, one.key)
        return {item.digest: one for item, one in zip(new, decoded, strict=True)}

    async def _decode(self, items: Sequence[Picture]) -> list[LoadedMedia | MediaError]:
        """Each item's key and slot of pixels, or why it has none."""
        slots = await self._arena.reserve([item.num_slot_bytes for item in items])
        clips = ClipFrames(self._clips, items)
        pairs = zip(items, slots, strict=True)
        each = [asyncio.create_task(self._decode_into(item, slot, clips)) for item, slot in pairs]
        decoding = asyncio.gather(*each, return_exceptions=True)
        decoding.add_done_callback(lambda _: clips.close())
        try:
            keys = await asyncio.shield(decoding)
        except asyncio.CancelledError:
            decoding.add_done_callback(lambda _: self._release(slots))
            for task in each:
                task.cancel()
            raise
        bug = next((key for key in keys if not isinstance(key, bytes | MediaError)), None)
        if bug is not None:
            self._release(slots)
            raise bug
        ends = [key for key in keys if isinstance(key, bytes | MediaError)]
        self._release([slot for slot, end in zip(slots, ends, strict=True) if isinstance(end, MediaError)])
        ended = zip(slots, ends, strict=True)
        return [end if isinstance(end, MediaError) else LoadedMedia(end, slot) for slot, end in ended]

    async def _decode_into(self, item: Picture, slot: PixelSlot, clips: ClipFrames) -> bytes:
        data = await self._data(item, clips)
        storing = asyncio.ensure_future(self._threads.run(partial(self._store, item, data, slot), slot.num_bytes))
        try:
            key = await asyncio.shield(storing)
        except asyncio.CancelledError:
            await asyncio.wait([storing])  # the slot is given back when this task ends: nobody may write to it then
            raise
        if item.dtype is None:
            (metrics.SOUNDS_DECODED if isinstance(item, Sound) else metrics.PICTURES_DECODED).inc()
        return key

    async def _data(self, item: Picture, clips: ClipFrames) -> memoryview | NDArray[np.uint8]:
        """What goes into the item's slot."""
        if isinstance(item, ClipPair):
            return await clips.pixels(item)
        if isinstance(item, FramePair):
            first = await self._frame(item.first, is_second=False)
            second = first if item.second == item.first else await self._frame(item.second, is_second=True)
            return np.concatenate([first.reshape(-1), second.reshape(-1)])
        if isinstance(item, Sound):
            assert self._sounds is not None  # no sound is opened without
            return await self._sounds.slot(item)
        assert isinstance(item, MediaItem | FeaturesItem)  # there are no others
        return await self._decoder.pixels(item) if isinstance(item, MediaItem) else item.data

    async def _frame(self, frame: MediaItem, *, is_second: bool) -> NDArray[np.uint8]:
        try:
            return await self._decoder.pixels(frame)
        except MediaError as error:
            raise FrameError(error, is_second=is_second) from None

    def _store(self, item: Picture, data: memoryview | NDArray[np.uint8], slot: PixelSlot) -> bytes:
        """Fill a slot; the key is that of what stands there, whoever decoded it."""
        view = self._arena.view(slot)
        view[:] = (data.data if isinstance(data, np.ndarray) else data).cast("B")
        return item.key(view, self._fingerprint)

    def _release(self, slots: Sequence[PixelSlot]) -> None:
        for slot in slots:
            self._arena.release(slot.start)

    def _remember(self, digest: bytes, key: bytes) -> None:
        self._known[digest] = key
        while len(self._known) > self._max_known_keys:
            self._known.popitem(last=False)

    def _touch(self, digest: bytes) -> bytes:
        self._known.move_to_end(digest)
        return self._known[digest]
