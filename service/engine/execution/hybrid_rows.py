"""Rows of answers from a hybrid model's raw vectors: the dense one, the sparse one, those of tokens.

`service/model/stock/hybrid_encoder.py` says how a raw vector lies.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import msgspec
import numpy as np
import torch

from cenote_kernels import finish
from service.ipc.messages import OutputSpec, Request
from service.ipc.sparse_row import MULTI_ROW, SPARSE, pack_sparse
from service.ipc.vectors import Row, Rows

Ranges = tuple[torch.Tensor, torch.Tensor]


def hybrid_rows(
    raw: torch.Tensor,
    requests: Sequence[Request],
    num_rows: Sequence[int],
    width: int,
    unused: frozenset[int],
    ranges: Mapping[int, Ranges],
) -> list[Rows | None]:
    """One entry for each request; None where one of its vectors is not valid.

    Args:
        raw: `[total_rows, width]`, or one wider.
        num_rows: of each request: 1, or its tokens.
        unused: tokens without a place in sparse vectors.
    """
    outputs = [request.output for request in requests if isinstance(request.output, OutputSpec)]
    starts = [0, *accumulate(num_rows)]
    firsts = raw[torch.tensor(starts[:-1], device=raw.device), :width].contiguous()
    plain = [msgspec.structs.replace(one, output_dtypes=one.output_dtypes or ("float32",)) for one in outputs]
    answers: list[Rows | None] = []
    for index, dense in enumerate(finish(firsts, plain, ranges=ranges)):
        output, part = outputs[index], raw[starts[index] : starts[index + 1]]
        if dense is None or not bool(part.isfinite().all()):
            answers.append(None)
            continue
        row: dict[str, Row] = {dtype: dense[dtype] for dtype in output.output_dtypes}
        if output.is_sparse:
            row[SPARSE] = lexical_row(requests[index].token_ids, part[:, width].cpu().numpy(), unused)
        if output.token_dtypes:
            spec = OutputSpec(dimensions=output.dimensions, output_dtypes=output.token_dtypes)
            (tokens,) = finish(part[1:, :width].contiguous(), [spec], num_vectors=[len(part) - 1])
            if tokens is None:
                answers.append(None)
                continue
            row |= {MULTI_ROW + dtype: one for dtype, one in tokens.items()}
        answers.append(row)
    return answers


def lexical_row(token_ids: Sequence[int], weights: np.ndarray, unused: frozenset[int]) -> bytes:
    """The largest weight of each token that a text has, but for those that are not used, and zeros."""
    ids, place = np.unique(np.asarray(token_ids), return_inverse=True)
    best = np.zeros(len(ids), np.float32)
    np.maximum.at(best, place, weights)
    is_used = (best > 0) & ~np.isin(ids, list(unused))
    return pack_sparse(ids[is_used], best[is_used])
