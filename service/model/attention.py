"""Attention over packed prompts, without padding and without a mask: prompts of one length in one call.

In: queries, keys, values of all places in attention's order (`service.model.segments`). Out: their mixtures.
Knows neither rows that are shared nor layers. On CUDA, in half precision, it is one call (`varlen_attention.py`).
A window is exact and costs its own width: queries go in blocks, each with the keys that one of them can see.
"""

from collections.abc import Sequence

import torch
from torch.nn.functional import scaled_dot_product_attention

from service.model import varlen_attention
from service.model.reach import CAUSAL, Reach
from service.model.segments import Group

BLOCK_TOKENS = 256
"""Queries of one block where a window hides tokens; a block also reads the window's width on each side."""


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    groups: Sequence[Group],
    scaling: float,
    out: torch.Tensor,
    reach: Reach = CAUSAL,
) -> torch.Tensor:
    """``softmax(scaling · Q_s K_sᵀ + reach) V_s`` for each prompt s by itself.

    Args:
        query: `[num_places, heads, head_dim]`.
        key: `[num_places, kv_heads, head_dim]`, un-repeated (grouped queries).
        value: `[num_places, kv_heads, head_dim]`.
        groups: how prompts lie; they cover all places.
        scaling: factor of the scores.
        out: `[num_places, heads, head_dim]`, written.
        reach: which tokens of its prompt a token sees.
    """
    if varlen_attention.takes(query):
        return out.copy_(varlen_attention.attend(query, key, value, _lengths(groups), scaling, reach))
    if query.is_cuda:
        key, value = _repeat_heads(query, key, value)
    for group in groups:
        q, k, v = (_prompts(tensor, group) for tensor in (query, key, value))
        _prompts(out, group).copy_(_mixed(q, k, v, scaling, reach))
    return out


def _mixed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scaling: float, reach: Reach) -> torch.Tensor:
    """Attention of prompts of one length, all `[num_segments, heads, num_tokens, head_dim]`."""
    is_grouped, num_tokens = q.shape[1] != k.shape[1], q.shape[2]
    if not reach.is_bounded(num_tokens):
        return scaled_dot_product_attention(q, k, v, is_causal=reach.is_causal, scale=scaling, enable_gqa=is_grouped)
    blocks = []
    for start in range(0, num_tokens, BLOCK_TOKENS):
        stop = min(start + BLOCK_TOKENS, num_tokens)
        low, high = reach.columns(start, stop, num_tokens)
        mask = reach.mask((start, stop), (low, high), q.device)
        rows, seen = q[:, :, start:stop], slice(low, high)
        blocks.append(
            scaled_dot_product_attention(
                rows, k[:, :, seen], v[:, :, seen], attn_mask=mask, scale=scaling, enable_gqa=is_grouped
            )
        )
    return torch.cat(blocks, dim=2)


def attend_last(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, groups: Sequence[Group], scaling: float
) -> torch.Tensor:
    """The same for the last token of each prompt only, which sees all of its prompt.

    The query heads that share a key head are handed over as so many queries of that head.

    Args:
        query: `[num_segments, heads, head_dim]`, in attention's order.
        key: `[num_places, kv_heads, head_dim]`.
        value: `[num_places, kv_heads, head_dim]`.
        groups: how prompts lie.
        scaling: factor of the scores.

    Returns:
        `[num_segments, heads, head_dim]`.
    """
    if varlen_attention.takes(query):
        return varlen_attention.attend_last(query, key, value, _lengths(groups), scaling)
    mixed = []
    for group in groups:
        q = query[group.first : group.first + group.num_segments]
        q = q.view(group.num_segments, key.shape[1], -1, q.shape[-1])
        k, v = (_prompts(tensor, group) for tensor in (key, value))
        mixed.append(scaled_dot_product_attention(q, k, v, scale=scaling).flatten(1, 2))
    return torch.cat(mixed)


def _lengths(groups: Sequence[Group]) -> tuple[int, ...]:
    return tuple(group.num_tokens for group in groups for _ in range(group.num_segments))


def _repeat_heads(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A key and a value head for every query head.

    torch's float32 attention on CUDA knows no grouped queries but in its plain path, whose memory is quadratic.
    """
    times = query.shape[1] // key.shape[1]
    return key.repeat_interleave(times, dim=1), value.repeat_interleave(times, dim=1)


def _prompts(tensor: torch.Tensor, group: Group) -> torch.Tensor:
    """The group's part as `[num_segments, heads, num_tokens, head_dim]`, a view."""
    part = tensor[group.start : group.stop]
    return part.view(group.num_segments, group.num_tokens, *part.shape[1:]).transpose(1, 2)
