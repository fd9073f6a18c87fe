"""A file of the front's, read by a decoder process part by part: it never has the file, nor all of it in memory."""

import io
from typing import Any, BinaryIO

from service.ipc.channel import BlockingChannel
from service.workers.messages import MAX_LENT_BYTES, DecodeEnd

BUFFER_BYTES = 256 << 10
"""Asked for at once where a file is read from its start to its end."""


class Lender:
    """The front, as one that gives parts of a file while a task is done."""

    def __init__(self) -> None:
        self._channel: BlockingChannel[Any] | None = None

    def attach(self, channel: BlockingChannel[Any]) -> None:
        """Ask over the channel that tasks come by."""
        self._channel = channel

    def read(self, start: int, num_bytes: int) -> bytes:
        """A part of the file that the task lends.

        Raises:
            OSError: the front has exited.
        """
        assert self._channel is not None  # tasks come later
        self._channel.send(DecodeEnd(num_bytes=0, wants=(start, num_bytes)))
        content = self._channel.read(num_bytes)
        if content is None:
            raise OSError("the front has gone")
        return content


class LentFile:
    """The file of a task; `[start:stop]` gives a part of it."""

    def __init__(self, lender: Lender, num_bytes: int) -> None:
        self._lender = lender
        self._num_bytes = num_bytes

    def __len__(self) -> int:
        return self._num_bytes

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._num_bytes)
        parts = (
            self._lender.read(place, min(MAX_LENT_BYTES, stop - place)) for place in range(start, stop, MAX_LENT_BYTES)
        )
        return b"".join(parts)

    def stream(self) -> BinaryIO:
        """The whole of it from the start, to read and seek in."""
        return io.BufferedReader(_Stream(self), BUFFER_BYTES)


class _Stream(io.RawIOBase):
    """A lent file as Python's streams are."""

    def __init__(self, file: LentFile) -> None:
        self._file = file
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        starts = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: len(self._file)}
        self._place = max(0, starts[whence] + offset)
        return self._place

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        content = self._file[self._place : self._place + len(buffer)]
        buffer[: len(content)] = content
        self._place += len(content)
        return len(content)
