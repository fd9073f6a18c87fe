"""JSON answers in parts: the text, and between it the large values, each printed when its turn to be sent has come.

So whatever can fail has been done before the first byte is sent, and of a large answer only a slice exists at a time.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import pybase64

SLICE_BYTES = 1 << 17
"""Printed and sent at once: ten vectors of 1024 numbers, a third of a millisecond. A smaller answer is sent whole."""

BLOCK_BYTES = 3 << 15
"""Encoded as base64 at once. 3 bytes become 4 characters, so blocks of whole triples can be put side by side."""

_MARK = b"\0"
"""Stands for a `DeferredValue` in the text: JSON has this byte nowhere, since strings escape it."""

_RAW_MARK = msgspec.Raw(_MARK)


class DeferredValue(ABC):
    """A JSON value of an answer that is printed when it is sent and not before. No dataclass: msgspec encodes those.

    Attributes:
        num_bytes: its length.
        is_exact: False where that is an estimate, since digits are not counted before they are printed.
    """

    num_bytes: int
    is_exact: bool = True

    @abstractmethod
    def chunks(self) -> Iterable[bytes | memoryview]:
        """Print it."""


class Base64String(DeferredValue):
    """Bytes as a JSON string of base64, a block at a time, so that megabytes never exist twice.

    Args:
        data: the bytes.
        head: bytes that come before them.
    """

    def __init__(self, data: bytes | memoryview, head: bytes = b"") -> None:
        self._data = data
        self._head = head
        self.num_bytes = len('""') + -(-(len(head) + len(data)) // 3) * 4

    def chunks(self) -> Iterator[bytes]:
        """The string in blocks."""
        begin = -len(self._head) % 3
        yield b'"' + pybase64.b64encode(self._head + self._data[:begin])
        for start in range(begin, len(self._data), BLOCK_BYTES):
            yield pybase64.b64encode(self._data[start : start + BLOCK_BYTES])
        yield b'"'


class Parts:
    """The body of an answer: text that is there, and values that are not yet printed. It can be read once.

    Attributes:
        num_bytes: its length.
        is_exact: False where that is an estimate.
    """

    def __init__(self, parts: Iterable[bytes | memoryview | DeferredValue]) -> None:
        self._parts = deque(parts)
        deferred = [part for part in self._parts if isinstance(part, DeferredValue)]
        self.is_exact = all(part.is_exact for part in deferred)
        self.num_bytes = sum(part.num_bytes if isinstance(part, DeferredValue) else len(part) for part in self._parts)

    def slices(self, min_bytes: int) -> Iterator[bytes]:
        """The body in slices of at least so many bytes, but for the last; each part is released once it is given."""
        slice_: list[bytes | memoryview] = []
        num_bytes = 0
        while self._parts:
            part = self._parts.popleft()
            for chunk in part.chunks() if isinstance(part, DeferredValue) else (part,):
                slice_.append(chunk)
                num_bytes += len(chunk)
                if num_bytes >= min_bytes:
                    yield b"".join(slice_)
                    slice_, num_bytes = [], 0
        yield b"".join(slice_)


@dataclass(slots=True)
class _Encoding:
    """One answer while it is encoded: its first values are printed in place, up to a slice, and all others deferred."""

    deferred: list[DeferredValue] = field(default_factory=list)
    num_left: int = SLICE_BYTES

    def encode(self, value: object) -> msgspec.Raw:
        """Print a value or leave a mark for it; msgspec calls this for each value of a type that it does not know."""
        if not isinstance(value, DeferredValue):
            raise TypeError(f"{type(value).__name__} is no part of an answer. This is a bug.")
        self.num_left -= value.num_bytes
        if self.num_left >= 0:
            return msgspec.Raw(b"".join(value.chunks()))
        self.deferred.append(value)
        return _RAW_MARK

    def parts(self, text: bytes) -> Parts:
        """The text, cut at its marks, with the values between."""
        if not self.deferred:
            return Parts([text])
        first, *texts = text.split(_MARK)
        return Parts([first, *(part for pair in zip(self.deferred, texts, strict=True) for part in pair)])


def in_parts(answer: object) -> Parts:
    """An answer as JSON; it may hold a `DeferredValue` for any value."""
    encoding = _Encoding()
    return encoding.parts(msgspec.json.Encoder(enc_hook=encoding.encode).encode(answer))


def lines_in_parts(answers: Sequence[object]) -> Parts:
    """Answers as lines of JSON; each may hold a `DeferredValue` for any value."""
    encoding = _Encoding()
    return encoding.parts(msgspec.json.Encoder(enc_hook=encoding.encode).encode_lines(answers))
