"""Attention's kernel for processors, against its formula in float64."""

import random
import shutil

import pytest
import torch

from cenote_kernels.cpu.attention import AttentionPlan, KeySegment, QueryRun, attention, attention_reference, takes
from cenote_native import choose
from service.model.linear.cpu_backend import processor_words
from tests.conftest import ROOT
from tests.no_kernel import NO_KERNEL

CPU = torch.device("cpu")
WITHIN = {torch.float32: 8e-6, torch.bfloat16: 2e-2}
"""Greatest difference of mixtures of standard normal values; torch's own attention has half of it in float32."""


def drawn(seed: int, num_tokens: int, num_heads: int, head_dim: int, dtype: torch.dtype) -> torch.Tensor:
    """`[num_tokens, num_heads, head_dim]`, a view of something wider, as a projection's part is."""
    wide = torch.randn(num_tokens, num_heads + 2, head_dim, generator=torch.Generator().manual_seed(seed))
    return wide.to(dtype)[:, 1 : num_heads + 1]


def check(dtype: torch.dtype, shape: tuple[int, int, int], plan: AttentionPlan, sides: tuple[int, int]) -> None:
    num_heads, num_kv_heads, head_dim = shape
    assert takes(head_dim, dtype, CPU)
    num_queries = int((plan.runs[:, 0] + plan.runs[:, 1]).max())
    num_keys = int((plan.segments[:, 1] + plan.segments[:, 2]).max())
    query = drawn(1, num_queries, num_heads, head_dim, dtype)
    sources = [
        (drawn(2 + i, num_keys, num_kv_heads, head_dim, dtype), drawn(4 + i, num_keys, num_kv_heads, head_dim, dtype))
        for i in range(2)
    ]
    scaling = 2 * head_dim**-0.5
    ours = attention(query, sources, plan, scaling, sides, torch.full_like(query, float("nan")))
    want = attention_reference(query, sources, plan, scaling, sides)
    assert (ours.double() - want).abs().max() <= WITHIN[dtype]


@pytest.mark.parametrize("shape", [(4, 4, 32), (4, 2, 64), (3, 1, 72), (2, 2, 128), (2, 1, 256), (1, 1, 2)])
@pytest.mark.parametrize("sides", [(-1, -1), (-1, 0), (7, 0), (40, 40), (0, -1)])
def test_every_length_and_window_is_the_formula(
    dtype: torch.dtype, shape: tuple[int, int, int], sides: tuple[int, int]
) -> None:
    lengths = [1, 2, 6, 15, 16, 17, 47, 48, 49, 63, 65, 71, 72, 73, 130, 512, 513, 1050]
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    segments = [KeySegment(0, start, length) for start, length in zip(starts, lengths, strict=True)]
    runs = [QueryRun(start, length, i) for i, (start, length) in enumerate(zip(starts, lengths, strict=True))]
    check(dtype, shape, AttentionPlan.of(segments, runs), sides)


@pytest.mark.parametrize("seed", range(12))
def test_runs_attend_to_whole_prefixes_of_another_source_and_to_their_own_keys(dtype: torch.dtype, seed: int) -> None:
    draw = random.Random(seed)
    sizes = [draw.choice([1, 5, 16, 90, 600]) for _ in range(6)]
    segments = [KeySegment(i % 2, draw.randrange(20), size) for i, size in enumerate(sizes)]
    runs, first = [], 0
    for own in range(2, 6):
        num_tokens = draw.choice([1, sizes[own], max(1, sizes[own] // 2), sizes[own] + 9])
        before = ((), (0,), (0, 1))[draw.randrange(3)]
        runs.append(QueryRun(first, num_tokens, own, before))
        first += num_tokens
    check(dtype, (4, 2, 64), AttentionPlan.of(segments, runs), draw.choice([(-1, -1), (-1, 0)]))


def test_what_is_not_a_number_stays_so_in_its_own_prompt_and_row(dtype: torch.dtype) -> None:
    query, key, value = (drawn(i, 60, 2, 64, dtype).clone() for i in range(3))
    key[30], value[50, 0, 3], query[9, 1, 0] = float("nan"), float("inf"), float("nan")
    segments = [KeySegment(0, 0, 20), KeySegment(0, 20, 20), KeySegment(0, 40, 20)]
    plan = AttentionPlan.of(segments, [QueryRun(20 * i, 20, i) for i in range(3)])
    out = attention(query, [(key, value)], plan, 0.125, (-1, 0), torch.zeros_like(query))
    is_bad = ~out.isfinite().all(-1)
    assert is_bad[:30].nonzero().tolist() == [[9, 1]]
    assert is_bad[30:40].all()
    assert is_bad[50:, 0].all()
    assert not is_bad[40:, 1].any()


def test_scores_that_no_number_holds_are_not_taken_for_hidden_keys(dtype: torch.dtype) -> None:
    query, key, value = (drawn(i, 20, 2, 64, dtype).clone() for i in range(3))
    query[3, 1], key[:, 1] = 3e38, -3e38
    plan = AttentionPlan.of([KeySegment(0, 0, 20)], [QueryRun(0, 20, 0)])
    out = attention(query, [(key, value)], plan, 0.125, (-1, -1), torch.zeros_like(query))
    assert out[3, 1].isnan().all()
    assert out[:, 0].isfinite().all()


def test_any_strides_are_read(dtype: torch.dtype) -> None:
    plan = AttentionPlan.of([KeySegment(0, 0, 7)], [QueryRun(0, 7, 0)])
    apart = drawn(0, 7, 64, 2, dtype).transpose(1, 2)
    odd = drawn(1, 7, 1, 65, dtype).clone()[:, :, :64]
    for query, key in ((apart[:, :1], odd), (odd, apart[:, :1])):
        ours = attention(query, [(key, odd)], plan, 0.125, (-1, 0), torch.empty(7, 1, 64, dtype=dtype))
        want = attention_reference(query, [(key, odd)], plan, 0.125, (-1, 0))
        assert (ours.double() - want).abs().max() <= WITHIN[dtype]


@pytest.mark.usefixtures("instructions")
def test_tensors_that_do_not_belong_together_are_refused() -> None:
    plan = AttentionPlan.of([KeySegment(0, 0, 7)], [QueryRun(0, 7, 0)])
    query, key = drawn(0, 7, 4, 64, torch.float32), drawn(1, 7, 3, 64, torch.float32)
    for keys in (key, key[:, :2].bfloat16()):
        with pytest.raises(ValueError, match="do not belong together"):
            attention(query, [(keys, keys)], plan, 0.125, (-1, 0), torch.empty_like(query))


def test_where_there_are_compiler_and_instructions_there_is_a_library() -> None:
    if not ({"avx2", "fma"} <= processor_words() and shutil.which("cc")):
        pytest.skip(NO_KERNEL)
    folder = ROOT / "kernels/cenote_kernels/cpu"
    assert choose(folder, environ={}).library is not None, "the package was not installed again: `make` does it"


@pytest.mark.usefixtures("instructions")
def test_threads_change_no_bit() -> None:
    plan = AttentionPlan.of([KeySegment(0, 0, 900)], [QueryRun(0, 900, 0)])
    query, key, value = (drawn(i, 900, 8, 64, torch.float32) for i in range(3))
    before, made = torch.get_num_threads(), []
    try:
        for num_threads in (1, 2, 3):
            torch.set_num_threads(num_threads)
            made.append(attention(query, [(key, value)], plan, 0.125, (-1, 0), torch.empty_like(query)))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(made[0], made[1])
    assert torch.equal(made[0], made[2])
