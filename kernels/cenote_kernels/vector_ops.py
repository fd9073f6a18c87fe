"""The three steps from hidden states to vectors, each with its `OpSpec`: pool, truncate and normalize, quantize."""

import math
from typing import Any, Literal

import torch

from cenote_kernels.ops import Axis, OpSpec, TensorSpec

PoolingMode = Literal["last_token", "mean", "cls"]

FLOATS = (torch.float32, torch.bfloat16, torch.float16)

NumberFormat = Literal["float32", "float16", "bfloat16", "int8", "uint8", "binary", "ubinary"]

INT8_RANGE_SIGMAS = 4.0
"""The fixed int8 range is ±4/√dimensions: a unit vector's components have a root mean square of 1/√dimensions."""

_CAST = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


Ranges = tuple[torch.Tensor, torch.Tensor]
"""Least and greatest value of each component, each `[dimensions]`, float32."""


def pool(hidden: torch.Tensor, cu_seqlens: torch.Tensor, mode: PoolingMode) -> torch.Tensor:
    """``out[i] = hidden[cu_seqlens[i + 1] - 1]`` (last_token), ``hidden[cu_seqlens[i]]`` (cls), or the segment's mean.

    Args:
        hidden: `[total_tokens, hidden]`, any float dtype.
        cu_seqlens: `[num_requests + 1]`, int64; starts at 0, ends at total_tokens, strictly increasing.
        mode: which token, or the mean of all.

    Returns:
        `[num_requests, hidden]`, float32. A segment is read by itself only, so a NaN stays in its own row.
    """
    if mode == "last_token":
        return hidden[cu_seqlens[1:] - 1].float()
    if mode == "cls":
        return hidden[cu_seqlens[:-1]].float()
    if len(cu_seqlens) == 2:
        return hidden.float().mean(0, keepdim=True)
    if hidden.is_cuda:
        return segment_means(hidden, cu_seqlens)
    return torch.stack([segment.float().mean(0) for segment in torch.split(hidden, cu_seqlens.diff().tolist())])


def segment_means(hidden: torch.Tensor, cu_seqlens: torch.Tensor) -> torch.Tensor:
    """`pool` by means in one call, for a GPU, where calls for each segment cost it 45 us; a processor wins by them."""
    lengths = cu_seqlens.diff().to(hidden.device)
    return torch.segment_reduce(hidden.float(), "mean", lengths=lengths, axis=0, unsafe=True)  # it would wait to check


def _pool_sample(seed: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 200, (17,), generator=generator)
    cu_seqlens = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    hidden = torch.randn(int(cu_seqlens[-1]), 256, generator=generator)
    return {"hidden": hidden, "cu_seqlens": cu_seqlens, "mode": "last_token"}


POOL = OpSpec(
    name="pool",
    formula="out[i] = hidden[cu_seqlens[i + 1] - 1]",
    axes=(
        Axis("total_tokens", "tokens of all requests, packed without padding"),
        Axis("hidden", "width of the model"),
        Axis("num_requests", "rows of the batch"),
        Axis("num_bounds", "num_requests + 1"),
    ),
    inputs=(
        TensorSpec("hidden", ("total_tokens", "hidden"), FLOATS, "post-norm hidden states"),
        TensorSpec("cu_seqlens", ("num_bounds",), (torch.int64,), "cumulative segment bounds, from 0"),
    ),
    outputs=(TensorSpec("out", ("num_requests", "hidden"), (torch.float32,), "one raw vector per request"),),
    reference=pool,
    tolerance={torch.float32: 0.0},
    sample=_pool_sample,
)


def truncate_normalize(rows: torch.Tensor, dimensions: int, normalize: bool = True) -> torch.Tensor:
    """``out[i] = rows[i, :dimensions] / ||rows[i, :dimensions]||_2``.

    Cutting comes first: a cut of a unit vector is no unit vector. A row whose norm is zero comes out as NaN and not as
    zeros, so that the caller's finiteness check sees it.

    Args:
        rows: `[num_requests, hidden]`, float32.
        dimensions: how many leading dimensions to keep, 1..hidden.
        normalize: scale each row to unit length.

    Returns:
        `[num_requests, dimensions]`, float32.

    Source: Kusupati et al. 2022 (Matryoshka Representation Learning); the order is Qwen3-VL-Embedding's.
    """
    cut = rows[:, :dimensions]
    return cut / torch.linalg.vector_norm(cut, dim=-1, keepdim=True) if normalize else cut


def _truncate_sample(seed: int) -> dict[str, Any]:
    return {"rows": torch.randn(64, 256, generator=torch.Generator().manual_seed(seed)), "dimensions": 64}


TRUNCATE_NORMALIZE = OpSpec(
    name="truncate_normalize",
    formula="out[i] = rows[i, :dimensions] / ||rows[i, :dimensions]||_2",
    axes=(
        Axis("num_requests", "rows of the batch"),
        Axis("hidden", "width of the model"),
        Axis("dimensions", "dimensions kept"),
    ),
    inputs=(TensorSpec("rows", ("num_requests", "hidden"), (torch.float32,), "raw pooled vectors"),),
    outputs=(TensorSpec("out", ("num_requests", "dimensions"), (torch.float32,), "unit vectors"),),
    reference=truncate_normalize,
    tolerance={torch.float32: 1e-6},
    sample=_truncate_sample,
)


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
        minimum: `[dimensions]`, float32, calibrated; None for the fixed range. Only int8 and uint8 read it.
        maximum: the same; both are given or neither.

    Returns:
        `[num_requests, dimensions]`, or `[num_requests, dimensions / 8]` for bits.

    Source: sentence-transformers `quantize_embeddings` (rule, offset, ranges from a calibration set); the fixed range
        is ours (docs/decisions/api.md).
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


def _quantize_sample(seed: int) -> dict[str, Any]:
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
    sample=_quantize_sample,
)
