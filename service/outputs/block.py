"""Results as the engine sends them: rows of a step's requests in one piece, by the names that asks give them."""

from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal

import msgspec

NumberFormat = Literal["float32", "float16", "bfloat16", "int8", "uint8", "binary", "ubinary"]
NUM_BITS: dict[NumberFormat, int] = {
    "float32": 32,
    "float16": 16,
    "bfloat16": 16,
    "int8": 8,
    "uint8": 8,
    "binary": 1,
    "ubinary": 1,
}
"""Bits of one dimension in each."""

if TYPE_CHECKING:
    Row = bytes | memoryview
else:
    Row = memoryview
"""The bytes of an output in one format: a view of the frame, since copying megabytes would hold the event loop."""

Rows = Mapping[str, Row]
"""Rows of a request, by the names of its asks' rows."""


class Vector(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """The answer to one request."""

    id: int
    rows: Rows  # little-endian, vector by vector
    key: bytes = b""  # content key of the image, beside features
    num_hits: int  # images whose features were there already; those that came as features are neither hit nor miss
    num_misses: int  # images that this request had encoded
    is_cached: bool = False  # the model did not run for it: the vector was kept, or made for a twin
    queue_ms: float
    inference_ms: float
    num_batched: int = 0  # inputs of its forward; 0 where the model did not run for it


class RowBlock(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """Answers of one step that have rows of the same names, one after the other; see `Vector`."""

    ids: list[int]
    rows: Rows
    sizes: dict[str, list[int]]
    key: bytes
    num_hits: list[int]
    num_misses: list[int]
    are_cached: list[bool]
    queue_ms: list[float]
    inference_ms: float
    num_batched: int

    def vectors(self) -> list[Vector]:
        """Each answer by itself; its rows are views."""
        cut: dict[str, list[Row]] = {}
        for name, whole in self.rows.items():
            view, bounds = memoryview(whole), pairwise(accumulate(self.sizes[name], initial=0))
            cut[name] = [view[start:stop] for start, stop in bounds]
        return [
            Vector(
                id=id_,
                rows={name: rows[place] for name, rows in cut.items()},
                key=self.key,
                num_hits=self.num_hits[place],
                num_misses=self.num_misses[place],
                is_cached=self.are_cached[place],
                queue_ms=self.queue_ms[place],
                inference_ms=self.inference_ms,
                num_batched=self.num_batched,
            )
            for place, id_ in enumerate(self.ids)
        ]


def blocks_of(vectors: Iterable[Vector]) -> list[RowBlock]:
    """Answers in as few pieces as there are kinds of them."""
    groups: dict[object, list[Vector]] = {}
    for one in vectors:
        groups.setdefault((*one.rows, one.key, one.inference_ms, one.num_batched), []).append(one)
    return [
        RowBlock(
            ids=[one.id for one in group],
            rows={name: b"".join([one.rows[name] for one in group]) for name in group[0].rows},
            sizes={name: [len(one.rows[name]) for one in group] for name in group[0].rows},
            key=group[0].key,
            num_hits=[one.num_hits for one in group],
            num_misses=[one.num_misses for one in group],
            are_cached=[one.is_cached for one in group],
            queue_ms=[one.queue_ms for one in group],
            inference_ms=group[0].inference_ms,
            num_batched=group[0].num_batched,
        )
        for group in groups.values()
    ]
