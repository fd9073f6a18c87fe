"""Attention over packed segments on CUDA: one call of torch's variable-length kernel for all of them.

In: queries, keys, values of all tokens, one segment after the other, and how long each segment is. Halves only: the
kernel is FlashAttention's. What it does not take goes by `service.model.packed.attention`, as on the CPU.

Source: torch 2.13 `torch.nn.attention.varlen`; Dao 2023 (FlashAttention-2, arXiv 2307.08691).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any

import torch

MIN_CAPABILITY = (8, 0)
MAX_HEAD_DIM = 256
HALVES = (torch.bfloat16, torch.float16)

_FULL, _CAUSAL = (-1, -1), (-1, 0)


@dataclass(frozen=True, slots=True)
class SegmentBounds:
    """Where segments lie, in the device's memory.

    Attributes:
        cumulative: `[num_segments + 1]`, int32, tokens before each segment; there may be empty ones at the end.
        lasts: `[num_segments + 1]`, int32, segments before each that are not empty.
        longest: tokens of the longest segment, or more.
    """

    cumulative: torch.Tensor
    lasts: torch.Tensor
    longest: int

    @staticmethod
    def of(lengths: tuple[int, ...], device: torch.device) -> "SegmentBounds":
        """Of segments that have so many tokens each, at least 1: made once a batch, for every layer."""
        return _bounds(lengths, device)


@cache
def takes(head_dim: int, dtype: torch.dtype, device: torch.device) -> bool:
    """True where torch's kernel takes queries `[..., head_dim]`: halves, on an NVIDIA card from Ampere on."""
    fits = dtype in HALVES and head_dim <= MAX_HEAD_DIM and head_dim % 8 == 0
    is_nvidia = device.type == "cuda" and not torch.version.hip
    return fits and is_nvidia and torch.cuda.get_device_capability(device) >= MIN_CAPABILITY


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bounds: SegmentBounds,
    scaling: float,
    window: tuple[int, int] = _CAUSAL,
) -> torch.Tensor:
    """``softmax(scaling · Q_s K_sᵀ + window) V_s`` of each segment s, `[total_tokens, heads, head_dim]`.

    Args:
        query: `[total_tokens, heads, head_dim]`, bfloat16 or float16; so are the others.
        key: `[total_tokens, kv_heads, head_dim]`, un-repeated (grouped queries); so is `value`.
        bounds: of the segments; mixtures of tokens behind the last one are not written.
        window: visible tokens before and after, -1 for all.
    """
    where, longest = bounds.cumulative, bounds.longest
    return _call(query, key, value, where, where, longest, longest, scaling, window)


def attend_last(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bounds: SegmentBounds, scaling: float
) -> torch.Tensor:
    """The same for the last token of each segment only, which attends to all of its segment.

    Args:
        query: `[num_segments, heads, head_dim]`; so are the mixtures.
        key: `[total_tokens, kv_heads, head_dim]`; so is `value`.
    """
    return _call(query, key, value, bounds.lasts, bounds.cumulative, 1, bounds.longest, scaling, _FULL)


def _call(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_bounds: torch.Tensor,
    key_bounds: torch.Tensor,
    longest_query: int,
    longest_key: int,
    scaling: float,
    window: tuple[int, int],
) -> torch.Tensor:
    """One call of the kernel; torch 2.11 takes grouped queries by itself, 2.13 by an argument."""
    kernel, asks_for_gqa = _kernel()
    options: dict[str, Any] = {"enable_gqa": query.shape[1] != key.shape[1]} if asks_for_gqa else {}
    mixed = kernel(
        query, key, value, query_bounds, key_bounds, longest_query, longest_key,
        scale=scaling, window_size=window, **options,
    )  # fmt: skip
    assert isinstance(mixed, torch.Tensor)  # a pair only where `return_aux` is given
    return mixed


@cache
def _kernel() -> tuple[Callable[..., Any], bool]:
    """Torch's kernel, and whether it asks for grouped queries. Imported for a card alone, as it brings the compiler."""
    from torch.nn.attention.varlen import varlen_attn

    return varlen_attn, "enable_gqa" in inspect.signature(varlen_attn).parameters


@lru_cache(maxsize=8)
def _bounds(lengths: tuple[int, ...], device: torch.device) -> SegmentBounds:
    both = torch.tensor([[0, *accumulate(lengths)], range(len(lengths) + 1)], dtype=torch.int32, device=device)
    return SegmentBounds(both[0], both[1], max(lengths))
