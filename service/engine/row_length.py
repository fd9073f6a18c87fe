"""Whether a vector has the bytes that its request asked for. A short one would be sent with 200."""

from collections.abc import Mapping

from service.ipc.messages import OutputSpec, Wanted

BITS = {"float32": 32, "float16": 16, "bfloat16": 16, "int8": 8, "uint8": 8, "binary": 1, "ubinary": 1}
"""Bits of a dimension in each number format."""


def has_right_length(row: Mapping[str, bytes], output: Wanted) -> bool:
    """Whether every number format that was asked for is there, with all its dimensions."""
    assert isinstance(output, OutputSpec)  # features have no row
    return all(len(row.get(kind, b"")) * 8 == output.dimensions * BITS[kind] for kind in output.kinds)
