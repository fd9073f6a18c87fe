"""Work in a thread that never keeps the process alive: a download or a hung disk must not outlast Ctrl-C."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_daemon_thread(work: Callable[[], T], name: str) -> T:
    """The result of `work`, which nobody waits for once the loop has ended.

    Args:
        work: blocks.
        name: of the thread.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: Callable[[], None]) -> None:
        if not future.done():
            result()

    def run() -> None:
        try:
            value = work()
        except Exception as error:  # noqa: BLE001  # it is handed to whoever awaits
            outcome = partial(future.set_exception, error)
        else:
            outcome = partial(future.set_result, value)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await future
