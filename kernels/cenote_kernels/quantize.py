"""Quantize unit vectors to the number formats that an embedding API offers."""

import math
from typing import Any, Literal

import torch

from cenote_kernels.ops import Axis, OpSpec, TensorSpec

NumberFormat = Literal["float32", "float16", "bfloat16", "int8", "uint8", "binary", "ubinary"]

INT8_RANGE_SIGMAS = 4.0
"""The fixed int8 range is ±4/√dimensions: a unit vector's components have a root mean square of 1/√dimensions."""

_CAST = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


Ranges = tuple[torch.Tensor, torch.Tensor]
"""Least and greatest value of each component, each `[dimensions]`, float32."""


def quantize(
    rows: torch.Tensor,
    kind: NumberFormat,
    minimum: torch.Tensor | None = None,
    maximum: torch.Tensor | None = None,
) -> torch.Tensor:
    """Rows in the number format `kind`.

    - float32, float16, bfloat16: a cast.
    - uint8: ``clip(floor((x - minimum) / ((maximum - minimum) / 255)), 0, 255)``; int8 is uint8 - 128. Without a
      calibrated range it is ``±4 / √dimensions`` for every component. It is never taken from the batch, so a vector
      does not depend on its neighbors.
    - ubinary: bit ``x >= 0``, first dimension in the highest bit, 8 per byte; binary is ubinary - 128 (offset binary).

    Args:
        rows: `[num_requests, dimensions]`, float32; unit length for all but the casts; dimensions is a multiple of 8
            for bits.
        kind: the number format.
        minimum: `[dimensions]`, float32, calibrated; None for the fixed range. Only int8 and uint8 read it.
        maximum: the same; both are given or neither.

    Returns:
        `[num_requests, dimensions]`, or `[num_requests, dimensions / 8]` for bits.

    Source: sentence-transformers `quantize_embeddings` (rule, offset, ranges from a calibration set); the fixed range
        is ours (DECISIONS.md).
    """
    if kind in _CAST:
        return rows.to(_CAST[kind])
    if kind in ("binary", "ubinary"):
        weights = torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], dtype=torch.int32, device=rows.device)
        bits = (rows >= 0).int().reshape(rows.shape[0], -1, 8)
        packed: torch.Tensor = (bits * weights).sum(-1)
        return packed.to(torch.uint8) if kind == "ubinary" else (packed - 128).to(torch.int8)
    if minimum is None or maximum is None:
        maximum = rows.new_full(rows.shape[-1:], INT8_RANGE_SIGMAS / math.sqrt(rows.shape[-1]))
        minimum = -maximum
    levels = ((rows - minimum) / ((maximum - minimum) / 255)).floor().clamp(0, 255)
    return levels.to(torch.uint8) if kind == "uint8" else (levels - 128).to(torch.int8)


def _sample(seed: int) -> dict[str, Any]:
    rows = torch.nn.functional.normalize(torch.randn(64, 256, generator=torch.Generator().manual_seed(seed)), dim=-1)
    return {"rows": rows, "kind": "int8", "minimum": rows[:32].amin(0), "maximum": rows[:32].amax(0)}


QUANTIZE = OpSpec(
    name="quantize",
    formula="out[i, j] = clip(floor((rows[i, j] - minimum[j]) / ((maximum[j] - minimum[j]) / 255)), 0, 255) - 128",
    axes=(
        Axis("num_requests", "rows of the batch"),
        Axis("dimensions", "dimensions of a vector"),
        Axis("packed", "dimensions, or dimensions / 8 for bits"),
    ),
    inputs=(
        TensorSpec("rows", ("num_requests", "dimensions"), (torch.float32,), "unit vectors"),
        TensorSpec("minimum", ("dimensions",), (torch.float32,), "least value of each component, where calibrated"),
        TensorSpec("maximum", ("dimensions",), (torch.float32,), "greatest value of each component, where calibrated"),
    ),
    outputs=(
        TensorSpec(
            "out", ("num_requests", "packed"), (*_CAST.values(), torch.int8, torch.uint8), "vectors as they are sent"
        ),
    ),
    reference=quantize,
    tolerance={torch.int8: 0.0, torch.uint8: 0.0, torch.float32: 0.0, torch.float16: 0.0, torch.bfloat16: 0.0},
    sample=_sample,
)
