"""The one place where hidden states become vectors: pool, truncate, normalize, quantize, in this order, once."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from cenote_kernels.matryoshka import truncate_normalize
from cenote_kernels.pooling import PoolingMode, pool
from cenote_kernels.quantize import NumberFormat, quantize


@dataclass(frozen=True, slots=True)
class Output:
    """What one request wants of its vector.

    Attributes:
        dimensions: leading dimensions to keep.
        kinds: number formats to make.
    """

    dimensions: int
    kinds: tuple[NumberFormat, ...] = ("float32",)


def epilogue(
    hidden: torch.Tensor,
    cu_seqlens: torch.Tensor,
    outputs: Sequence[Output],
    *,
    mode: PoolingMode = "last_token",
    normalize: bool = True,
) -> list[dict[NumberFormat, torch.Tensor] | None]:
    """``quantize(normalize(truncate(pool(hidden))))``, one request a row; requests that want the same go together.

    Args:
        hidden: `[total_tokens, hidden]`, any float dtype.
        cu_seqlens: `[num_requests + 1]`, int64.
        outputs: what each request wants, `num_requests` of them.
        mode: pooling mode of the model.
        normalize: scale to unit length after cutting.

    Returns:
        For each request one CPU tensor per number format, or None where the vector is not finite: a NaN is an error
        of that request and never a row.
    """
    raw = pool(hidden, cu_seqlens, mode)
    groups: dict[Output, list[int]] = defaultdict(list)
    for index, output in enumerate(outputs):
        groups[output].append(index)
    answers: list[dict[NumberFormat, torch.Tensor] | None] = [None] * len(outputs)
    for output, indices in groups.items():
        rows = truncate_normalize(raw[indices], output.dimensions, normalize)
        made: dict[NumberFormat, torch.Tensor] = {kind: quantize(rows, kind).cpu() for kind in output.kinds}
        for place, (index, is_finite) in enumerate(zip(indices, rows.isfinite().all(-1).tolist(), strict=True)):
            if is_finite:
                answers[index] = {kind: tensor[place] for kind, tensor in made.items()}
    return answers
