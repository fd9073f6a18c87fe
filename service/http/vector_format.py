"""How vectors are written: the engine's little-endian rows become JSON numbers, base64 or raw bytes.

Knows no request's form but the fields that ask for a format. Every function takes a row as the engine gave it. In a
response struct a vector is a `Late`: it is printed when its turn to be sent has come and not before.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import orjson
import pybase64
from numpy.typing import NDArray

from schemas.embeddings import EmbeddingRequest, EmbedDtype
from service.http.late import Late
from service.ipc.messages import Row

ByteOrder = Literal["little", "big"]

WIDTHS: dict[EmbedDtype, int] = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of one component."""

NUMBER_BYTES = 13
"""About what a float32 takes in the fewest digits that give it back, its comma included."""


BLOCK_BYTES = 3 << 15
"""What is printed at once of an item with several vectors; of whole groups of three, as base64 has them."""


@dataclass(frozen=True, slots=True)
class VectorFormat:
    """What `encoding_format`, `embed_dtype` and `endianness` of a request come to.

    Attributes:
        is_base64: a base64 string in JSON, not numbers.
        dtype: number format of the components.
        byte_order: of the components in base64 and raw answers.
    """

    is_base64: bool = False
    dtype: EmbedDtype = "float32"
    byte_order: ByteOrder = "little"

    @classmethod
    def of(cls, request: EmbeddingRequest) -> "VectorFormat":
        """The format that a request asks for; `native` is little, whatever machine this runs on."""
        return cls(
            is_base64=request.encoding_format == "base64",
            dtype=request.embed_dtype or "float32",
            byte_order="big" if request.endianness == "big" else "little",
        )

    def json(self, row: Row) -> Late:
        """A row as a JSON value."""
        if self.is_base64:
            return late_base64(self.in_order, row)
        return late_list(lambda row: float_list(widened(row, self.dtype)), row, WIDTHS[self.dtype])

    def raw(self, row: Row) -> Late:
        """A row as it is."""
        return Late(partial(_once, self.in_order, row), len(row))

    def in_order(self, row: Row) -> Row:
        """The bytes of a row in the byte order asked for."""
        return (
            row if self.byte_order == "little" else np.frombuffer(row, f"<u{WIDTHS[self.dtype]}").byteswap().tobytes()
        )


def late_base64(in_order: Callable[[Row], Row], row: Row) -> Late:
    """A row that will be a JSON string of base64, which has its length beforehand.

    Args:
        in_order: what is done to it first; keeps its length.
        row: its bytes.
    """
    return Late(partial(_once, lambda row: base64_string(in_order(row)), row), len('""') + -(-len(row) // 3) * 4)


def late_list(write: Callable[[Row], Row], row: Row, width: int) -> Late:
    """A row that will be a JSON array.

    Args:
        write: prints it.
        row: its bytes.
        width: bytes of one number.
    """
    return Late(partial(_once, write, row), len(row) // width * NUMBER_BYTES, is_exact=False)


def late_rows(row: Row, dtype: str, dimensions: int) -> Late:
    """Several vectors that will be a JSON array of arrays, printed a block at a time: a page has hundreds.

    Args:
        row: the vectors one behind the other, none included.
        dtype: of a component, as numpy names it.
        dimensions: components of a vector.
    """
    vectors = np.frombuffer(row, dtype).reshape(-1, dimensions)
    return Late(partial(_blocks, vectors), vectors.size * NUMBER_BYTES + len("[]"), is_exact=False)


def late_base64_rows(row: Row) -> Late:
    """The same as one string of base64, a block at a time."""
    return Late(partial(_base64_blocks, row), len('""') + -(-len(row) // 3) * 4)


def _blocks(vectors: NDArray[Any]) -> Iterator[bytes]:
    step = max(1, BLOCK_BYTES // (vectors.shape[1] * NUMBER_BYTES))
    yield b"["
    for start in range(0, len(vectors), step):
        block = orjson.dumps(vectors[start : start + step], option=orjson.OPT_SERIALIZE_NUMPY)
        yield (b"," if start else b"") + block[1:-1]
    yield b"]"


def _base64_blocks(row: Row) -> Iterator[bytes]:
    yield b'"'
    for start in range(0, len(row), BLOCK_BYTES):
        yield pybase64.b64encode(row[start : start + BLOCK_BYTES])
    yield b'"'


def _once(write: Callable[[Row], Row], row: Row) -> Iterator[Row]:
    yield write(row)


def base64_string(row: Row) -> bytes:
    """Bytes as a JSON string of base64."""
    return b'"%b"' % pybase64.b64encode(row)


def widened(row: Row, dtype: EmbedDtype) -> Row:
    """A row as float32, which holds every float16 and every bfloat16 as it is."""
    if dtype == "float32":
        return row
    if dtype == "float16":
        return np.frombuffer(row, "<f2").astype("<f4").tobytes()
    return (np.frombuffer(row, "<u2").astype("<u4") << 16).tobytes()  # a bfloat16 is the upper half of a float32


def float_list(row: Row) -> bytes:
    """A little-endian float32 row as a JSON array, each number in the fewest digits that give it back.

    Going through Python floats would print 17 digits each: twice the bytes for the same vector.
    """
    return orjson.dumps(np.frombuffer(row, "<f4"), option=orjson.OPT_SERIALIZE_NUMPY)


def integer_list(row: Row, dtype: str) -> bytes:
    """A row of 8-bit numbers as a JSON array."""
    return orjson.dumps(np.frombuffer(row, dtype), option=orjson.OPT_SERIALIZE_NUMPY)
