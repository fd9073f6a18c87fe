"""Our attention under the stock modules of transformers: their own forward over a packed batch, without a mask.

In: what a stock attention module hands to its attention function, and the groups that `TextEncoder` gave its forward.
Out: the mixtures. transformers builds no mask for an implementation that it has no mask function for, so no
`[total, total]` mask is ever made.

Source: transformers 5.23 `AttentionInterface`, `masking_utils._preprocess_mask_arguments`, `sdpa_attention_forward`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers.modeling_utils import AttentionInterface

from service.errors import ModelError
from service.model.packed.attention import AttentionWindow, attend, attend_capped
from service.model.packed.segments import Group
from service.model.packed.varlen_attention import SegmentBounds

PACKED = "cenote_packed"
"""Name of the implementation, as a configuration has it."""


def attend_packed(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    packing: Sequence[Group] | SegmentBounds,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    is_causal: bool | None = None,
    **others: object,
) -> tuple[torch.Tensor, None]:
    """``softmax(scaling · Q_s K_sᵀ + window) V_s`` for each prompt s of the batch.

    Args:
        module: the stock attention; it and its configuration say whether it is causal.
        query: `[1, heads, total_tokens, head_dim]`.
        key: `[1, kv_heads, total_tokens, head_dim]`; so is `value`.
        attention_mask: None, always.
        packing: how the prompts lie, equal lengths together; tokens after the last one are padding.
        scaling: factor of the scores; head_dim^-1/2 when not given.
        softcap: bound of the scores, as Gemma 2 has one.
        is_causal: True where the caller knows better than the module, as CLIP's text tower does.

    Returns:
        `[1, total_tokens, heads, head_dim]`, and no weights.

    Raises:
        ModelError: the model wants something that this does not compute.
    """
    if attention_mask is not None:
        raise ModelError("internal_error", "this model's attention has a mask of its own; it is not supported")
    q, k, v = (tensor[0].transpose(0, 1) for tensor in (query, key, value))
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    if sliding_window is not None and _is_made_bidirectional(module):
        sliding_window += 1  # transformers' mask of such a decoder has the window's last token, too
    window = AttentionWindow(is_causal is True or calls_itself_causal(module), sliding_window)
    factor = q.shape[-1] ** -0.5 if scaling is None else scaling
    if softcap is not None:
        if isinstance(packing, SegmentBounds):
            raise ModelError("internal_error", "no kernel for CUDA has capped scores")
        return attend_capped(q, k, v, packing, factor, softcap, out, window)[None], None
    return attend(q, k, v, packing, factor, out, window)[None], None


@contextmanager
def stock_attention(implementation: str, *configs: Any) -> Iterator[None]:
    """One of transformers' own implementations in the place of these configurations', for the known-answer check."""
    ours = [config._attn_implementation for config in configs]
    try:
        for config in configs:
            config._attn_implementation = implementation
        yield
    finally:
        for config, own in zip(configs, ours, strict=True):
            config._attn_implementation = own


def calls_itself_causal(module: torch.nn.Module) -> bool:
    """True where a token attends only to those before it.

    A decoder that was made an encoder says so in its configuration alone: its modules still have `is_causal` true.
    """
    return bool(getattr(module, "is_causal", True)) and not _is_made_bidirectional(module)


def _is_made_bidirectional(module: torch.nn.Module) -> bool:
    return getattr(getattr(module, "config", None), "is_causal", True) is False


AttentionInterface.register(PACKED, attend_packed)
