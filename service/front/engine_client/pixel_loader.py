"""Loads media for the engine: each distinct one is decoded once, into shared memory, off the event loop.

In: media whose headers or features were checked. Out: content keys, with a slot of pixels for those that the engine
has not seen. Media whose level-2 key is known are neither decoded nor resized nor copied.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from service import metrics
from service.decode.image_decoder import ImageDecoder
from service.decode.start import Decoders
from service.errors import FrameError, MediaError
from service.fairness.threads import FairThreads
from service.ipc.arena import PixelArena
from service.ipc.messages import PixelSlot
from service.media.audio.samples import Audio
from service.media.features.features import FeaturesItem
from service.media.image.image_file import ImageFile
from service.media.media_item import MediaItem
from service.media.page.page_file import PageItem
from service.media.video.frame_pair import FramePair
from service.media.video.video_file import VideoFramePair

SMALL_SLOT_BYTES = 1 << 20
"""Pixels that are copied and hashed in a millisecond."""


@dataclass(frozen=True, slots=True)
class LoadedMedia:
    """The content key of media, and their pixels unless the engine is expected to have the features."""

    key: bytes
    slot: PixelSlot | None


@dataclass(frozen=True, slots=True)
class LoadedMediaSet:
    """The media of one load, by level-2 key.

    A slot goes to the first request that takes the media. `release` gives back what was not taken, so an input that
    fails for one image leaves the pixels of its others to the next input, or to the arena.

    Attributes:
        slots: pixels of those that the engine has not seen, until they are taken.
    """

    arena: PixelArena
    keys: dict[bytes, bytes] = field(default_factory=dict)
    slots: dict[bytes, PixelSlot] = field(default_factory=dict)
    errors: dict[bytes, MediaError] = field(default_factory=dict)

    def error_of(self, items: Iterable[MediaItem]) -> MediaError | None:
        """The first error among the media of one input, with its place in that input; None when all are well."""
        for item in items:
            if (error := self.errors.get(item.digest)) is not None:  # its place is that of whichever copy was decoded
                is_second = isinstance(error, FrameError) and error.is_second
                place = item.second if isinstance(item, FramePair) and is_second else item
                return MediaError(error.code, error.message, param=place.location.param, index=item.location.index)
        return None

    def take(self, item: MediaItem) -> LoadedMedia:
        """Media for a request, which owns the slot from here on; only the first to take it gets one."""
        return LoadedMedia(self.keys[item.digest], self.slots.pop(item.digest, None))  # `error_of` comes first

    def release(self) -> None:
        """Give back the pixels that were not taken."""
        while self.slots:
            _, slot = self.slots.popitem()
            self.arena.release(slot.start)


@dataclass(frozen=True, slots=True)
class VideoFrames:
    """Frames of a video file, by their numbers, which are being decoded."""

    numbers: Sequence[int]
    decoding: asyncio.Task[NDArray[np.uint8]]

    async def pixels(self, pair: VideoFramePair) -> NDArray[np.uint8]:
        """Both frames of a pair, `[2, height, width, 3]`. MediaError: `media_undecodable`."""
        frames = await asyncio.shield(self.decoding)
        return frames[[self.numbers.index(i) for i in pair.frames]]


FileKey = tuple[bytes, tuple[int, int], bytes]
"""A video file at one size, for one tenant."""
VideoFiles = Mapping[FileKey, VideoFrames]


def _file_of(pair: VideoFramePair) -> FileKey:
    return pair.video.file.identity, pair.video.size, pair.video.salt


def _close(files: VideoFiles, _: object) -> None:
    """Cancel what is still decoding, once those who wait for it have ended: a callback of theirs."""
    for one in files.values():
        one.decoding.cancel()
        one.decoding.add_done_callback(lambda task: task.cancelled() or task.exception())  # marked as read


class PixelLoader:
    """Has images decoded, copies them into slots in its own threads, and remembers their keys.

    Cancelling a load is safe at any point: what is not decoded yet never will be, and slots that threads still write to
    are given back when the threads are done.
    """

    def __init__(
        self,
        arena: PixelArena,
        fingerprint: bytes,
        decoder: ImageDecoder,
        decoders: Decoders,
        *,
        num_threads: int,
        max_known_keys: int = 1 << 16,
    ) -> None:
        self._arena = arena
        self._decoder = decoder
        self._decoders = decoders  # of all else
        self._fingerprint = fingerprint
        self._threads = FairThreads(num_threads, "media", small=SMALL_SLOT_BYTES)
        self._known: OrderedDict[bytes, bytes] = OrderedDict()
        self._max_known_keys = max_known_keys
        self._in_flight: dict[bytes, asyncio.Future[None]] = {}

    async def load(self, items: Sequence[MediaItem]) -> LoadedMediaSet:
        """Content keys of the items, and pixels of those that are new; an image that fails harms no other.

        A load that waits for another's decode holds nothing meanwhile, so no two can wait for each other.
        """
        distinct = {item.digest: item for item in reversed(items)}
        while others := [self._in_flight[digest] for digest in distinct if digest in self._in_flight]:
            await asyncio.wait(others)
        loaded = LoadedMediaSet(self._arena)
        for digest in distinct:
            if (key := self._known.get(digest)) is not None:
                self._known.move_to_end(digest)
                loaded.keys[digest] = key
        new = {digest: item for digest, item in distinct.items() if digest not in loaded.keys}
        if not new:
            return loaded
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._in_flight |= dict.fromkeys(new, done)
        try:
            ends = await self._decode(list(new.values()))
        finally:
            for digest in new:
                del self._in_flight[digest]
            done.set_result(None)
        for digest, end in zip(new, ends, strict=True):
            if isinstance(end, MediaError):
                loaded.errors[digest] = end
            else:
                loaded.keys[digest] = self._known[digest] = end[0]
                loaded.slots[digest] = end[1]
        while len(self._known) > self._max_known_keys:
            self._known.popitem(last=False)
        return loaded

    async def decode(self, item: MediaItem) -> PixelSlot:
        """One image's pixels, whatever is known of it: the engine asked for them. MediaError: it cannot be decoded."""
        (end,) = await self._decode([item])
        if isinstance(end, MediaError):
            raise end
        return end[1]

    async def _decode(self, items: Sequence[MediaItem]) -> list[tuple[bytes, PixelSlot] | MediaError]:
        """Each item's key and slot of pixels, or why it has none."""
        slots = await self._arena.reserve([item.num_slot_bytes for item in items])
        pairs = [item for item in items if isinstance(item, VideoFramePair)]
        files = self._decode_videos(pairs) if pairs else {}
        each = [
            asyncio.create_task(self._decode_into(item, slot, files)) for item, slot in zip(items, slots, strict=True)
        ]
        decoding = asyncio.gather(*each, return_exceptions=True)
        if files:
            decoding.add_done_callback(partial(_close, files))
        try:
            ends = await asyncio.shield(decoding)
        except asyncio.CancelledError:
            decoding.add_done_callback(lambda _: self._release(slots))
            for task in each:
                task.cancel()
            raise
        bug = next((end for end in ends if not isinstance(end, bytes | MediaError)), None)
        if bug is not None:
            self._release(slots)
            raise bug
        decoded: list[tuple[bytes, PixelSlot] | MediaError] = []
        for slot, end in zip(slots, ends, strict=True):
            if isinstance(end, bytes):
                decoded.append((end, slot))
            elif isinstance(end, MediaError):
                self._arena.release(slot.start)
                decoded.append(end)
        return decoded

    def _decode_videos(self, pairs: Sequence[VideoFramePair]) -> VideoFiles:
        """Begin to decode each video file, once for all of its pairs that are wanted together."""
        decoder = self._decoders.videos
        assert decoder is not None  # no file is opened without one
        by_file: dict[FileKey, list[VideoFramePair]] = {}
        for pair in pairs:
            by_file.setdefault(_file_of(pair), []).append(pair)
        files = {}
        for key, some in by_file.items():
            numbers = sorted({i for pair in some for i in pair.frames})
            frames = decoder.frames(some[0].video, numbers, some[0].location)
            files[key] = VideoFrames(numbers, asyncio.create_task(frames))
            metrics.VIDEOS_DECODED.inc()
        return files

    async def _decode_into(self, item: MediaItem, slot: PixelSlot, files: VideoFiles) -> bytes:
        data = await (self._decoder.pixels(item) if isinstance(item, ImageFile) else self._data(item, files))
        storing = asyncio.ensure_future(self._threads.run(lambda: self._store(item, data, slot), slot.num_bytes))
        try:
            key = await asyncio.shield(storing)
        except asyncio.CancelledError:
            await asyncio.wait([storing])  # the slot is given back when this task ends: no thread may write to it then
            storing.exception()  # marked as read
            raise
        if item.dtype is None:
            (metrics.AUDIOS_DECODED if isinstance(item, Audio) else metrics.IMAGES_DECODED).inc()
        return key

    async def _data(self, item: MediaItem, files: VideoFiles) -> memoryview | NDArray[np.uint8]:
        """The content of a slot of anything but an image file."""
        if isinstance(item, VideoFramePair):
            return await files[_file_of(item)].pixels(item)
        if isinstance(item, FramePair):
            first = await self._frame(item.first, is_second=False)
            second = first if item.second == item.first else await self._frame(item.second, is_second=True)
            return np.concatenate([first.reshape(-1), second.reshape(-1)])
        if isinstance(item, PageItem):
            assert self._decoders.pages is not None  # no PDF is opened without
            return await self._decoders.pages.pixels(item)
        if isinstance(item, Audio):
            assert self._decoders.audio is not None  # no audio is opened without
            return await self._decoders.audio.slot(item)
        assert isinstance(item, FeaturesItem)  # there are no others
        return item.data

    async def _frame(self, frame: ImageFile, *, is_second: bool) -> NDArray[np.uint8]:
        try:
            return await self._decoder.pixels(frame)
        except MediaError as error:
            raise FrameError(error, is_second=is_second) from None

    def _store(self, item: MediaItem, data: memoryview | NDArray[np.uint8], slot: PixelSlot) -> bytes:
        """Fill a slot, and return the content key of its bytes."""
        view = self._arena.view(slot)
        view[:] = (data.data if isinstance(data, np.ndarray) else data).cast("B")
        return item.key(view, self._fingerprint)

    def _release(self, slots: Sequence[PixelSlot]) -> None:
        for slot in slots:
            self._arena.release(slot.start)
