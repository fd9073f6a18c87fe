"""Causal attention in bfloat16 as products of oneDNN, on processors where torch's own multiplies slowly.

torch's attention on a CPU calls MKL for each block, and MKL takes AVX-512 and bfloat16's instructions on Intel's
processors only. Elsewhere whole products are faster: queries go in blocks, each with the keys up to its end, all heads
in one call. Scores are float32, as torch's are: products of float32 tensors that oneDNN may round to bfloat16, which
changes no number here, since all of them are bfloat16's.
"""

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, cast

import torch

from service.model.linear.processor import processor_words

LEAST_TOKENS: Final = 64
"""Shorter prompts are as fast by torch's attention."""
BLOCK_TOKENS: Final = 128
"""Queries of a block; smaller ones compute fewer hidden scores, larger ones multiply faster."""
STEP_TOKENS: Final = 32
"""Prompts are filled up to a multiple, since oneDNN writes code for each length."""


def takes(num_tokens: int, dtype: torch.dtype, device: torch.device) -> bool:
    """Return whether prompts of so many tokens are faster so."""
    return dtype == torch.bfloat16 and device.type == "cpu" and num_tokens >= LEAST_TOKENS and _is_faster_here()


def attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scaling: float, out: torch.Tensor
) -> torch.Tensor:
    """``softmax(scaling · Q Kᵀ + causal mask) V`` of one prompt.

    Args:
        query: `[num_tokens, heads, head_dim]`, bfloat16.
        key: `[num_tokens, kv_heads, head_dim]`.
        value: `[num_tokens, kv_heads, head_dim]`.
        out: `[num_tokens, heads, head_dim]`, written.
    """
    num_tokens, num_kv_heads, head_dim = key.shape
    num_sharing = query.shape[1] // num_kv_heads
    queries, keys = _heads_first(query, torch.float32), _heads_first(key, torch.float32).transpose(1, 2)
    values = _heads_first(value, value.dtype)
    by_head = out.view(num_tokens, num_kv_heads, num_sharing, head_dim)
    for start in range(0, num_tokens, BLOCK_TOKENS):
        stop = min(start + BLOCK_TOKENS, queries.shape[1])
        size, num_rows = stop - start, min(stop, num_tokens) - start
        rows = queries[:, start:stop].reshape(num_kv_heads, num_sharing * size, head_dim)
        scores = queries.new_empty(num_kv_heads, num_sharing * size, stop)
        with _may_round():
            torch.baddbmm(scores, rows, keys[:, :, :stop], beta=0, alpha=scaling, out=scores)
        newest = scores.view(num_kv_heads, num_sharing, size, stop)[..., start:]
        newest.masked_fill_(_hidden(size), float("-inf"))
        mixed = torch.bmm(torch.softmax(scores, -1).to(value.dtype), values[:, :stop])
        mixed = mixed.view(num_kv_heads, num_sharing, size, head_dim)[:, :, :num_rows]
        by_head[start : start + num_rows] = mixed.permute(2, 0, 1, 3)
    return out


def _heads_first(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """`[num_tokens, heads, head_dim]` as `[heads, num_tokens, head_dim]`, zeros behind the prompt."""
    num_tokens, num_heads, head_dim = tensor.shape
    filled = tensor.new_zeros(num_heads, -(-num_tokens // STEP_TOKENS) * STEP_TOKENS, head_dim, dtype=dtype)
    filled[:, :num_tokens] = tensor.transpose(0, 1)
    return filled


@cache
def _hidden(size: int) -> torch.Tensor:
    """`[size, size]`, true where a key stands behind its query."""
    return torch.ones(size, size, dtype=torch.bool).triu_(1)


@contextmanager
def _may_round() -> Iterator[None]:
    """Let oneDNN multiply float32 by bfloat16's instructions; a setting of the whole process, so it is set back."""
    matmul = cast(Any, torch.backends.mkldnn).matmul  # torch has no types for it
    before = matmul.fp32_precision
    matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        matmul.fp32_precision = before


@cache
def _is_faster_here() -> bool:
    """AMD's processors with oneDNN for bfloat16: there it has been measured."""
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    is_amd = "AuthenticAMD" in processor_words()
    return is_x86 and is_amd and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
