"""A file of the front's, read by a decoder process part by part: it never has the file, nor all of it in memory."""

import io
from typing import Any, BinaryIO

from service.ipc.channel import BlockingChannel
from service.workers.messages import MAX_LENT_BYTES, DecodeEnd

BUFFER_BYTES = 256 << 10
"""Asked for at once where a file is read from its start to its end."""


class LentFile:
    """The file of a task; `[start:stop]` gives a part of it."""

    def __init__(self, channel: BlockingChannel[Any], num_bytes: int) -> None:
        """Ask over the channel that tasks come by."""
        self._channel = channel
        self._num_bytes = num_bytes

    def __len__(self) -> int:
        return self._num_bytes

    def __getitem__(self, part: slice) -> bytes:
        """A part of it.

        Raises:
            OSError: the front has exited.
        """
        start, stop, _ = part.indices(self._num_bytes)
        pieces = []
        for place in range(start, stop, MAX_LENT_BYTES):
            num_bytes = min(MAX_LENT_BYTES, stop - place)
            self._channel.send(DecodeEnd(num_bytes=0, wants=(place, num_bytes)))
            if (piece := self._channel.read(num_bytes)) is None:
                raise OSError("the front has gone")
            pieces.append(piece)
        return b"".join(pieces)

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
