"""Truncate, then normalize: a matryoshka vector from a raw one, in this order and no other."""

from typing import Any

import torch

from cenote_kernels.ops import Axis, OpSpec, TensorSpec


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


def _sample(seed: int) -> dict[str, Any]:
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
    sample=_sample,
)
