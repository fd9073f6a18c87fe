"""Reads a source in a thread, and hands its items to the event loop through a bounded queue.

A source blocks (disk, pipe, codec), and a pipe may be slow: items arrive as they are read, without a thread switch for
each while they come fast.
"""

import asyncio
import threading
from collections import deque

from service.ingest.errors import IngestError
from service.ingest.item import BadRecord, OpenSource, SourceItem

MAX_READ_AHEAD = 256
"""Items read and not yet taken."""
MAX_READ_AHEAD_BYTES = 16 << 20
"""Bytes of these items, up to one item more. Image files are not read here."""


class SourceReader:
    """A thread that reads a source a bounded number of items ahead."""

    def __init__(self, source: OpenSource) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        self._items: deque[SourceItem | BadRecord] = deque()
        self._num_bytes = 0
        self._room = threading.Condition()
        self._is_over = False
        self._stopped = False
        self._error: Exception | None = None
        threading.Thread(target=self._read, name="source", daemon=True).start()

    @property
    def was_stopped(self) -> bool:
        """True if the source may have more than was read."""
        return self._stopped

    def stop(self) -> None:
        """Stop reading; items already read are still delivered."""
        with self._room:
            self._stopped = self._is_over = True
            self._room.notify_all()
        self._arrived.set()

    async def take(self, wait_s: float | None) -> list[SourceItem | BadRecord] | None:
        """Items read since the last call, in order: empty after `wait_s` without any, None at the end of the source."""
        try:
            async with asyncio.timeout(wait_s):  # `wait_for` of Python 3.11 swallows the end of a run
                await self._arrived.wait()
        except TimeoutError:
            return []
        with self._room:
            taken = list(self._items)
            self._items.clear()
            self._num_bytes = 0
            is_over = self._is_over
            if not is_over:
                self._arrived.clear()
            self._room.notify_all()
        if taken or not is_over:
            return taken
        if self._error is not None and not self._stopped:
            raise IngestError(f"SOURCE: {self._error}") from self._error
        return None

    def _read(self) -> None:
        try:
            for item in self._source.items():
                if not self._give(item):
                    return
        except Exception as error:  # noqa: BLE001  # any error ends the run, which would otherwise wait forever
            self._error = error
        with self._room:
            self._is_over = True
        self._tell()

    def _give(self, item: SourceItem | BadRecord) -> bool:
        """Queue an item when there is room; False after `stop`."""
        with self._room:
            self._room.wait_for(
                lambda: self._stopped or (len(self._items) < MAX_READ_AHEAD and self._num_bytes < MAX_READ_AHEAD_BYTES)
            )
            if self._stopped:
                return False
            self._items.append(item)
            if isinstance(item, SourceItem):
                self._num_bytes += len(item.text or "")
                self._num_bytes += len(item.media) if isinstance(item.media, bytes | str) else 0
            is_first = len(self._items) == 1
        if is_first:
            self._tell()
        return True

    def _tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:
            return  # the event loop has ended
