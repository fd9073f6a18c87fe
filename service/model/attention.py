"""Causal attention over packed segments, registered with transformers under the name `cenote_segments`.

Requests lie one behind the other in one row of tokens. Each attends to itself only, so no mask and no padding exist.
"""

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

NAME = "cenote_segments"


def segment_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    segment_lengths: list[int],
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """``softmax(scaling · Q_s K_sᵀ + causal) V_s`` for each segment s by itself.

    Args:
        module: the calling layer; not used.
        query: `[1, heads, total_tokens, head_dim]`.
        key: `[1, kv_heads, total_tokens, head_dim]`, un-repeated (grouped queries).
        value: `[1, kv_heads, total_tokens, head_dim]`.
        attention_mask: always None: transformers makes no mask for an attention it does not know.
        segment_lengths: tokens of each request; they add up to total_tokens.
        scaling: factor of the scores; None is `head_dim ** -0.5`.

    Returns:
        `[1, total_tokens, heads, head_dim]`, and no attention weights.
    """
    if attention_mask is not None:
        raise RuntimeError("a packed batch was given a mask. This is a bug.")
    segments = zip(*(torch.split(tensor, segment_lengths, dim=2) for tensor in (query, key, value)), strict=True)
    out = [
        scaled_dot_product_attention(q, k, v, is_causal=True, scale=scaling, enable_gqa=q.shape[1] != k.shape[1])
        for q, k, v in segments
    ]
    return torch.cat(out, dim=2).transpose(1, 2), None


def register() -> str:
    """Make the attention known to transformers; returns its name. Registering again changes nothing."""
    AttentionInterface.register(NAME, segment_attention)
    return NAME
