"""The one place where hidden states become vectors: pool, truncate, normalize, quantize, in this order, once."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import torch

from cenote_kernels.availability import kernels_run_on
from cenote_kernels.cpu.library import runs_on
from cenote_kernels.cpu.rows import unit_rows
from cenote_kernels.fused_epilogue import OutputSpec, Row, Rows, fits, fused_epilogue
from cenote_kernels.vector_ops import NumberFormat, PoolingMode, Ranges, pool, quantize, truncate_normalize

NORM_TOLERANCE = 1e-3
"""Largest distance of a unit vector's length from 1. Float32 rounding stays within 1e-6."""


def epilogue(
    hidden: torch.Tensor,
    cu_seqlens: torch.Tensor,
    outputs: Sequence[OutputSpec],
    *,
    mode: PoolingMode = "last_token",
    ranges: Mapping[int, Ranges] | None = None,
) -> Rows:
    """``quantize(normalize(truncate(pool(hidden))))``, one request a row; requests that want the same go together.

    Args:
        hidden: `[total_tokens, hidden]`, any float dtype.
        cu_seqlens: `[num_requests + 1]`, int64; on the host, since the host reads it.
        outputs: what each request wants, `num_requests` of them.
        ranges: calibrated ranges for int8 and uint8, by number of dimensions; a length without has the fixed range.

    Returns:
        For each request the bytes of its vector per number format, or None where the vector is not finite, or would not
        be in a format that was asked for (float16 ends at 65,504), or is not of unit length (1 ± 1e-3; where no unit
        vector was asked for, of length 0, unless a full vector is one number): such a vector is an error of that
        request, never a row.
    """
    if outputs and kernels_run_on(hidden.device) and fits(hidden):
        return fused_epilogue(hidden, cu_seqlens, outputs, mode, ranges)
    return finish(pool(hidden, cu_seqlens, mode), outputs, ranges=ranges)


def finish(
    raw: torch.Tensor,
    outputs: Sequence[OutputSpec],
    *,
    num_vectors: Sequence[int] | None = None,
    ranges: Mapping[int, Ranges] | None = None,
) -> Rows:
    """``quantize(normalize(truncate(raw)))``: the part after pooling, for fresh and for kept raw vectors alike.

    Args:
        raw: `[total_vectors, hidden]`, float32, as `pool` gives it; those of a request together. The same vector may
            stand there for several requests.
        outputs: what each request asks for.
        num_vectors: of each request with late interaction, each at least 1; None where every request has one.
        ranges: as for `epilogue`.

    Returns:
        As `epilogue`; with `num_vectors` the bytes of so many, one after the other, and a request is None where one of
        its vectors is not valid.

    Raises:
        ValueError: the requests have more or fewer vectors than `raw`.
    """
    counts = [1] * len(outputs) if num_vectors is None else num_vectors
    if sum(counts) != len(raw):
        raise ValueError(f"finish: got {len(raw)} vectors, expected {sum(counts)}")
    if outputs and num_vectors is None and kernels_run_on(raw.device) and fits(raw):
        return fused_epilogue(raw, torch.arange(len(raw) + 1), outputs, "last_token", ranges)
    if outputs and outputs.count(outputs[0]) == len(outputs):  # the usual case
        return _alike(raw, outputs[0], num_vectors, ranges)
    groups: dict[OutputSpec, list[int]] = defaultdict(list)
    for index, output in enumerate(outputs):
        groups[output].append(index)
    bounds = [0, *accumulate(counts)]
    answers: list[Row | None] = [None] * len(outputs)
    for output, indices in groups.items():
        own = raw[[row for index in indices for row in range(bounds[index], bounds[index + 1])]]
        for index, rows in zip(indices, _alike(own, output, [counts[i] for i in indices], ranges), strict=True):
            answers[index] = rows
    return answers


def _alike(
    raw: torch.Tensor, output: OutputSpec, counts: Sequence[int] | None, ranges: Mapping[int, Ranges] | None
) -> Rows:
    """Return the result of `finish` for requests of the same spec, of so many vectors each; None: of one.

    A valid vector is finite in every format (integers always are) and as long as it must be.
    """
    if raw.dtype == torch.float32 and runs_on(raw.dtype, raw.device):
        rows, is_valid = unit_rows(raw, output.dimensions, output.normalize, NORM_TOLERANCE)
    else:
        rows = truncate_normalize(raw, output.dimensions, output.normalize)
        norms = torch.linalg.vector_norm(rows, dim=-1)
        if output.normalize:  # of a row with NaN or infinity the length is NaN, too
            is_valid = ((norms - 1).abs() <= NORM_TOLERANCE).tolist()
        else:  # zero is a score like any
            is_long = norms > 0 if raw.shape[1] > 1 else torch.ones_like(norms, dtype=torch.bool)
            is_valid = (is_long & rows.isfinite().all(-1)).tolist()
    made: dict[NumberFormat, torch.Tensor] = {}
    own_range = (ranges or {}).get(output.dimensions, (None, None))
    for dtype in output.output_dtypes:
        made[dtype] = numbers = (rows if dtype == "float32" else quantize(rows, dtype, *own_range)).cpu()
        if dtype != "float32" and numbers.is_floating_point():
            is_finite = numbers.isfinite().all(-1).tolist()
            is_valid = [all(both) for both in zip(is_valid, is_finite, strict=True)]
    bounds: Sequence[int] = range(len(raw) + 1)
    if counts is not None:
        bounds = [0, *accumulate(counts)]
        is_valid = [all(is_valid[start:stop]) for start, stop in pairwise(bounds)]
    answers: list[Row | None] = [{} if valid else None for valid in is_valid]
    for dtype, tensor in made.items():
        whole = tensor.contiguous().view(torch.uint8).numpy().reshape(-1).data  # numpy has no bfloat16: all go by bytes
        size = tensor.shape[1] * tensor.itemsize
        for answer, (start, stop) in zip(answers, pairwise(bounds), strict=True):
            if answer is not None:
                answer[dtype] = whole[start * size : stop * size]
    return answers
