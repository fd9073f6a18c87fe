"""Vectors as the engine sends them: each by itself, or those of a batch in one piece."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    Row = bytes | memoryview
else:
    Row = memoryview
"""A vector's bytes, or an image's features: a view of the frame, since copying megabytes would hold the event loop."""

Rows = Mapping[str, Row]
"""A vector's bytes in each number format; a sparse vector's, and those of tokens, by names of their own."""


class Vector(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """The answer to one request: a vector, or an image's features."""

    id: int
    rows: Rows  # little-endian, of features row by row
    key: bytes = b""  # content key of the image, beside features
    num_hits: int  # images whose features were there already; those that came as features are neither hit nor miss
    num_misses: int  # images that this request had encoded
    is_cached: bool = False  # the model did not run for it: the vector was kept, or made for a twin
    queue_ms: float
    inference_ms: float
    num_batched: int = 0  # inputs of its forward; 0 where the model did not run for it


class VectorBlock(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """The answers to requests without media that asked for the same and went through one forward."""

    ids: list[int]
    rows: Rows  # of all, one behind the other
    queue_ms: list[float]
    inference_ms: float
    num_batched: int

    def vectors(self) -> list[Vector]:
        """Each by itself."""
        made = []
        sizes = [(dtype, memoryview(whole), len(whole) // len(self.ids)) for dtype, whole in self.rows.items()]
        for place, (id_, queue_ms) in enumerate(zip(self.ids, self.queue_ms, strict=True)):
            vector = Vector(
                id=id_,
                rows={dtype: whole[place * size : (place + 1) * size] for dtype, whole, size in sizes},
                num_hits=0,
                num_misses=0,
                queue_ms=queue_ms,
                inference_ms=self.inference_ms,
                num_batched=self.num_batched,
            )
            made.append(vector)
        return made
