"""Attention on a CPU behind a beginning that stands once: two parts, merged by the logarithms of their sums.

A token attends to the beginning, with all others that do, and to its own prompt's rest. With the mixtures o₁ and o₂
and the logarithms l₁ and l₂ of the sums in their softmaxes, attention to both is
``o = o₂ + sigmoid(l₁ - l₂) · (o₁ - o₂)``, ``l = log(exp l₁ + exp l₂)``. Exact but for rounding.

Source: FlashInfer's cascade inference (Ye et al. 2024); Dao et al. 2023, Flash-Decoding.
"""

from collections.abc import Sequence

import torch

from cenote_kernels.cpu.attention import KeysValues
from service.model.packed.segments import Beginning, Group


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    groups: Sequence[Group],
    beginnings: Sequence[Beginning],
    scaling: float,
    out: torch.Tensor,
    prefix: KeysValues | None,
) -> torch.Tensor:
    """Causal attention; see `service.model.packed.attention.attend`, whose arguments these are."""
    sums = query.new_empty(query.shape[:2], dtype=torch.float32)
    alone = [Group(0, one.start, one.stop, 1, one.stop - one.start) for one in beginnings]
    for group in (*alone, *groups):
        rows = slice(group.start, group.stop)
        shape = (group.num_segments, group.num_tokens)
        own, keys, values = (one[rows].view(*shape, *one.shape[1:]) for one in (query, key, value))
        mixed, logarithms = _flash(own, keys, values, scaling, is_causal=True)
        out[rows], sums[rows] = mixed.flatten(0, 1), logarithms.flatten(0, 1)
    for one in beginnings:
        seen, rests = slice(one.start, one.stop), slice(one.stop, one.rest_stop)
        _merge(query[rests], (key[seen], value[seen]), scaling, out[rests], sums[rests])
    if prefix is not None:
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
