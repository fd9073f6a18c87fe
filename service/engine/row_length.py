"""Whether a vector has the bytes that its request asked for. A short one would be sent with 200."""

from collections.abc import Mapping

from service.ipc.messages import OutputSpec, Wanted
from service.ipc.number_formats import BITS


def has_right_length(row: Mapping[str, bytes], output: Wanted, num_vectors: int = 1) -> bool:
    """Whether every number format that was asked for is there, with all vectors and all their dimensions."""
    assert isinstance(output, OutputSpec)  # features have no row
    num_components = num_vectors * output.dimensions
    return all(len(row.get(kind, b"")) * 8 == num_components * BITS[kind] for kind in output.kinds)
