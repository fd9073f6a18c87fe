"""The CUDA sources themselves, compiled by g++ and run thread by thread, against their references.

Each launch runs twice, with the threads of a block in both orders: what a missing barrier lets through differs.
"""

import random
from collections.abc import Iterator

import pytest
import torch

from cenote_kernels import EPILOGUE, OPS, OutputSpec, epilogue, quantize
from cenote_kernels.fused_epilogue import FORMATS, fits, fused_epilogue
from cenote_kernels.launch import Call
from cenote_kernels.nvrtc import SOURCES
from cenote_kernels.patchify import patchify_kernel, patchify_reference
from cenote_kernels.scatter import scatter_kernel
from tests.kernels.on_cpu import COMPILER, OnCpu, build, entries, output, packed, tensors

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++ on this machine")

WITH_KERNEL = [op for op in OPS if op.kernel is not None]
NUM_SEEDS = 24
HIDDEN = 256


@pytest.fixture(params=[False, True], ids=["forwards", "backwards"])
def launch(request: pytest.FixtureRequest) -> OnCpu:
    return OnCpu(backwards=request.param)


@pytest.mark.parametrize("op", WITH_KERNEL, ids=lambda op: op.name)
def test_each_kernel_is_its_reference(op: object, launch: OnCpu) -> None:
    for seed in range(NUM_SEEDS):
        want, got = op.reference(**op.sample(seed)), op.kernel(**op.sample(seed), launch=launch)
        assert (got.shape, got.dtype) == (want.shape, want.dtype), seed
        off = (got.double() - want.double()).abs().max().item()
        assert off <= op.tolerance[want.dtype], seed  # NaN is not
    assert len(launch.calls) >= NUM_SEEDS


def test_every_kernel_of_every_source_is_launched_by_the_samples() -> None:
    launch = OnCpu()
    for op in WITH_KERNEL:
        for seed in range(NUM_SEEDS):
            op.kernel(**op.sample(seed), launch=launch)
    assert {call.entry for call in launch.calls} == {entry for name in SOURCES for entry in entries(name)}


def test_patchify_turns_all_256_bytes_into_the_references_floats(launch: OnCpu) -> None:
    pixels = torch.arange(256, dtype=torch.uint8).repeat(12).view(32, 32, 3)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        assert torch.equal(patchify_kernel(pixels, dtype, launch=launch), patchify_reference(pixels, dtype))


DIVIDE = """
#include "epilogue.cu"
KERNEL(32) divide_all(float* rows, const float* divisors) {
    if (threadIdx.x == 0) divide(rows + 16 * blockIdx.x, divisors[blockIdx.x]);
}
"""


def wishes(seed: int) -> Iterator[OutputSpec]:
    draw = random.Random(seed)
    for _ in range(5):
        dtypes = tuple(draw.sample(list(FORMATS), draw.randint(1, 7)))
        yield output(draw.choice([8, 40, 64, 200, 256]), dtypes, normalize=draw.random() < 0.6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("mode", ["last_token", "mean", "cls"])
def test_mixed_wishes_come_out_as_from_the_reference(mode: str, dtype: torch.dtype, launch: OnCpu) -> None:
    for seed in range(6):
        hidden, bounds = packed(dtype, seed, width=HIDDEN)
        outputs = list(wishes(seed))
        ranges = {64: (torch.full((64,), -0.2), torch.linspace(0.1, 0.4, 64))}
        want = tensors(epilogue(hidden, bounds, outputs, mode=mode, ranges=ranges))
        got = tensors(fused_epilogue(hidden, bounds, outputs, mode, ranges, launch=launch))
        for wish, expected, row in zip(outputs, want, got, strict=True):
            assert list(row) == list(expected) == list(wish.output_dtypes)
            for kind, tensor in row.items():
                assert tensor.dtype == expected[kind].dtype
                off = (tensor.double() - expected[kind].double()).abs().max().item()
                scale = 1.0 if wish.normalize else max(1.0, expected[kind].double().abs().max().item())
                assert off <= EPILOGUE.tolerance[tensor.dtype] * scale, (seed, kind)


def test_numbers_are_quantized_exactly_from_the_kernels_own_floats(launch: OnCpu) -> None:
    """The one tolerance above is the norm's; from there on every bit is the reference's."""
    hidden, bounds = packed(torch.bfloat16, width=HIDDEN)
    ranges = {200: (torch.full((200,), -0.1), torch.full((200,), 0.15))}
    for dimensions in (200, 256):
        outputs = [output(dimensions, tuple(FORMATS))] * 5
        for row in tensors(fused_epilogue(hidden, bounds, outputs, "last_token", ranges, launch=launch)):
            for kind, tensor in row.items():
                again = quantize(row["float32"][None], kind, *ranges.get(dimensions, (None, None)))[0]
                assert torch.equal(tensor, again), kind


def test_what_is_not_valid_is_no_row(launch: OnCpu) -> None:
    hidden, bounds = packed(torch.float32, width=HIDDEN)
    last = bounds[1:] - 1
    hidden[last[0], 5] = float("nan")
    hidden[last[1]] = 0
    hidden[last[2], 3] = 70_000  # float16 ends at 65,504
    hidden[last[3], 3] = 3.4e38  # and bfloat16 before that
    outputs = [
        output(64), output(64), output(64, ("float16",), normalize=False), output(8, ("bfloat16",), normalize=False),
        output(64, ("float32", "int8")),
    ]  # fmt: skip
    want = [row is None for row in epilogue(hidden, bounds, outputs)]
    got = [row is None for row in fused_epilogue(hidden, bounds, outputs, "last_token", launch=launch)]
    assert got == want == [True, True, True, True, False]


def test_a_row_does_not_depend_on_its_neighbors(launch: OnCpu) -> None:
    """Nor on what they ask for: a block has as many threads as the model needs, and sums go in one order."""
    hidden, bounds = packed(torch.bfloat16, width=1024)
    asked = [output(dimensions) for dimensions in (1024, 40, 600, 1024, 40)]
    together = tensors(fused_epilogue(hidden, bounds, asked, "mean", launch=launch))
    for index, one in enumerate(asked):
        alone = hidden[bounds[index] : bounds[index + 1]].clone()
        (row,) = tensors(fused_epilogue(alone, torch.tensor([0, len(alone)]), [one], "mean", launch=launch))
        assert torch.equal(row["float32"], together[index]["float32"])
    assert {call.threads for call in launch.calls} == {64}


def test_a_product_with_one_correction_is_the_division() -> None:
    divide = build(DIVIDE, ["divide_all"]).launch_divide_all
    draw = torch.Generator().manual_seed(3)
    divisors = torch.rand(2000, 1, generator=draw).add(1).ldexp(torch.randint(-74, 64, (2000, 1), generator=draw))
    rows = (torch.rand(2000, 16, generator=draw) * 2 - 1) * divisors
    counts = torch.arange(1, 2001, dtype=torch.float32)[:, None]
    for found, by in ((rows, divisors), (rows.clone(), counts)):
        want = found / by
        assert OnCpu().run(divide, Call("", "", (2000, 1), 32, (found, by))) == 0
        assert torch.equal(found, want)


def test_what_the_epilogue_kernel_cannot_take_is_left_to_the_references() -> None:
    assert fits(torch.zeros(2, 2048, dtype=torch.bfloat16))
    assert not fits(torch.zeros(2, 2044, dtype=torch.bfloat16))  # rows begin at odd places
    assert fits(torch.zeros(2, 12288))
    assert not fits(torch.zeros(2, 12292))  # a row that a block does not hold
    assert not fits(torch.zeros(4, 64)[:, :32])


def test_a_wrong_index_stops_the_kernel(launch: OnCpu) -> None:
    with pytest.raises(RuntimeError, match="a thread trapped"):
        scatter_kernel(torch.zeros(4, 8), torch.tensor([4]), torch.zeros(1, 8), launch=launch)


def test_features_of_odd_width_go_by_the_reference(launch: OnCpu) -> None:
    out = scatter_kernel(torch.zeros(3, 5), torch.tensor([1]), torch.ones(1, 5), launch=launch)
    assert out.sum() == 5
    assert launch.calls == []


@pytest.mark.parametrize("op", WITH_KERNEL, ids=lambda op: op.name)
def test_kernels_write_nothing_behind_their_outputs(op: object, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded, plain = [], torch.empty

    def empty_with_guard(*shape: object, **options: object) -> torch.Tensor:
        inner = plain(*shape, **options)
        room = plain(inner.numel() * inner.itemsize + 128, dtype=torch.uint8).fill_(0xA5)
        guarded.append((room, inner.numel() * inner.itemsize))
        return room[: inner.numel() * inner.itemsize].view(inner.dtype).view(inner.shape)

    monkeypatch.setattr(torch, "empty", empty_with_guard)
    for seed in range(NUM_SEEDS):
        op.kernel(**op.sample(seed), launch=OnCpu())
    assert guarded or op.name in {"scatter", "rms_norm", "apply_rope"}  # which write where they are told
    for room, length in guarded:
        assert (room[length:] == 0xA5).all()


BROKEN = """
#include "numbers.cuh"
KERNEL(64) half_a_warp(float* out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0xFFFFFFFFu, 1.0f, 1);
    __syncthreads();
}
KERNEL(64) no_barrier(float* out) {
    __shared__ float row[64];
    row[threadIdx.x] = (float)(threadIdx.x + 64 * blockIdx.x);
    out[64 * blockIdx.x + threadIdx.x] = row[63 - threadIdx.x];
}
"""


def test_the_stand_in_notices_threads_that_do_not_meet_and_barriers_that_are_missing() -> None:
    broken = build(BROKEN, ["half_a_warp", "no_barrier"])
    found = torch.zeros(2, 128)
    assert OnCpu().run(broken.launch_half_a_warp, Call("", "", (1, 1), 64, (found,))) == 2
    for row, backwards in zip(found, (False, True), strict=True):
        assert OnCpu(backwards).run(broken.launch_no_barrier, Call("", "", (2, 1), 64, (row,))) == 0
    assert not torch.equal(found[0], found[1])
