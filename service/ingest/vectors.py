"""The vectors of a point, by kind, and how sinks lay them out."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

VectorKind = Literal["dense", "sparse", "multi"]
"""One list of numbers, weights of a few vocabulary entries, or a vector for each token; a model's `outputs`."""

VECTOR_KINDS: tuple[VectorKind, ...] = ("dense", "sparse", "multi")
"""In the order of columns."""
DENSE_ALONE: tuple[VectorKind, ...] = ("dense",)
"""The default of `--outputs`."""
ENTRY_BYTES = 8
"""Of a sparse vector: index and value."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseVector:
    """The entries above zero, `[num_entries]` each: rising indices, uint32, and weights, float32; there may be none."""

    indices: NDArray[np.uint32]
    values: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Vectors:
    """Vectors of a point, by kind; empty, or None, of a kind that the run did not ask for.

    Attributes:
        dense: components as little-endian float32.
        multi: the same, one token's vector after another.
    """

    dense: bytes = b""
    sparse: SparseVector | None = None
    multi: bytes = b""

    @property
    def num_bytes(self) -> int:
        """Bytes of all of them."""
        num_entries = 0 if self.sparse is None else len(self.sparse.indices)
        return len(self.dense) + len(self.multi) + num_entries * ENTRY_BYTES


@dataclass(frozen=True, slots=True)
class Layout:
    """Vectors that a sink stores.

    Attributes:
        outputs: kinds of vector, in the order of `VECTOR_KINDS`.
        dimensions: length of a dense vector, and of a token's.
        sparse_dimensions: number of entries that a sparse vector could have; 0 of a model that has none.
        by_dot: the model compares dense vectors by dot products, and theirs are of any length; else by cosines.
    """

    outputs: tuple[VectorKind, ...]
    dimensions: int
    sparse_dimensions: int = 0
    by_dot: bool = False

    def name(self, kind: VectorKind) -> str:
        """Name of a kind's column, field or named vector: its own, or `vector` of a dense one that is alone."""
        return "vector" if self.outputs == DENSE_ALONE else kind


NO_LAYOUT = Layout((), 0)
"""Of a sink that is not open."""


def floats(vector: bytes) -> NDArray[np.float32]:
    """Components of a dense vector, `[dimensions]`."""
    return np.frombuffer(vector, "<f4")


def rows(multi: bytes, dimensions: int) -> NDArray[np.float32]:
    """Token vectors, `[num_tokens, dimensions]`."""
    return floats(multi).reshape(-1, dimensions)


def as_json(vectors: Vectors, layout: Layout) -> dict[str, Any]:
    """Each kind under its name, with arrays where JSON has lists; sparse ones as `/v2/embed` has them."""
    fields: dict[str, Any] = {}
    if vectors.dense:
        fields[layout.name("dense")] = floats(vectors.dense)
    if vectors.sparse is not None:
        fields["sparse"] = {"indices": vectors.sparse.indices, "values": vectors.sparse.values}
    if vectors.multi:
        fields["multi"] = rows(vectors.multi, layout.dimensions)
    return fields
