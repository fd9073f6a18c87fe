"""How vectors are written: the engine's little-endian rows become JSON numbers, base64 or raw bytes.

Knows no request's form but the fields that ask for a format. Every function takes a row as the engine gave it. In a
response struct a vector is a `Late`: it is printed when the encoder comes to it and not before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import msgspec
import numpy as np
import orjson
import pybase64

from schemas.embeddings import EmbeddingRequest, EmbedDtype

Late = partial[msgspec.Raw]
"""A vector that will print itself. So the text of a large answer exists once, and not beside the text of each vector:
for 2048 vectors of 2048 numbers that is 35 MB at its peak in place of 98, and a fifth of the time."""

ByteOrder = Literal["little", "big"]

WIDTHS: dict[EmbedDtype, int] = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of one component."""


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

    def json(self, row: bytes) -> Late:
        """A row as a JSON value."""
        return partial(self._json, row)

    def _json(self, row: bytes) -> msgspec.Raw:
        return base64_string(self.in_order(row)) if self.is_base64 else float_list(widened(row, self.dtype))

    def raw(self, rows: Sequence[bytes]) -> bytes:
        """All rows, one after another."""
        return self.in_order(b"".join(rows))

    def in_order(self, row: bytes) -> bytes:
        """The bytes of a row, or of several, in the byte order asked for."""
        return (
            row if self.byte_order == "little" else np.frombuffer(row, f"<u{WIDTHS[self.dtype]}").byteswap().tobytes()
        )


def print_late(value: object) -> msgspec.Raw:
    """The encoder's hook: what a `Late` prints."""
    if not isinstance(value, partial):
        raise TypeError(f"{type(value).__name__} is no part of an answer. This is a bug.")
    printed: msgspec.Raw = value()
    return printed


def base64_string(row: bytes) -> msgspec.Raw:
    """Bytes as a JSON string of base64, marked as JSON already: no digit needs an escape, so none is looked for."""
    return msgspec.Raw(b'"%b"' % pybase64.b64encode(row))


def widened(row: bytes, dtype: EmbedDtype) -> bytes:
    """A row as float32, which holds every float16 and every bfloat16 as it is."""
    if dtype == "float32":
        return row
    if dtype == "float16":
        return np.frombuffer(row, "<f2").astype("<f4").tobytes()
    return (np.frombuffer(row, "<u2").astype("<u4") << 16).tobytes()  # a bfloat16 is the upper half of a float32


def float_list(row: bytes) -> msgspec.Raw:
    """A little-endian float32 row as a JSON array, each number in the fewest digits that give it back.

    Going through Python floats would print 17 digits each: twice the bytes for the same vector.
    """
    return msgspec.Raw(orjson.dumps(np.frombuffer(row, "<f4"), option=orjson.OPT_SERIALIZE_NUMPY))


def integer_list(row: bytes, dtype: str) -> msgspec.Raw:
    """A row of 8-bit numbers as a JSON array."""
    return msgspec.Raw(orjson.dumps(np.frombuffer(row, dtype), option=orjson.OPT_SERIALIZE_NUMPY))
