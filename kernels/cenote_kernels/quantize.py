"""Quantize unit vectors to the number formats that an embedding API offers."""

import math
from typing import Any, Literal

import torch

from cenote_kernels.ops import Axis, OpSpec, TensorSpec

NumberFormat = Literal["float32", "float16", "bfloat16", "int8", "uint8", "binary", "ubinary"]

INT8_RANGE_SIGMAS = 4.0
"""The fixed int8 range is ±4/√dimensions: a unit vector's components have a root mean square of 1/√dimensions."""

_CAST = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def quantize(rows: torch.Tensor, kind: NumberFormat) -> torch.Tensor:
    """Rows in the number format `kind`.

    - float32, float16, bfloat16: a cast.
    - uint8: ``clip(floor((x + r) / (2 r / 255)), 0, 255)`` with ``r = 4 / √dimensions``; int8 is uint8 - 128. The range
      is fixed, never taken from the batch, so a vector does not depend on its neighbors.
    - ubinary: bit ``x >= 0``, first dimension in the highest bit, 8 per byte; binary is ubinary - 128 (offset binary).

    Args:
        rows: `[num_requests, dimensions]`, float32, unit length; dimensions is a multiple of 8 for bits.
        kind: the number format.

    Returns:
        `[num_requests, dimensions]`, or `[num_requests, dimensions / 8]` for bits.

    Source: sentence-transformers `quantize_embeddings` (rule and offset); the fixed range is ours (DECISIONS.md).
    """
    if kind in _CAST:
        return rows.to(_CAST[kind])
    if kind in ("binary", "ubinary"):
        weights = torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], dtype=torch.int32, device=rows.device)
        bits = (rows >= 0).int().reshape(rows.shape[0], -1, 8)
        packed: torch.Tensor = (bits * weights).sum(-1)
        return packed.to(torch.uint8) if kind == "ubinary" else (packed - 128).to(torch.int8)
    bound = INT8_RANGE_SIGMAS / math.sqrt(rows.shape[-1])
    levels = ((rows + bound) * (255 / (2 * bound))).floor().clamp(0, 255)
    return levels.to(torch.uint8) if kind == "uint8" else (levels - 128).to(torch.int8)


def _sample(seed: int) -> dict[str, Any]:
    rows = torch.randn(64, 256, generator=torch.Generator().manual_seed(seed))
    return {"rows": torch.nn.functional.normalize(rows, dim=-1), "kind": "int8"}


QUANTIZE = OpSpec(
    name="quantize",
    formula="out[i, j] = clip(floor((rows[i, j] + r) / (2 r / 255)), 0, 255) - 128",
    axes=(
        Axis("num_requests", "rows of the batch"),
        Axis("dimensions", "dimensions of a vector"),
        Axis("packed", "dimensions, or dimensions / 8 for bits"),
    ),
    inputs=(TensorSpec("rows", ("num_requests", "dimensions"), (torch.float32,), "unit vectors"),),
    outputs=(
        TensorSpec(
            "out", ("num_requests", "packed"), (*_CAST.values(), torch.int8, torch.uint8), "vectors as they are sent"
        ),
    ),
    reference=quantize,
    tolerance={torch.int8: 0.0, torch.uint8: 0.0, torch.float32: 0.0, torch.float16: 0.0, torch.bfloat16: 0.0},
    sample=_sample,
)
