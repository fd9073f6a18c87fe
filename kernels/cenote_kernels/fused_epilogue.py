"""The epilogue as one kernel: a block a request, from hidden states to bytes as they are sent; one copy to the host.

`epilogue` calls it where the kernels run; the references of `pool`, `truncate_normalize` and `quantize` are its
specification.
"""

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from cenote_kernels.launch import Call, Launch, on_device
from cenote_kernels.ops import Axis, OpSpec, TensorSpec
from cenote_kernels.patchify import NAMES
from cenote_kernels.vector_ops import (
    FLOATS,
    INT8_RANGE_SIGMAS,
    NumberFormat,
    PoolingMode,
    Ranges,
    pool,
    quantize,
    truncate_normalize,
)

FORMATS: dict[NumberFormat, tuple[torch.dtype, int]] = {
    "float32": (torch.float32, 1),
    "float16": (torch.float16, 2),
    "bfloat16": (torch.bfloat16, 2),
    "int8": (torch.int8, 4),
    "uint8": (torch.uint8, 4),
    "binary": (torch.int8, 32),
    "ubinary": (torch.uint8, 32),
}
"""Dtype on the host, and components in a word of 4 bytes. The order is that of the bits in epilogue.cu."""
BITS = {kind: 1 << place for place, kind in enumerate(FORMATS)}
MODES: tuple[PoolingMode, ...] = ("last_token", "mean", "cls")
COLUMNS = 16
"""Of a row, that one thread holds; as in epilogue.cu."""
MAX_THREADS = 768
"""Of a block; as in epilogue.cu."""
JOB = np.dtype(
    [
        *((name, "<i8") for name in ("start", "end", "out", "ranges")),
        *((name, "<i4") for name in ("dimensions", "formats", "normalize")),
        ("bound", "<f4"),
    ]
)
"""The output of one request, as epilogue.cu reads it (`Job`)."""
WANTED = ("ranges", "dimensions", "formats", "normalize", "bound")
"""Fields that follow from what a request asks for."""

Row = dict[str, memoryview]
"""One request's vector by number format, little-endian: bytes as they are sent, of a buffer that rows share."""
Rows = Sequence[Row | None]


class OutputSpec(Protocol):
    """The output that one request asks for, hashable; in the service `service.outputs.dense.DenseAsk`.

    Attributes:
        dimensions: leading dimensions to keep.
        output_dtypes: number formats to make.
        normalize: scale to unit length after cutting.
    """

    @property
    def dimensions(self) -> int: ...  # noqa: D102
    @property
    def output_dtypes(self) -> tuple[NumberFormat, ...]: ...  # noqa: D102
    @property
    def normalize(self) -> bool: ...  # noqa: D102
    def __hash__(self) -> int: ...


def fits(hidden: torch.Tensor) -> bool:
    """True if the kernel can take these hidden states: whole vectors of 16 bytes, a row that one block holds."""
    width = hidden.shape[1]
    whole = hidden.is_contiguous() and width * hidden.itemsize % 16 == 0 and hidden.data_ptr() % 16 == 0
    return whole and hidden.dtype in FLOATS and width <= MAX_THREADS * COLUMNS


def fused_epilogue(
    hidden: torch.Tensor,
    cu_seqlens: torch.Tensor,
    outputs: Sequence[OutputSpec],
    mode: PoolingMode,
    ranges: Mapping[int, Ranges] | None = None,
    *,
    launch: Launch = on_device,
) -> Rows:
    """Return the same as `cenote_kernels.epilogue`, by cuda/epilogue.cu; `fits(hidden)` must hold."""
    kinds = {one: _Layout.of(one) for one in set(outputs)}  # mostly one: requests of a batch want the same
    flat, places = _flat_ranges({one.dimensions for one in kinds}, ranges or {}, hidden.device)
    slots = np.array([kinds[one].num_bytes for one in outputs])
    bounds, num_bytes = cu_seqlens.numpy(), int(slots.sum())
    jobs = np.zeros(len(outputs), JOB)
    jobs["start"], jobs["end"] = bounds[1:] - 1 if mode == "last_token" else bounds[:-1], bounds[1:]
    jobs["out"] = np.cumsum(slots) - slots
    for one, layout in kinds.items():
        own = np.array([other == one for other in outputs])
        bound = INT8_RANGE_SIGMAS / math.sqrt(one.dimensions)
        wanted = (places.get(one.dimensions, -1), one.dimensions, layout.bits, one.normalize, bound)
        for name, value in zip(WANTED, wanted, strict=True):
            jobs[name][own] = value
    out = torch.empty(num_bytes + len(outputs), dtype=torch.uint8, device=hidden.device)
    given = hidden, ctypes.c_int32(hidden.shape[1]), torch.from_numpy(jobs.view(np.uint8)).to(hidden.device), flat
    entry = f"epilogue_{'mean' if mode == 'mean' else 'one'}_{NAMES[hidden.dtype]}"
    threads = -(-hidden.shape[1] // (32 * COLUMNS)) * 32  # by the model, not the batch: the order of sums depends on it
    launch(Call("epilogue", entry, (len(outputs), 1), threads, (*given, out, out[num_bytes:])))
    return _split(out.cpu(), num_bytes, jobs["out"].tolist(), [kinds[one] for one in outputs])


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the formats of an output lie in its slot.

    Attributes:
        bits: of its formats, as the kernel has them.
        parts: of each format, in the order that was asked for, its first byte and the one after its last.
        num_bytes: of the slot.
    """

    bits: int
    parts: Mapping[NumberFormat, tuple[int, int]]
    num_bytes: int

    @classmethod
    def of(cls, one: OutputSpec) -> "_Layout":
        found: dict[NumberFormat, tuple[int, int]] = {}
        start = 0
        for kind in sorted(set(one.output_dtypes), key=BITS.__getitem__):
            dtype, per_word = FORMATS[kind]
            length = one.dimensions // 8 if per_word == 32 else one.dimensions
            found[kind] = start, start + length * dtype.itemsize
            start += _slot_bytes(kind, one.dimensions)
        return cls(sum(map(BITS.__getitem__, found)), {kind: found[kind] for kind in one.output_dtypes}, start)


def _split(host: torch.Tensor, num_bytes: int, starts: list[int], layouts: Sequence[_Layout]) -> Rows:
    """The rows of each request; None where the kernel found the vector not valid."""
    whole = host.numpy().data
    return [
        {kind: whole[start + first : start + stop] for kind, (first, stop) in layout.parts.items()} if valid else None
        for start, layout, valid in zip(starts, layouts, host[num_bytes:].tolist(), strict=True)
    ]


def as_tensor(row: memoryview, kind: NumberFormat) -> torch.Tensor:
    """The numbers of a row, `[num_numbers]`; for bits a byte holds eight."""
    return torch.frombuffer(row, dtype=FORMATS[kind][0])


def _slot_bytes(kind: NumberFormat, dimensions: int) -> int:
    return -(-dimensions // (FORMATS[kind][1] * 4)) * 16


def _flat_ranges(
    wanted: set[int], ranges: Mapping[int, Ranges], device: torch.device
) -> tuple[torch.Tensor, dict[int, int]]:
    """All calibrated ranges in one tensor of floats, and where those of each length begin."""
    parts, places, length = [torch.zeros(1, device=device)], {}, 1
    for dimensions in sorted(wanted & set(ranges)):
        places[dimensions] = length
        parts += ranges[dimensions]
        length += 2 * dimensions
    return torch.cat(parts), places


def rows_reference(
    hidden: torch.Tensor,
    cu_seqlens: torch.Tensor,
    mode: PoolingMode = "last_token",
    dimensions: int | None = None,
    kind: NumberFormat = "float32",
    normalize: bool = True,
) -> torch.Tensor:
    """``quantize(normalize(truncate(pool(hidden))))`` where all requests want the same of their vectors."""
    raw = pool(hidden, cu_seqlens, mode)
    return quantize(truncate_normalize(raw, dimensions or hidden.shape[1], normalize), kind)


def rows_kernel(
    hidden: torch.Tensor,
    cu_seqlens: torch.Tensor,
    mode: PoolingMode = "last_token",
    dimensions: int | None = None,
    kind: NumberFormat = "float32",
    normalize: bool = True,
    *,
    launch: Launch = on_device,
) -> torch.Tensor:
    """The same by the kernel, on the host.

    Raises:
        ValueError: a vector is not valid.
    """
    one = _Same(dimensions or hidden.shape[1], (kind,), normalize)
    rows = fused_epilogue(hidden, cu_seqlens, [one] * (len(cu_seqlens) - 1), mode, launch=launch)
    found = [as_tensor(row[kind], kind) for row in rows if row is not None]
    if len(found) < len(rows):
        raise ValueError(f"epilogue: {len(rows) - len(found)} of {len(rows)} vectors are not valid")
    return torch.stack(found)


class _Same(NamedTuple):
    dimensions: int
    output_dtypes: tuple[NumberFormat, ...]
    normalize: bool


def _packed(seed: int, requests: int, longest: int, width: int, dtype: torch.dtype) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (requests,), generator=generator)
    cu_seqlens = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    return {"hidden": torch.randn(int(cu_seqlens[-1]), width, generator=generator).to(dtype), "cu_seqlens": cu_seqlens}


def _sample(seed: int) -> dict[str, Any]:
    """Every mode, dtype and format, whole and cut, of one warp and of several."""
    width, dimensions = ((256, 256), (256, 40), (2560, 2560), (2560, 1000))[seed % 4]
    wanted = {"mode": MODES[seed % 3], "dimensions": dimensions, "kind": tuple(FORMATS)[seed % 7]}
    return {**_packed(seed, 5, 9, width, FLOATS[seed // 3 % 3]), **wanted, "normalize": seed % 5 != 4 or seed % 7 > 2}


def _bytes_moved(
    hidden: torch.Tensor,
    cu_seqlens: torch.Tensor,
    mode: PoolingMode = "last_token",
    dimensions: int | None = None,
    kind: NumberFormat = "float32",
    normalize: bool = True,
) -> int:
    kept, requests = dimensions or hidden.shape[1], len(cu_seqlens) - 1
    tokens = hidden.shape[0] if mode == "mean" else requests
    return tokens * kept * hidden.itemsize + requests * (_slot_bytes(kind, kept) + JOB.itemsize + 1)


EPILOGUE = OpSpec(
    name="epilogue",
    formula="out[i] = quantize(v / ||v||_2), v = pool(hidden, i)[:dimensions]",
    axes=(
        Axis("total_tokens", "tokens of all requests, packed without padding"),
        Axis("hidden", "width of the model"),
        Axis("num_bounds", "num_requests + 1"),
        Axis("num_requests", "rows of the batch"),
        Axis("packed", "dimensions, or dimensions / 8 for bits"),
    ),
    inputs=(
        TensorSpec("hidden", ("total_tokens", "hidden"), FLOATS, "post-norm hidden states"),
        TensorSpec("cu_seqlens", ("num_bounds",), (torch.int64,), "cumulative segment bounds, from 0"),
    ),
    outputs=(
        TensorSpec("out", ("num_requests", "packed"), (*FLOATS, torch.int8, torch.uint8), "vectors as they are sent"),
    ),
    reference=rows_reference,
    # A sum of squares in another order moves a component by an ulp, and with it one that lies between two numbers.
    tolerance={torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.int8: 1.0, torch.uint8: 1.0},
    sample=_sample,
    kernel=rows_kernel,
    bytes_moved=_bytes_moved,
    large=lambda seed: _packed(seed, 49152, 1, 2048, torch.bfloat16),
)
