"""The one place where hidden states become vectors: pool, truncate, normalize, quantize, in this order, once."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from cenote_kernels.matryoshka import truncate_normalize
from cenote_kernels.pooling import PoolingMode, pool
from cenote_kernels.quantize import NumberFormat, Ranges, quantize


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
        cu_seqlens: `[num_requests + 1]`, int64.
        outputs: what each request wants, `num_requests` of them.
        mode: pooling mode of the model.
        ranges: calibrated ranges for int8 and uint8, by number of dimensions; a length without has the fixed range.

    Returns:
        For each request one CPU tensor per number format, or None where the vector is not finite, or would not be in
        a format that was asked for (float16 ends at 65,504): a NaN or an inf is an error of that request, never a row.
    """
    raw = pool(hidden, cu_seqlens, mode)
    groups: dict[Output, list[int]] = defaultdict(list)
    for index, output in enumerate(outputs):
        groups[output].append(index)
    answers: list[dict[NumberFormat, torch.Tensor] | None] = [None] * len(outputs)
    for output, indices in groups.items():
        rows = truncate_normalize(raw[indices], output.dimensions, output.normalize)
        bounds = (ranges or {}).get(output.dimensions, (None, None))
        made: dict[NumberFormat, torch.Tensor] = {kind: quantize(rows, kind, *bounds).cpu() for kind in output.kinds}
        finite = _finite(rows, *made.values())
        for place, index in enumerate(indices):
            if finite[place]:
                answers[index] = {kind: tensor[place] for kind, tensor in made.items()}
    return answers


def _finite(*tensors: torch.Tensor) -> list[bool]:
    """For each request, whether its row is finite in every tensor; integers always are."""
    checks = [tensor.isfinite().all(-1).cpu() for tensor in tensors if tensor.is_floating_point()]
    finite: list[bool] = torch.stack(checks).all(0).tolist()
    return finite
