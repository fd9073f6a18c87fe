"""How long a component is in each number format that the engine makes. Names are those of `OutputSpec.kinds`."""

BITS = {"float32": 32, "float16": 16, "bfloat16": 16, "int8": 8, "uint8": 8, "binary": 1, "ubinary": 1}
"""Bits of a dimension."""
