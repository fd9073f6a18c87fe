"""Number formats that features may have. Imports nothing, so that messages and scheduler may name them."""

from collections.abc import Mapping
from typing import Literal

TensorDtype = Literal["float32", "float16", "bfloat16"]
"""By torch's names."""

ITEM_BYTES: Mapping[TensorDtype, int] = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of one number."""
