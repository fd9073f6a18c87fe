"""Rows of answers from a hybrid model's raw vectors: the dense one, the sparse one, those of tokens.

`service/model/stock/hybrid_encoder.py` says how a raw vector lies.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np
import torch

from cenote_kernels import finish
from service.ipc.messages import Request
from service.outputs.block import Row, Rows
from service.outputs.dense import DenseAsk
from service.outputs.sparse import SPARSE, SparseAsk, pack_sparse
from service.outputs.tokens import TokensAsk

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
    starts = [0, *accumulate(num_rows)]
    firsts = raw[torch.tensor(starts[:-1], device=raw.device), :width].contiguous()
    every = DenseAsk(dimensions=width)  # is looked at also where it is not asked for
    asked = [next((ask for ask in one.asks if isinstance(ask, DenseAsk)), every) for one in requests]
    dense = finish(firsts, asked, ranges=ranges)
    parts = [raw[start:stop] for start, stop in pairwise(starts)]
    return [_rows(*one, width, unused) for one in zip(parts, requests, dense, strict=True)]


def _rows(part: torch.Tensor, request: Request, dense: Rows | None, width: int, unused: frozenset[int]) -> Rows | None:
    """The rows of one request; `dense` are those of its dense vector."""
    if dense is None or not bool(part.isfinite().all()):
        return None
    rows: dict[str, Row] = {}
    for ask in request.asks:
        if isinstance(ask, DenseAsk):
            rows |= dense
        elif isinstance(ask, SparseAsk):
            rows[SPARSE] = lexical_row(request.plan.ids, part[:, width].cpu().numpy(), unused)
        elif isinstance(ask, TokensAsk):
            (tokens,) = finish(part[1:, :width].contiguous(), [ask], num_vectors=[len(part) - 1])
            if tokens is None:
                return None
            rows |= {ask.row + dtype: one for dtype, one in tokens.items()}
    return rows


def lexical_row(token_ids: Sequence[int], weights: np.ndarray, unused: frozenset[int]) -> bytes:
    """The largest weight of each token that a text has, but for those that are not used, and zeros."""
    ids, place = np.unique(np.asarray(token_ids), return_inverse=True)
    best = np.zeros(len(ids), np.float32)
    np.maximum.at(best, place, weights)
    is_used = (best > 0) & ~np.isin(ids, list(unused))
    return pack_sparse(ids[is_used], best[is_used])
