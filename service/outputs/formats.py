"""Number formats that the engine writes vectors in."""

from typing import Literal

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
