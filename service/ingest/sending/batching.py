"""Batches of asks: all instructions of an item in one batch, within the server's limits and a limit in memory."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from service.ingest.files.source_file import PageImage
from service.ingest.files.video_segment import VideoSegment
from service.ingest.item import Ask, SourceItem
from service.ingest.sending.sending import Bounds

ASK_BYTES = 256
"""Size of an ask in a body besides text, image and instruction."""
FRAME_PIXEL_BYTES = 2
"""Of a video's frame in PNG; drawings and slides take a tenth of it."""
PAGE_PIXEL_BYTES = 1
"""Of a rendered page in PNG: letters take a tenth of it, photographs up to 3."""


@dataclass(slots=True)
class AskBatch:
    """Asks of one request; `num_bytes` is the approximate size of it and of its answer."""

    asks: list[Ask] = field(default_factory=list)
    num_bytes: int = 0


class Batcher:
    """Fills batches in the order of the source."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._batch = AskBatch()

    def add(self, asks: Sequence[Ask]) -> list[AskBatch]:
        """Add the asks of one item; return the previous batch if they did not fit into it.

        Chunks that are read together stay together.
        """
        num_bytes = _media_bytes(asks[0].item, self._bounds)
        for ask in asks:
            num_bytes += len((ask.item.text or "").encode(errors="replace")) + len(ask.instruction or "") + ASK_BYTES
            num_bytes += self._bounds.token_vectors.of(ask)
        batch = self._batch
        is_full = (
            len(batch.asks) + len(asks) > self._bounds.num_inputs
            or batch.num_bytes + num_bytes > self._bounds.num_bytes
        )
        late, last = asks[0].item.late, batch.asks[-1].item.late if batch.asks else None
        is_continued = late is not None and last is not None and late.chunks is last.chunks
        full = self.flush() if is_full and not is_continued else []
        self._batch.asks.extend(asks)
        self._batch.num_bytes += num_bytes
        return full

    def flush(self) -> list[AskBatch]:
        """The current batch; none if it is empty."""
        batch, self._batch = self._batch, AskBatch()
        return [batch] if batch.asks else []


class ByteWindow:
    """A semaphore that counts bytes, so that memory stays bounded; an item above `max_bytes` is sent alone."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.num_bytes = 0
        self._changed = asyncio.Condition()

    async def enter(self, num_bytes: int) -> None:
        """Wait until there is room for `num_bytes`, and take it."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self.num_bytes or self.num_bytes + num_bytes <= self.max_bytes)
            self.num_bytes += num_bytes

    async def leave(self, num_bytes: int) -> None:
        """Release `num_bytes`."""
        async with self._changed:
            self.num_bytes -= num_bytes
            self._changed.notify_all()


def _media_bytes(item: SourceItem, bounds: Bounds) -> int:
    """Size in base64. A file above the limit is not read, so it counts nothing; pages and frames are not made yet."""
    match item.media:
        case None:
            return 0
        case str():
            return len(item.media)
        case bytes():
            return len(item.media) * 4 // 3 + 4
        case Path():
            return 0 if item.num_bytes > bounds.image_bytes else item.num_bytes * 4 // 3 + 4
        case PageImage():
            return bounds.max_pixels * PAGE_PIXEL_BYTES * 4 // 3
        case VideoSegment() as video:
            sampled = None if bounds.video_rule is None else video.sample(bounds.video_rule)
            return len(sampled.numbers) * math.prod(sampled.size) * FRAME_PIXEL_BYTES * 4 // 3 if sampled else 0
