"""Each kernel against its reference over the samples of its `OpSpec`, then against the copy bandwidth of the card."""

import time
from collections.abc import Iterator
from typing import Any

import torch

from cenote_kernels import OPS, OpSpec, nvrtc
from cenote_kernels.launch import Call, architecture
from tests.gpu.row import Row
from tests.gpu.stage import Stage

WITH_KERNEL = tuple(op for op in OPS if op.kernel is not None)
NUM_SEEDS = 105
"""Of every sample: modes, dtypes, formats and sizes go round within."""
WANTED_SHARE = 0.85
SHAPES = {
    "epilogue": "49,152 requests of 2048, bfloat16 to float32",
    "patchify": "8192 × 8192 pixels to bfloat16",
    "rms_norm": "65,536 rows of 2048, bfloat16",
    "apply_rope": "16,384 rows of 24 heads of 128, normed and turned in place, bfloat16",
    "gate": "16,384 rows of 2 × 6144, bfloat16",
}
SCATTER = ("scatter, replace", "scatter, add")

BUILD = "build: every kernel by NVRTC, nothing kept"
CHECKS = tuple(f"{op.name}: equal to its reference" for op in WITH_KERNEL)
TIMES = tuple(f"{name}: {shape}" for name, shape in SHAPES.items()) + tuple(
    f"{name}: 49,152 rows of 2048, bfloat16" for name in SCATTER
)
NAMES = (BUILD, *CHECKS, *TIMES)


def measure(stage: Stage) -> Iterator[Row]:
    """Build, check, time."""
    if not stage.is_dry:
        began = time.perf_counter()
        for name in nvrtc.SOURCES:
            nvrtc.compile_source(nvrtc.source(name), name, architecture(stage.device.index or 0))
        yield Row(BUILD, f"{time.perf_counter() - began:.1f} s")
    for op, name in zip(WITH_KERNEL, CHECKS, strict=True):
        yield _check(stage, op, name)
    for op in WITH_KERNEL:
        for seed, label in enumerate(SCATTER) if op.name == "scatter" else ((0, op.name),):
            yield _time(stage, op, seed, next(name for name in TIMES if name.startswith(f"{label}:")))


def _check(stage: Stage, op: OpSpec, name: str) -> Row:
    """References run on the CPU: an oracle that shares nothing with the card."""
    assert op.kernel is not None
    worst, num_wrong = 0.0, 0
    for seed in range(stage.size(NUM_SEEDS, 4)):
        want = op.reference(**op.sample(seed)).double()
        dtype = op.reference(**op.sample(seed)).dtype
        got = op.kernel(**_on(stage, op.sample(seed)), launch=stage.launch).cpu()
        off = float((got.double() - want).abs().max())
        worst = max(worst, off)
        num_wrong += not (off <= op.tolerance[dtype] and got.dtype == dtype and got.shape == want.shape)
    measured = f"{num_wrong} of {stage.size(NUM_SEEDS, 4)} samples off; worst difference {worst:.2g}"
    return Row(name, measured, wanted="none off, within its tolerance", holds=num_wrong == 0)


def _time(stage: Stage, op: OpSpec, seed: int, name: str) -> Row:
    """The launches of one run, again and again: the host's part, which overlaps with other work, stays outside."""
    assert op.kernel is not None
    assert op.large is not None
    assert op.bytes_moved is not None
    calls: list[Call] = []

    def note(call: Call) -> None:
        calls.append(call)
        stage.launch(call)

    arguments = op.sample(seed) if stage.is_dry else op.large(seed)
    num_bytes = op.bytes_moved(**arguments)
    op.kernel(**_on(stage, arguments), launch=note)
    del arguments
    seconds = stage.seconds(lambda: [stage.launch(call) for call in calls], repeats=10)
    rate = num_bytes / seconds
    share = rate / stage.copy_bytes_s
    measured = f"{rate / 1e12:.2f} TB/s ({num_bytes / 1e6:.0f} MB in {seconds * 1e6:.0f} us)"
    ceiling = f"{stage.copy_bytes_s / 1e12:.2f} TB/s"
    return Row(name, measured, ceiling, share, f">= {WANTED_SHARE} of a copy", share >= WANTED_SHARE)


def _on(stage: Stage, arguments: dict[str, Any]) -> dict[str, Any]:
    """On the device with strides and neighbors; what is the same memory stays so. The host reads `cu_seqlens`."""
    places: dict[int, torch.Tensor] = {}

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(moved, value))
        if not isinstance(value, torch.Tensor):
            return value
        storage = value.untyped_storage()  # in inference mode no view knows its base
        whole = torch.empty(0, dtype=value.dtype).set_(storage, 0, (storage.nbytes() // value.itemsize,))
        there = places.setdefault(storage.data_ptr(), whole.to(stage.device))
        return there.as_strided(value.shape, value.stride(), value.storage_offset())

    return {name: value if name == "cu_seqlens" else moved(value) for name, value in arguments.items()}
