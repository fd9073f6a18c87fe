"""Decoders of images: in processes that can be killed, or in threads of the front (`--decode-isolation threads`).

A process that exceeds the deadline is killed, and a crash of a codec ends only that process; an image whose process
dies twice is refused. Threads do the least work, but cannot be stopped: an overdue one keeps its memory budget until it
ends by itself, and a crash of a codec takes the front with it. They are for operators who trust every image.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from service import metrics
from service.decode.isolated import IsolatedDecoder, late_message
from service.fairness.room import NUM_SPARE, FairRoom, Size
from service.media.image.decode import load_pixels
from service.media.image.header import UNREADABLE
from service.media.image.image_file import ImageFile
from service.workers import programs
from service.workers.messages import DecodeTask


class ProcessDecoder(IsolatedDecoder):
    """Pixels of images from processes, within a budget and a deadline."""

    command = programs.IMAGES
    what = "image"
    unreadable = UNREADABLE

    async def pixels(self, item: ImageFile) -> NDArray[np.uint8]:
        """Decode and resize an image to `item.num_slot_bytes` bytes of RGB, in memory of their own.

        Raises:
            MediaError: `media_undecodable`, also for an image that exceeds the deadline or whose process died.
        """
        header = item.header
        task = DecodeTask(
            encoded=item.encoded,
            format=header.format,
            width=header.width,
            height=header.height,
            orientation=header.orientation,
            background=item.options.background,
            size=item.size,
            framing=item.framing,
        )
        num_bytes, cost = item.decode_cost
        _, pixels = await self.run(task, item.num_slot_bytes, item.location, num_bytes=num_bytes, cost=cost)
        return pixels


class ThreadDecoder:
    """Pixels of images from threads, within a budget and a deadline.

    Attributes:
        room: the memory budget of what is being decoded.
    """

    def __init__(self, *, num_threads: int, max_bytes: int, deadline_s: float) -> None:
        self.room = FairRoom(num_threads, max_bytes, count_bytes=metrics.DECODE_BYTES.inc)
        self._pool = ThreadPoolExecutor(num_threads + NUM_SPARE, thread_name_prefix="decode")
        self._deadline_s = deadline_s

    async def pixels(self, item: ImageFile) -> NDArray[np.uint8]:
        """See `ProcessDecoder.pixels`."""
        num_bytes, cost = item.decode_cost
        size: Size = "small" if cost <= self.room.small_bytes else "large"
        piece = await self.room.take(cost, num_bytes=num_bytes, size=size)
        began_s = time.monotonic()
        work = asyncio.get_running_loop().run_in_executor(self._pool, load_pixels, item)
        work.add_done_callback(lambda _: self.room.spend(piece, time.monotonic() - began_s, is_over=True))
        self.room.give_after(work, piece)  # when the thread is free, also after a cancel
        try:
            return await asyncio.wait_for(asyncio.shield(work), self._deadline_s)
        except TimeoutError:
            item.location.refuse("media_undecodable", late_message("image", self._deadline_s))


ImageDecoder = ProcessDecoder | ThreadDecoder
