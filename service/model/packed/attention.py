"""Attention over packed prompts, without padding and without a mask: prompts of one length in one call.

In: queries, keys, values of all places in attention's order (`service.model.packed.segments`). Out: their mixtures.
Knows neither rows that are shared nor layers. It is one call on CUDA in half precision (`varlen_attention.py`), and on
some processors (`native_attention.py`). Elsewhere it is torch's, group by group: a window is exact and costs
its own width, since queries go in blocks, each with the keys that it attends to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import scaled_dot_product_attention

from cenote_kernels.cpu.attention import NO_KEYS_VALUES, KeysValues
from service.model.linear.cpu_backend import has_attention
from service.model.packed import native_attention, varlen_attention
from service.model.packed.segments import Group, SharedPrefix
from service.model.packed.varlen_attention import SegmentBounds

BLOCK_TOKENS = 256
"""Queries of one block where a window hides tokens, or scores have biases; with a window a block also reads its width
on each side."""
CAPPED_TOKENS = 4096
"""Tokens of prompts whose capped scores are made together, block by block."""


@dataclass(frozen=True, slots=True)
class AttentionWindow:
    """A token i attends to j when ``|i - j| < window`` (None: no bound), and ``j <= i`` where it is causal."""

    is_causal: bool = True
    window: int | None = None

    def sides(self) -> tuple[int, int]:
        """Visible tokens before and after, -1 for all: the form of variable-length kernels."""
        left = -1 if self.window is None else self.window - 1
        return left, 0 if self.is_causal else left

    def columns(self, start: int, stop: int, num_tokens: int) -> tuple[int, int]:
        """Range of the tokens that any token from `start` to `stop` attends to."""
        low = 0 if self.window is None else max(0, start - self.window + 1)
        high = num_tokens if self.window is None else min(num_tokens, stop + self.window - 1)
        return low, stop if self.is_causal else high

    def mask(self, rows: tuple[int, int], columns: tuple[int, int], device: torch.device) -> torch.Tensor:
        """`[rows, columns]`, true where a query of the range `rows` attends to a key of the range `columns`."""
        distance = torch.arange(*rows, device=device)[:, None] - torch.arange(*columns, device=device)
        seen = distance >= 0 if self.is_causal else torch.ones_like(distance, dtype=torch.bool)
        return seen if self.window is None else seen & (distance.abs() < self.window)


CAUSAL = AttentionWindow()
"""The window of a decoder: all tokens before, and the token itself."""


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    groups: Sequence[Group] | SegmentBounds,
    scaling: float,
    out: torch.Tensor,
    window: AttentionWindow = CAUSAL,
    prefix: KeysValues = NO_KEYS_VALUES,
    beginnings: Sequence[SharedPrefix] = (),
) -> torch.Tensor:
    """``softmax(scaling · Q_s K_sᵀ + window) V_s`` for each prompt s by itself.

    Args:
        query: `[num_places, heads, head_dim]`.
        key: `[num_places, kv_heads, head_dim]`, un-repeated (grouped queries); so is `value`.
        groups: how prompts lie; places after the last one are padding. Bounds are what a graph of CUDA reads.
        out: `[num_places, heads, head_dim]`, for the mixtures where they have no memory of their own.
        window: the tokens of its prompt that a token attends to.
        prefix: of tokens in front of every prompt, which each attends to; on a CPU, and causal.
        beginnings: of prompts whose rests are in `groups`; likewise.
    """
    if isinstance(groups, SegmentBounds):
        return varlen_attention.attend(query, key, value, groups, scaling, window.sides())
    if has_attention(query.shape[-1], query.dtype, query.device):
        hashable, sides = tuple(groups), window.sides()  # the plan of a batch is kept from layer to layer
        return native_attention.attend(query, key, value, hashable, scaling, out, sides, prefix, tuple(beginnings))
    if beginnings or len(prefix[0]):
        out[groups[-1].stop :].zero_()
        return _behind_prefixes(query, key, value, groups, beginnings, scaling, out, prefix)
    hides = any(group.num_keys < group.num_tokens for group in groups)
    if not hides and varlen_attention.takes(query.shape[-1], query.dtype, query.device):
        return varlen_attention.attend(query, key, value, _bounds(groups, query.device), scaling, window.sides())
    if query.is_cuda:
        key, value = _repeat_heads(query, key, value)
    out[groups[-1].stop :].zero_()
    for group in groups:
        q, k, v = (_prompts(tensor, group) for tensor in (query, key, value))
        if group.num_keys < group.num_tokens:
            k, v = k[:, :, : group.num_keys], v[:, :, : group.num_keys]
        is_grouped = q.shape[1] != k.shape[1]
        if window.window is None or group.num_tokens <= window.window:
            mixed = scaled_dot_product_attention(
                q, k, v, is_causal=window.is_causal, scale=scaling, enable_gqa=is_grouped
            )
        else:
            mixed = _in_blocks(q, k, v, scaling, window)
        _prompts(out, group).copy_(mixed)
    return out


def _put_before(prefix: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    """`[num_before, kv_heads, head_dim]` in front of each of `[num_segments, kv_heads, num_tokens, head_dim]`."""
    return torch.cat([prefix.transpose(0, 1).expand(len(own), -1, -1, -1), own], dim=2)


def _in_blocks(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scaling: float, window: AttentionWindow
) -> torch.Tensor:
    """The same where a window hides tokens; all are `[num_segments, heads, num_tokens, head_dim]`.

    Keys and values may be fewer: tokens at the end are hidden. A token that sees none has zeros, as torch has it.
    """
    is_grouped, num_tokens = q.shape[1] != k.shape[1], q.shape[2]
    blocks = []
    for start in range(0, num_tokens, BLOCK_TOKENS):
        stop = min(start + BLOCK_TOKENS, num_tokens)
        low, high = (min(one, k.shape[2]) for one in window.columns(start, stop, num_tokens))
        mask = window.mask((start, stop), (low, high), q.device)
        rows, seen = q[:, :, start:stop], slice(low, high)
        blocks.append(
            scaled_dot_product_attention(
                rows, k[:, :, seen], v[:, :, seen], attn_mask=mask, scale=scaling, enable_gqa=is_grouped
            )
        )
    return torch.cat(blocks, dim=2)


def attend_capped(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    groups: Sequence[Group],
    scaling: float,
    cap: float,
    out: torch.Tensor,
    window: AttentionWindow,
) -> torch.Tensor:
    """``softmax(cap · tanh(scaling · Q_s K_sᵀ / cap) + window) V_s``, as `attend`, in plain products block by block.

    Source: transformers 5.24 `gemma2.eager_attention_forward`; no attention of torch's has a cap.
    """
    key, value = _repeat_heads(query, key, value)
    out[groups[-1].stop :].zero_()
    for group in groups:
        num_tokens, mixed = group.num_tokens, _prompts(out, group)
        q, k, v = (_prompts(tensor, group) for tensor in (query, key, value))
        num_together = max(1, CAPPED_TOKENS // num_tokens)
        for first in range(0, group.num_segments, num_together):
            prompts = slice(first, first + num_together)
            for start in range(0, num_tokens, BLOCK_TOKENS):
                stop = min(start + BLOCK_TOKENS, num_tokens)
                low, high = window.columns(start, stop, num_tokens)
                scores = q[prompts, :, start:stop] @ k[prompts, :, low:high].transpose(2, 3)
                scores = scores.mul_(scaling / cap).tanh_().mul_(cap)
                scores.masked_fill_(~window.mask((start, stop), (low, high), q.device), float("-inf"))
                weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(v.dtype)
                mixed[prompts, :, start:stop] = weights @ v[prompts, :, low:high]
    return out


def attend_last(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    groups: Sequence[Group] | SegmentBounds,
    scaling: float,
    prefix: KeysValues = NO_KEYS_VALUES,
    beginnings: Sequence[SharedPrefix] = (),
) -> torch.Tensor:
    """The same for the last token of each prompt only, which attends to all of its prompt.

    The query heads that share a key head are handed over as so many queries of that head.

    Args:
        query: `[num_segments, heads, head_dim]`, in attention's order; so are the mixtures.
        key: `[num_places, kv_heads, head_dim]`; so is `value`. For the others see `attend`.
    """
    if isinstance(groups, SegmentBounds):
        return varlen_attention.attend_last(query, key, value, groups, scaling)
    if has_attention(query.shape[-1], query.dtype, query.device):
        hashable = tuple(groups)
        return native_attention.attend_last(query, key, value, hashable, scaling, prefix, tuple(beginnings))
    if not len(prefix[0]) and varlen_attention.takes(query.shape[-1], query.dtype, query.device):
        return varlen_attention.attend_last(query, key, value, _bounds(groups, query.device), scaling)
    mixed = []
    for group in groups:
        q = query[group.first : group.first + group.num_segments]
        q = q.view(group.num_segments, key.shape[1], -1, q.shape[-1])
        k, v = (_prompts(tensor, group) for tensor in (key, value))
        for one in beginnings:
            if one.stop <= group.start < one.suffix_stop:
                k, v = _put_before(key[one.start : one.stop], k), _put_before(value[one.start : one.stop], v)
        if len(prefix[0]):
            k, v = _put_before(prefix[0], k), _put_before(prefix[1], v)
        mixed.append(scaled_dot_product_attention(q, k, v, scale=scaling).flatten(1, 2))
    return torch.cat(mixed)


def attend_biased(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, groups: Sequence[Group], slopes: torch.Tensor
) -> torch.Tensor:
    """``softmax(Q_s K_sᵀ / √head_dim - m |i - j|) V_s`` for each prompt s by itself, both ways.

    The biases of a block of queries are there at once: of 12 heads and 8,192 keys 100 MB in float32.

    Args:
        query: `[num_places, heads, head_dim]`; so are `key` and `value`.
        groups: how prompts lie; places after the last one are padding, and their mixtures zero.
        slopes: `[heads]`, m.

    Source: Press et al. 2022 (arXiv 2108.12409), with both sides as for an encoder.
    """
    out = torch.zeros_like(query)
    for group in groups:
        q, k, v, mixed = (_prompts(tensor, group) for tensor in (query, key, value, out))
        k, v = k[:, :, : group.num_keys], v[:, :, : group.num_keys]
        keys = torch.arange(group.num_keys, device=query.device)
        for start in range(0, group.num_tokens, BLOCK_TOKENS):
            rows = slice(start, min(start + BLOCK_TOKENS, group.num_tokens))
            places = torch.arange(rows.start, rows.stop, device=query.device)
            bias = -slopes[:, None, None] * (places[:, None] - keys).abs()
            mixed[:, :, rows] = scaled_dot_product_attention(q[:, :, rows], k, v, attn_mask=bias.to(q.dtype))
    return out


def attend_whole(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """``softmax(Q Kᵀ / √head_dim) V`` of one prompt or image, every query with every key.

    Q and the mixtures are `[num_queries, heads, head_dim]`, K and V `[num_keys, heads, head_dim]`.
    """
    if has_attention(query.shape[-1], query.dtype, query.device):
        return native_attention.attend_whole(query, key, value)
    q, k, v = (tensor.transpose(0, 1)[None] for tensor in (query, key, value))
    return scaled_dot_product_attention(q, k, v)[0].transpose(0, 1)


def _bounds(groups: Sequence[Group], device: torch.device) -> SegmentBounds:
    return SegmentBounds.of(tuple(group.num_tokens for group in groups for _ in range(group.num_segments)), device)


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


def _behind_prefixes(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    groups: Sequence[Group],
    beginnings: Sequence[SharedPrefix],
    scaling: float,
    out: torch.Tensor,
    prefix: KeysValues,
) -> torch.Tensor:
    """Causal attention by torch on a CPU, after prefixes that stand once: to them and to the rests, merged.

    With the mixtures o₁ of the prefix and o₂ of the rest and the logarithms l₁ and l₂ of the sums in their softmaxes,
    attention to both is ``o = o₂ + sigmoid(l₁ - l₂) · (o₁ - o₂)``, ``l = log(exp l₁ + exp l₂)``. Exact but for
    rounding.

    Source: FlashInfer's cascade inference (Ye et al. 2024); Dao et al. 2023, Flash-Decoding.
    """
    sums = query.new_empty(query.shape[:2], dtype=torch.float32)
    sizes = [one.stop - one.start for one in beginnings]
    alone = [Group(0, one.start, one.stop, 1, size, size) for one, size in zip(beginnings, sizes, strict=True)]
    for group in (*alone, *groups):
        rows = slice(group.start, group.stop)
        shape = (group.num_segments, group.num_tokens)
        own, keys, values = (one[rows].view(*shape, *one.shape[1:]) for one in (query, key, value))
        mixed, logarithms = _flash(own, keys, values, scaling, is_causal=True)
        out[rows], sums[rows] = mixed.flatten(0, 1), logarithms.flatten(0, 1)
    for one in beginnings:
        seen, rests = slice(one.start, one.stop), slice(one.stop, one.suffix_stop)
        _merge(query[rests], (key[seen], value[seen]), scaling, out[rests], sums[rests])
    if len(prefix[0]):
        used = slice(0, groups[-1].stop)
        _merge(query[used], prefix, scaling, out[used], sums[used])
    return out


def _merge(query: torch.Tensor, before: KeysValues, scaling: float, out: torch.Tensor, sums: torch.Tensor) -> None:
    """Let queries attend to what stands before them all, too; changes their mixtures and sums in place."""
    mixed, logarithms = _flash(query[None], before[0][None], before[1][None], scaling, is_causal=False)
    weight = torch.sigmoid(logarithms[0] - sums).to(out.dtype)
    out.lerp_(mixed[0], weight[..., None])
    torch.logaddexp(sums, logarithms[0], out=sums)


def _flash(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scaling: float, *, is_causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mixtures `[prompts, tokens, heads, head_dim]` and logarithms of sums `[prompts, tokens, heads]`.

    Source: torch `aten/src/ATen/native/transformers/attention.cpp`, which `scaled_dot_product_attention` ends in.
    """
    mixed, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), 0.0, is_causal, scale=scaling
    )
    return mixed.transpose(1, 2), sums.transpose(1, 2)
