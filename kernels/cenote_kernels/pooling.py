"""Ragged pooling: packed hidden states to one row per request."""

from typing import Any, Literal

import torch

from cenote_kernels.ops import Axis, OpSpec, TensorSpec

PoolingMode = Literal["last_token", "mean", "cls"]

FLOATS = (torch.float32, torch.bfloat16, torch.float16)


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
    return torch.stack([segment.float().mean(0) for segment in torch.split(hidden, cu_seqlens.diff().tolist())])


def _sample(seed: int) -> dict[str, Any]:
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
    sample=_sample,
)
