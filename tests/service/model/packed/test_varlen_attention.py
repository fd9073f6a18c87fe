"""Attention of CUDA devices, as far as a machine without one can see: layouts, arguments, and what falls back.

The kernel itself runs in `make check-gpu`. Here torch's own description of it (its meta function) checks that the
call binds, and a stand-in with the same signature checks what goes in and comes out.
"""

from itertools import pairwise

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from service.model.packed import varlen_attention as varlen
from service.model.packed.attention import _repeat_heads, attend, attend_last
from service.model.packed.segments import Group

LENGTHS = [5, 5, 17, 9]
GROUPS = [Group(0, 0, 10, 2, 5, 5), Group(2, 10, 27, 1, 17, 17), Group(3, 27, 36, 1, 9, 9)]
LAST = torch.tensor(LENGTHS).cumsum(0) - 1
HEADS, KV_HEADS, HEAD_DIM = 8, 2, 16
TOLERANCE = 4e-6
"""Mixtures of numbers up to 4, of which one unit in the last place is 4.8e-7; with AVX2 they are 5.7e-7 apart."""


def packed(dtype: torch.dtype = torch.float32, device: str = "cpu") -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(3)
    shapes = [(sum(LENGTHS), heads, HEAD_DIM) for heads in (HEADS, KV_HEADS, KV_HEADS)]
    return tuple(torch.randn(shape, generator=generator).to(dtype).to(device) for shape in shapes)


def stand_in(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bounds_q: torch.Tensor, bounds_k: torch.Tensor,
    longest_q: int, longest_k: int, *, scale: float, window_size: tuple[int, int], enable_gqa: bool,
) -> torch.Tensor:  # fmt: skip
    """Stand-in for the signature of torch 2.13, one segment at a time."""
    assert bounds_q.dtype == bounds_k.dtype == torch.int32
    assert int(bounds_q.diff().max()) <= longest_q
    assert int(bounds_k.diff().max()) <= longest_k
    out = []
    for (a, b), (c, d) in zip(pairwise(bounds_q.tolist()), pairwise(bounds_k.tolist()), strict=True):
        q, k, v = query[a:b].transpose(0, 1), key[c:d].transpose(0, 1), value[c:d].transpose(0, 1)
        mask = torch.ones(b - a, d - c, dtype=torch.bool)
        if window_size == (-1, 0):
            mask = mask.tril((d - c) - (b - a))  # the last query sees the last key
        mixed = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=enable_gqa)
        out.append(mixed.transpose(0, 1))
    return torch.cat(out)


@pytest.fixture
def with_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(varlen, "_kernel", lambda: (stand_in, True))
    monkeypatch.setattr(varlen, "takes", lambda *kind: True)


@pytest.mark.usefixtures("with_stand_in")
def test_all_segments_in_one_call_are_each_segment_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    query, key, value = packed()
    got = attend(query, key, value, GROUPS, 0.3, torch.empty_like(query))
    few = attend_last(query[LAST], key, value, GROUPS, 0.3)
    monkeypatch.setattr(varlen, "takes", lambda *kind: False)
    torch.testing.assert_close(
        got, attend(query, key, value, GROUPS, 0.3, torch.empty_like(query)), atol=TOLERANCE, rtol=0
    )
    torch.testing.assert_close(few, attend_last(query[LAST], key, value, GROUPS, 0.3), atol=TOLERANCE, rtol=0)
    torch.testing.assert_close(few, got[LAST], atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("dtype", varlen.HALVES)
def test_the_call_binds_to_the_kernel_that_torch_has(dtype: torch.dtype) -> None:
    query, key, value = packed(dtype, "meta")
    bounds = varlen.SegmentBounds.of(tuple(LENGTHS), torch.device("meta"))
    mixed = varlen.attend(query, key, value, bounds, 0.25)
    assert (mixed.shape, mixed.dtype, mixed.device.type) == (query.shape, dtype, "meta")
    few = varlen.attend_last(query[: len(LENGTHS)], key, value, bounds, 0.25)
    assert few.shape == (len(LENGTHS), HEADS, HEAD_DIM)


def test_the_kernel_is_not_asked_on_a_cpu() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        assert not varlen.takes(HEAD_DIM, dtype, torch.device("cpu"))


def test_repeated_heads_are_grouped_heads() -> None:
    query, key, value = packed()
    keys, values = _repeat_heads(query, key, value)
    want = attend(query, key, value, GROUPS, 0.3, torch.empty_like(query))
    torch.testing.assert_close(
        attend(query, keys, values, GROUPS, 0.3, torch.empty_like(query)), want, atol=TOLERANCE, rtol=0
    )
