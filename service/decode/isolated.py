"""Work on files in processes of one program, within a budget of bytes: what the decoders of videos and sounds share.

Processes start with the first file. Knows no file and no codec.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TypeVar

from service.decode.budget import DecodeBudget
from service.decode.worker_pool import WorkerPool

T = TypeVar("T")


def has_codecs() -> bool:
    """Whether PyAV is installed: the extras `video` and `audio` bring it. The front imports nothing of it."""
    return find_spec("av") is not None


class IsolatedWork:
    """As many pieces of work at once as there are processes.

    Attributes:
        budget: bytes that are being decoded.
        workers: the processes, for the work itself, which runs in a thread.
        deadline_s: longest time that one piece may take.
    """

    def __init__(self, command: Sequence[str], *, num_workers: int, max_bytes: int, deadline_s: float) -> None:
        self.budget = DecodeBudget(max_bytes, num_workers)
        self.deadline_s = deadline_s
        self.workers = WorkerPool(
            command, num_workers=num_workers, max_bytes=max_bytes, deadline_s=deadline_s, is_lazy=True
        )
        self._threads = ThreadPoolExecutor(num_workers, thread_name_prefix="isolated")

    async def run(self, num_bytes: int, work: Callable[[], T]) -> T:
        """Do `work` in a thread once there is room for so many bytes."""
        await self.budget.take(num_bytes)
        running = asyncio.get_running_loop().run_in_executor(self._threads, work)

        def ended(running: asyncio.Future[T]) -> None:
            self.budget.give(num_bytes)
            running.exception()  # read once: nobody may wait for it any more, and asyncio would complain

        running.add_done_callback(ended)
        return await asyncio.shield(running)  # whoever gives up, the room is given back when the process is free again

    def close(self) -> None:
        """End the processes that are idle; nobody may run anything any more."""
        self._threads.shutdown()
        self.workers.close()
