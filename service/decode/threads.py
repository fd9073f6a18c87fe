"""Decoding in threads of the front: the least work, for whoever trusts the pictures.

A thread cannot be stopped. One that is overdue keeps its place and its room in the budget until it ends by itself, and
a fault of a codec takes the front with it. `processes` has neither weakness.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from service.decode.budget import DecodeBudget
from service.decode.decoder import refuse_overdue
from service.media.item import MediaItem
from service.media.pixels import load_pixels


class ThreadDecoder:
    """A `Decoder` of threads.

    Attributes:
        budget: bytes that are being decoded.
    """

    def __init__(self, *, num_threads: int, max_bytes: int, deadline_s: float) -> None:
        self.budget = DecodeBudget(max_bytes, num_threads)
        self._pool = ThreadPoolExecutor(num_threads, thread_name_prefix="decode")
        self._deadline_s = deadline_s

    async def pixels(self, item: MediaItem) -> NDArray[np.uint8]:
        """See `Decoder.pixels`."""
        num_bytes = item.num_decode_bytes
        await self.budget.take(num_bytes)
        work = asyncio.get_running_loop().run_in_executor(self._pool, load_pixels, item)

        def ended(work: asyncio.Future[NDArray[np.uint8]]) -> None:
            self.budget.give(num_bytes)
            work.exception()  # read once: nobody may wait for it any more, and asyncio would complain

        work.add_done_callback(ended)
        await asyncio.wait([work], timeout=self._deadline_s)
        if not work.done():
            refuse_overdue(item, self._deadline_s)
        return work.result()
