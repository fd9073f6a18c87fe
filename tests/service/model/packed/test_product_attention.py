"""Attention by products against the formula in float64, and against torch's own."""

from typing import Any, cast

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from service.model.packed import product_attention
from service.model.packed.attention import attend
from service.model.packed.product_attention import LEAST_TOKENS, takes
from service.model.packed.segments import Group
from tests.service.model.packed.exact import exact

CPU = torch.device("cpu")


def heads(num_tokens: int, num_heads: int, num_kv_heads: int, head_dim: int) -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(num_tokens)
    every = torch.randn(num_tokens, num_heads + 2 * num_kv_heads, head_dim, generator=draw).bfloat16()
    return list(torch.split(every, [num_heads, num_kv_heads, num_kv_heads], dim=1))


@pytest.mark.parametrize("num_tokens", [1, 31, 32, 127, 128, 129, 300, 700])
@pytest.mark.parametrize("shape", [(8, 4, 64), (16, 8, 128), (3, 1, 32), (2, 2, 64)])
@torch.inference_mode()
def test_it_is_the_formula_about_as_near_as_torchs(num_tokens: int, shape: tuple[int, int, int]) -> None:
    query, key, value = heads(num_tokens, *shape)
    scaling = 3 * shape[2] ** -0.5  # scores as large as those of trained models
    setting = cast(Any, torch.backends.mkldnn).matmul.fp32_precision
    ours = product_attention.attend(query, key, value, scaling, torch.empty_like(query))
    want = exact(query, key, value, scaling)
    q, k, v = (tensor.transpose(0, 1)[None] for tensor in (query, key, value))
    torchs = scaled_dot_product_attention(q, k, v, is_causal=True, scale=scaling, enable_gqa=True)[0].transpose(0, 1)
    gaps = [float((one - want).pow(2).mean().sqrt()) for one in (ours, torchs)]
    assert gaps[0] <= 1.5 * gaps[1] + 2e-4
    assert cast(Any, torch.backends.mkldnn).matmul.fp32_precision == setting


@torch.inference_mode()
def test_prompts_of_a_batch_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_attention, "_is_faster_here", lambda: True)
    query, key, value = heads(70 * 2 + 9, 4, 2, 16)
    groups = [Group(0, 0, 9, 1, 9), Group(1, 9, 149, 2, 70)]
    value[9:79] = float("nan")
    mixed = attend(query, key, value, groups, 0.25, torch.empty_like(query))
    assert mixed[:9].isfinite().all()
    assert mixed[9:79].isnan().all()
    assert mixed[79:].isfinite().all()
    want = exact(query[79:], key[79:], value[79:], 0.25)
    torch.testing.assert_close(mixed[79:].double(), want, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("num_before", [30, 100])
@torch.inference_mode()
def test_prompts_behind_a_beginning_attend_to_all_of_it(monkeypatch: pytest.MonkeyPatch, num_before: int) -> None:
    monkeypatch.setattr(product_attention, "_is_faster_here", lambda: True)
    calls, by_products = [], product_attention.attend

    def counted(*given: Any) -> torch.Tensor:
        calls.append(given)
        return by_products(*given)

    monkeypatch.setattr(product_attention, "attend", counted)
    _, *prefix = heads(num_before, 4, 2, 16)
    query, key, value = heads(2 * 70, 4, 2, 16)
    mixed = attend(
        query, key, value, [Group(0, 0, 140, 2, 70)], 0.25, torch.empty_like(query), prefix=(prefix[0], prefix[1])
    )
    assert len(calls) == (2 if num_before <= 70 else 0)  # behind a longer one a mask hides less
    for start in (0, 70):
        rows = slice(start, start + 70)
        keys, values = (torch.cat([before, own[rows]]) for before, own in zip(prefix, (key, value), strict=True))
        want = exact(torch.cat([query.new_zeros(num_before, 4, 16), query[rows]]), keys, values, 0.25)[num_before:]
        torch.testing.assert_close(mixed[rows].double(), want, atol=1e-2, rtol=1e-2)


def test_it_is_for_longer_prompts_in_bfloat16_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_attention, "_is_faster_here", lambda: True)
    assert takes(LEAST_TOKENS, torch.bfloat16, CPU)
    assert not takes(LEAST_TOKENS - 1, torch.bfloat16, CPU)
    assert not takes(1000, torch.float32, CPU)
    assert not takes(1000, torch.bfloat16, torch.device("meta"))
    monkeypatch.setattr(product_attention, "_is_faster_here", lambda: False)
    assert not takes(1000, torch.bfloat16, CPU)
