"""Rows as JSON values: the engine's little-endian bytes become numbers or base64.

In a response struct a vector is a `DeferredValue`, printed when its turn to be sent has come.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pybase64
from numpy.typing import NDArray

from cenote_native import print_rows
from service.outputs.block import Row

NUMPY = {
    "float32": "<f4",
    "float16": "<f2",
    "bfloat16": "<u2",
    "int8": "i1",
    "binary": "i1",
    "uint8": "u1",
    "ubinary": "u1",
}
"""numpy's name of each number format of the engine; bfloat16 has none, and is read as its bits."""

WIDTHS = {name: np.dtype(dtype).itemsize for name, dtype in NUMPY.items()}
"""Bytes of one component."""

NUMBER_BYTES = 13
"""About what a float32 takes in the fewest digits that give it back, its comma included."""

BLOCK_BYTES = 3 << 15
"""Encoded as base64 at once. 3 bytes become 4 characters, so blocks of whole triples can be put side by side."""


class DeferredValue:
    """A JSON value of an answer that is printed when it is sent and not before. No dataclass: msgspec encodes those.

    No `ABC`: it is asked of each part of each answer whether it is one, and an abstract class takes ten times as long.

    Attributes:
        num_bytes: its length.
        is_exact: False where that is an estimate, since digits are not counted before they are printed.
    """

    num_bytes: int
    is_exact: bool = True

    def chunks(self) -> Iterable[bytes | memoryview]:
        """Print it."""
        raise NotImplementedError


class Base64String(DeferredValue):
    """Bytes as a JSON string of base64, a block at a time, so that megabytes never exist twice.

    Args:
        data: the bytes.
        head: bytes that come before them.
        width: bytes of each number among them, which are turned to big-endian order; 1 for none.
    """

    def __init__(self, data: bytes | memoryview, head: bytes = b"", *, width: int = 1) -> None:
        self._data = data
        self._head = head
        self._width = width
        self.num_bytes = len('""') + -(-(len(head) + len(data)) // 3) * 4

    def chunks(self) -> Iterable[bytes]:
        """The string, in blocks if it is long."""
        if self._width > 1:
            return Base64String(np.frombuffer(self._data, f"<u{self._width}").byteswap().tobytes()).chunks()
        if self._head or len(self._data) > BLOCK_BYTES:
            return self._blocks()
        return (b'"%s"' % pybase64.b64encode(self._data),)

    def _blocks(self) -> Iterator[bytes]:
        begin = -len(self._head) % 3
        yield b'"' + pybase64.b64encode(self._head + self._data[:begin])
        for start in range(begin, len(self._data), BLOCK_BYTES):
            yield pybase64.b64encode(self._data[start : start + BLOCK_BYTES])
        yield b'"'


class NumberList(DeferredValue):
    """A vector as a JSON array."""

    is_exact = False

    def __init__(self, row: Row, dtype: str) -> None:
        self._row = row
        self._dtype = dtype
        self.num_bytes = len(row) // WIDTHS[dtype] * NUMBER_BYTES

    def chunks(self) -> Sequence[bytes | memoryview]:
        """The whole array."""
        return print_rows(numbers(self._row, self._dtype)[np.newaxis])


def numbers(row: Row, dtype: str) -> NDArray[np.generic]:
    """The components of a row; float16 and bfloat16 as float32, which holds each of them exactly.

    float32 is printed in the fewest digits that give it back; a Python float would have 17: twice the bytes.
    """
    values = np.frombuffer(row, NUMPY[dtype])
    if dtype == "float16":
        return values.astype("<f4")
    if dtype == "bfloat16":
        return (values.astype("<u4") << 16).view("<f4")  # the upper half of a float32
    return values
