"""Decoding in threads of the front: the least work, for whoever trusts the pictures (`--decode-isolation threads`).

A thread cannot be stopped. One that is overdue keeps its place and its room until it ends by itself, and
a fault of a codec takes the front with it. `processes` has neither weakness.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from service.decode.decoder import refuse_overdue
from service.fairness.room import NUM_SPARE, FairRoom
from service.media.item import MediaItem
from service.media.pixels import load_pixels


class ThreadDecoder:
    """A `Decoder` of threads.

    Attributes:
        room: for what is being decoded.
    """

    def __init__(self, *, num_threads: int, max_bytes: int, deadline_s: float) -> None:
        self.room = FairRoom(num_threads, max_bytes)
        self._pool = ThreadPoolExecutor(num_threads + NUM_SPARE, thread_name_prefix="decode")
        self._deadline_s = deadline_s

    async def pixels(self, item: MediaItem) -> NDArray[np.uint8]:
        """See `Decoder.pixels`."""
        num_bytes, cost = item.num_decode_bytes, item.decode_cost
        piece = await self.room.take(cost, num_bytes=num_bytes, is_small=cost <= self.room.small_bytes)
        work = asyncio.get_running_loop().run_in_executor(self._pool, load_pixels, item)

        def ended(work: asyncio.Future[NDArray[np.uint8]]) -> None:
            self.room.give(piece)
            work.exception()  # read once: nobody may wait for it any more, and asyncio would complain

        work.add_done_callback(ended)
        await asyncio.wait([work], timeout=self._deadline_s)
        if not work.done():
            refuse_overdue(item, self._deadline_s)
        return work.result()
