"""The one place where hidden states become vectors: pool, truncate, normalize, quantize, in this order, once."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from cenote_kernels.availability import kernels_run_on
from cenote_kernels.fused_epilogue import fits, fused_epilogue
from cenote_kernels.matryoshka import truncate_normalize
from cenote_kernels.pooling import PoolingMode, pool
from cenote_kernels.quantize import NumberFormat, Ranges, quantize

NORM_TOLERANCE = 1e-3
"""How far the length of a unit vector may be from 1. Float32 rounding stays within 1e-6."""


@dataclass(frozen=True, slots=True)
class Output:
    """What one request wants of its vector.

    Attributes:
        dimensions: leading dimensions to keep.
        kinds: number formats to make.
        normalize: scale to unit length after cutting.
    """

    dimensions: int
    kinds: tuple[NumberFormat, ...] = ("float32",)
    normalize: bool = True


def epilogue(
    hidden: torch.Tensor,
    cu_seqlens: torch.Tensor,
    outputs: Sequence[Output],
    *,
    mode: PoolingMode = "last_token",
    ranges: Mapping[int, Ranges] | None = None,
) -> list[dict[NumberFormat, torch.Tensor] | None]:
    """``quantize(normalize(truncate(pool(hidden))))``, one request a row; requests that want the same go together.

    Args:
        hidden: `[total_tokens, hidden]`, any float dtype.
        cu_seqlens: `[num_requests + 1]`, int64; on the host, since the host reads it.
        outputs: what each request wants, `num_requests` of them.
        mode: pooling mode of the model.
        ranges: calibrated ranges for int8 and uint8, by number of dimensions; a length without has the fixed range.

    Returns:
        For each request one CPU tensor per number format, or None where the vector is not finite, or would not be in
        a format that was asked for (float16 ends at 65,504), or is not of unit length (1 ± 1e-3; where no unit vector
        was asked for, of length 0): such a vector is an error of that request, never a row.
    """
    if outputs and kernels_run_on(hidden.device) and fits(hidden):
        return fused_epilogue(hidden, cu_seqlens, outputs, mode, ranges)
    return finish(pool(hidden, cu_seqlens, mode), outputs, ranges=ranges)


def finish(
    raw: torch.Tensor, outputs: Sequence[Output], *, ranges: Mapping[int, Ranges] | None = None
) -> list[dict[NumberFormat, torch.Tensor] | None]:
    """``quantize(normalize(truncate(raw)))``: the part after pooling, for raw vectors that were kept as for fresh ones.

    Args:
        raw: `[num_requests, hidden]`, float32, as `pool` gives it. The same row may stand there for several requests.
        outputs: as for `epilogue`.
        ranges: as for `epilogue`.

    Returns:
        As `epilogue`.
    """
    if outputs and kernels_run_on(raw.device) and fits(raw):
        return fused_epilogue(raw, torch.arange(len(raw) + 1), outputs, "last_token", ranges)
    groups: dict[Output, list[int]] = defaultdict(list)
    for index, output in enumerate(outputs):
        groups[output].append(index)
    answers: list[dict[NumberFormat, torch.Tensor] | None] = [None] * len(outputs)
    for output, indices in groups.items():
        made, is_sound = _made(raw[indices], output, ranges)
        for place, (index, sound) in enumerate(zip(indices, is_sound.tolist(), strict=True)):
            if sound:
                answers[index] = {kind: tensor[place] for kind, tensor in made.items()}
    return answers


def finish_each(
    raw: torch.Tensor,
    num_vectors: Sequence[int],
    outputs: Sequence[Output],
    *,
    ranges: Mapping[int, Ranges] | None = None,
) -> list[dict[NumberFormat, torch.Tensor] | None]:
    """`finish` for requests of several vectors each (late interaction): every one of them is normalized by itself.

    Args:
        raw: `[total_vectors, hidden]`, float32, those of a request together.
        num_vectors: of each request, at least one; they add up to `total_vectors`.
        outputs: as for `epilogue`.
        ranges: as for `epilogue`.

    Returns:
        For each request one CPU tensor `[num_vectors, ...]` per number format, or None where one of its vectors is not
        sound: a page without one of its tokens is no answer.
    """
    parts = torch.split(raw, list(num_vectors))
    groups: dict[Output, list[int]] = defaultdict(list)
    for index, output in enumerate(outputs):
        groups[output].append(index)
    answers: list[dict[NumberFormat, torch.Tensor] | None] = [None] * len(outputs)
    for output, indices in groups.items():
        counts = [num_vectors[index] for index in indices]
        made, is_sound = _made(torch.cat([parts[index] for index in indices]), output, ranges)
        split: dict[NumberFormat, Sequence[torch.Tensor]] = {
            kind: torch.split(tensor, counts) for kind, tensor in made.items()
        }
        for place, (index, sound) in enumerate(zip(indices, torch.split(is_sound, counts), strict=True)):
            if bool(sound.all()):
                answers[index] = {kind: tensors[place] for kind, tensors in split.items()}
    return answers


def _made(
    raw: torch.Tensor, output: Output, ranges: Mapping[int, Ranges] | None
) -> tuple[dict[NumberFormat, torch.Tensor], torch.Tensor]:
    """Rows that want the same in each of its formats, and whether each is sound; all on the host."""
    rows = truncate_normalize(raw, output.dimensions, output.normalize)
    bounds = (ranges or {}).get(output.dimensions, (None, None))
    made: dict[NumberFormat, torch.Tensor] = {kind: quantize(rows, kind, *bounds).cpu() for kind in output.kinds}
    return made, _sound(rows, output, *made.values())


def _sound(rows: torch.Tensor, output: Output, *made: torch.Tensor) -> torch.Tensor:
    """Whether each row is finite in every tensor (integers always are) and as long as it must be."""
    norms = torch.linalg.vector_norm(rows, dim=-1)
    checks = [(norms - 1).abs() <= NORM_TOLERANCE if output.normalize else norms > 0]
    checks += [tensor.isfinite().all(-1) for tensor in (rows, *made) if tensor.is_floating_point()]
    return torch.stack([check.cpu() for check in checks]).all(0)
