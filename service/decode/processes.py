"""Decoding in processes that can be killed: the deadline ends a decode, and a fault of a codec ends nothing but that.

A picture whose process dies twice is refused; one that is overdue is refused at once.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from service.decode.decoder import refuse_overdue
from service.decode.messages import DecodeTask
from service.decode.worker_pool import WorkerPool
from service.decode.worker_process import COMMAND, WorkerLostError
from service.fairness.room import NUM_SPARE, FairRoom
from service.media.blame import Blame
from service.media.header import UNREADABLE
from service.media.item import MediaItem

MAX_EARLY = 4
"""Processes that start with the front; others when as many images are decoded at once. Each has 25 MB of its own."""


class ProcessDecoder:
    """A `Decoder` of processes, as many as it has threads that wait for them; the last start if they are needed.

    Attributes:
        room: for what is being decoded.
    """

    def __init__(
        self,
        *,
        num_workers: int,
        max_bytes: int,
        deadline_s: float,
        is_lazy: bool = False,
        command: Sequence[str] = COMMAND,
    ) -> None:
        """Decode in up to `num_workers` and two more processes; some start at once, unless `is_lazy`."""
        num_seats = num_workers + NUM_SPARE
        num_early = 0 if is_lazy else min(num_workers + 1, MAX_EARLY)
        self.room = FairRoom(num_workers, max_bytes)
        self._deadline_s = deadline_s
        self._threads = ThreadPoolExecutor(num_seats, thread_name_prefix="decode")
        self._workers = WorkerPool(
            command,
            num_workers=num_early,
            num_lazy=num_seats - num_early,
            max_bytes=max_bytes,
            deadline_s=deadline_s,
        )

    async def pixels(self, item: MediaItem) -> NDArray[np.uint8]:
        """See `Decoder.pixels`."""
        num_bytes, cost = item.num_decode_bytes, item.decode_cost
        piece = await self.room.take(cost, num_bytes=num_bytes, is_small=cost <= self.room.small_bytes)
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._decode, item)

        def ended(work: asyncio.Future[NDArray[np.uint8]]) -> None:
            self.room.give(piece)
            work.exception()  # read once: nobody may wait for it any more, and asyncio would complain

        work.add_done_callback(ended)
        return await asyncio.shield(work)  # whoever gives up, the room is given back when the process is free again

    def close(self) -> None:
        """End the processes that are idle; nobody may decode any more."""
        self._threads.shutdown()
        self._workers.close()

    def _decode(self, item: MediaItem) -> NDArray[np.uint8]:
        pixels = None
        try:
            _, pixels = self._workers.run(_task(item), item.num_slot_bytes)
        except TimeoutError:
            refuse_overdue(item, self._deadline_s)
        except WorkerLostError:
            pass
        if pixels is None:
            Blame(item.param, item.index).refuse("media_undecodable", UNREADABLE)
        return pixels


def _task(item: MediaItem) -> DecodeTask:
    header = item.header
    return DecodeTask(
        encoded=item.encoded,
        format=header.format,
        width=header.width,
        height=header.height,
        orientation=header.orientation,
        background=item.reading.background,
        size=item.size,
        framing=item.framing,
    )
