"""Rotary position embedding of queries and keys, side by side in one tensor."""

import torch


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Turn each pair (x_i, x_{i + head_dim / 2}) by its angle.

    Args:
        x: `[rows, heads, head_dim]`.
        cos: `[rows, 1, head_dim / 2]`; with `sin` made once per batch.
        sin: `[rows, 1, head_dim / 2]`.
        out: as `x`, written; other memory.

    Source: transformers `apply_rotary_pos_emb` of Qwen3-VL; Su et al. 2021 (arXiv 2104.09864).
    """
    (first, second), (to_first, to_second) = x.chunk(2, dim=-1), out.chunk(2, dim=-1)
    torch.mul(first, cos, out=to_first).addcmul_(second, sin, value=-1)
    torch.mul(second, cos, out=to_second).addcmul_(first, sin)
    return out
