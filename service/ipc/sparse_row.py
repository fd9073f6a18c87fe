"""A sparse vector as bytes between the processes: indices, then values, little-endian, four bytes each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.ipc.messages import NUM_BITS, OutputSpec
from service.ipc.vectors import Row

SPARSE = "sparse"
"""Its name among the rows of a `Vector`."""
MULTI_ROW = "multi_"
"""What stands before the number format of token vectors there, where a model has a dense vector too."""
ENTRY_BYTES = 8
EXPECTED_ENTRIES = 4096
"""That are reserved for before the model has run; trained models have some hundred for a long text."""


def expected_bytes(output: OutputSpec) -> int:
    """Bytes to reserve for the sparse vector of an input; 0 where none is asked for."""
    return ENTRY_BYTES * min(output.dimensions, EXPECTED_ENTRIES) if output.is_sparse else 0


def token_bytes(output: OutputSpec) -> int:
    """Bytes of the token vectors of an input, for each of its tokens, where they are asked for beside a dense one."""
    return sum(output.dimensions * NUM_BITS[dtype] // 8 for dtype in output.token_dtypes)


def pack_sparse(indices: NDArray[Any], values: NDArray[Any]) -> bytes:
    """The row of entries whose indices rise."""
    return indices.astype("<u4").tobytes() + values.astype("<f4").tobytes()


def unpack_sparse(row: Row) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Indices and values, `[num_entries]` each; of an empty row none."""
    half = len(row) // 2
    return np.frombuffer(row, "<u4", half // 4), np.frombuffer(row, "<f4", half // 4, half)
