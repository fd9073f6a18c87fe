"""Attention on a processor, in one call for all prompts of a batch: `attention.c`.

Each run of queries attends to up to three segments of keys, whole prefixes first and its own prompt last, so what
several prompts begin with stands once. Segments come from two sources, such as a kept prefix and the batch.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from cenote_kernels.cpu.library import columns, kernel, num_threads, parallel_region, runs_on

MAX_PARTS = 3
MAX_HEAD_DIM = 256

KeysValues = tuple[torch.Tensor, torch.Tensor]
NO_KEYS_VALUES: KeysValues = torch.zeros(0), torch.zeros(0)
"""Each `[num_tokens, kv_heads, head_dim]`."""


@dataclass(frozen=True, slots=True)
class KeySegment:
    """Neighbouring tokens of a source: ``source[first : first + num_tokens]``."""

    source: int
    first: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class QueryRun:
    """Neighbouring queries that attend to the same segments.

    Attributes:
        first: its first query.
        num_tokens: how many.
        own: number of the segment to which the window applies. Where later keys are hidden, the last query stands at
            the last key, so fewer queries than keys are the last ones.
        before: numbers of segments that are seen whole.
    """

    first: int
    num_tokens: int
    own: int
    before: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AttentionPlan:
    """The pairs of queries and keys of a batch, as the kernel reads them: made once for all layers.

    Attributes:
        segments: `[num_segments, 4]`: source, first token, number of tokens, first place among packed keys.
        runs: `[num_runs, 5]`: first query, number of queries, three segments or -1.
        num_places: packed keys of a head.
        num_pairs: of queries and keys.
    """

    segments: NDArray[np.int64]
    runs: NDArray[np.int64]
    num_places: int
    num_pairs: int

    @classmethod
    def of(cls, segments: Sequence[KeySegment], runs: Sequence[QueryRun]) -> "AttentionPlan":
        """The plan for runs over segments."""
        lengths, lanes = [segment.num_tokens for segment in segments], columns("lanes")
        places = np.cumsum([0, *(-(-length // lanes) * lanes for length in lengths)])
        parts = [(*run.before, *[-1] * (MAX_PARTS - 1 - len(run.before)), run.own) for run in runs]
        pairs = sum(
            run.num_tokens * sum(lengths[part] for part in of_run if part >= 0)
            for run, of_run in zip(runs, parts, strict=True)
        )
        rows = [(one.source, one.first, one.num_tokens, place) for one, place in zip(segments, places, strict=False)]
        queries = [(run.first, run.num_tokens, *of_run) for run, of_run in zip(runs, parts, strict=True)]
        return cls(np.array(rows, np.int64), np.array(queries, np.int64), int(places[-1]), pairs)


class _Source(ctypes.Structure):
    _fields_ = (
        ("keys", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("key_strides", ctypes.c_int64 * 2),
        ("value_strides", ctypes.c_int64 * 2),
    )


class _Arguments(ctypes.Structure):
    """A mirror of `Arguments` in attention.c."""

    _fields_ = (
        ("query", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("query_strides", ctypes.c_int64 * 2),
        ("out_strides", ctypes.c_int64 * 2),
        ("sources", _Source * 2),
        ("num_heads", ctypes.c_int64),
        ("num_kv_heads", ctypes.c_int64),
        ("head_dim", ctypes.c_int64),
        ("left", ctypes.c_int64),
        ("right", ctypes.c_int64),
        ("num_segments", ctypes.c_int64),
        ("segments", ctypes.c_void_p),
        ("num_queries", ctypes.c_int64),
        ("queries", ctypes.c_void_p),
        ("num_places", ctypes.c_int64),
        ("packed_keys", ctypes.c_void_p),
        ("packed_values", ctypes.c_void_p),
        ("num_threads", ctypes.c_int64),
        ("parallel", ctypes.c_void_p),
        ("scaling", ctypes.c_float),
    )


def takes(head_dim: int, dtype: torch.dtype, device: torch.device) -> bool:
    """True if there is a kernel for queries `[..., head_dim]`."""
    return head_dim <= MAX_HEAD_DIM and head_dim % 2 == 0 and runs_on(dtype, device)


def attention(
    query: torch.Tensor,
    sources: Sequence[KeysValues],
    plan: AttentionPlan,
    scaling: float,
    sides: tuple[int, int],
    out: torch.Tensor,
) -> torch.Tensor:
    """``softmax(scaling · Q Kᵀ + window) V`` for each run of queries; a query that sees no key has zeros.

    Args:
        query: `[num_queries, heads, head_dim]`, float32 or bfloat16, as the others; any strides.
        sources: one or two; keys are un-repeated (grouped queries).
        plan: see `AttentionPlan`.
        scaling: factor of the scores.
        sides: keys that a query sees before and after its place in its own segment, -1 for all.
        out: like `query`, written where there are queries of the plan; its last stride is 1.

    Raises:
        ValueError: dtypes differ, or query heads cannot be shared out among the key heads.
    """
    if query.shape[1] % sources[0][0].shape[1] or any(one.dtype != query.dtype for pair in sources for one in pair):
        raise ValueError(f"queries {tuple(query.shape)} of {query.dtype} and keys or values do not belong together")
    assert out.stride(-1) == 1 and out.dtype == query.dtype  # noqa: PT018
    query, sources = _readable(query), [(_readable(key), _readable(value)) for key, value in sources]
    num_heads, num_kv_heads, head_dim = query.shape[1], sources[0][0].shape[1], query.shape[2]
    numbers, lanes = num_kv_heads * plan.num_places, columns("lanes")
    packed_keys = query.new_empty(numbers * head_dim)
    packed_values = query.new_empty(numbers * (-(-head_dim // lanes) * lanes))
    described = [_Source(k.data_ptr(), v.data_ptr(), k.stride()[:2], v.stride()[:2]) for k, v in sources]
    arguments = _Arguments(
        query.data_ptr(),
        out.data_ptr(),
        query.stride()[:2],
        out.stride()[:2],
        tuple(described),
        num_heads,
        num_kv_heads,
        head_dim,
        *sides,
        len(plan.segments),
        plan.segments.ctypes.data,
        len(plan.runs),
        plan.runs.ctypes.data,
        plan.num_places,
        packed_keys.data_ptr(),
        packed_values.data_ptr(),
        num_threads(plan.num_pairs * num_heads * head_dim),
        parallel_region(),
        scaling,
    )
    kernel("attend", query.dtype)(ctypes.byref(arguments))
    return out


def _readable(tensor: torch.Tensor) -> torch.Tensor:
    """A copy where the kernel could not read it: neighbours apart, or two bfloat16 of a word in different words."""
    is_readable = tensor.stride(-1) == 1 and (tensor.dtype == torch.float32 or tensor.stride(0) % 2 == 0)
    return tensor if is_readable else tensor.contiguous()


def attention_reference(
    query: torch.Tensor,
    sources: Sequence[KeysValues],
    plan: AttentionPlan,
    scaling: float,
    sides: tuple[int, int],
) -> torch.Tensor:
    """The same by its formula, `[num_queries, heads, head_dim]`, in float64; for the tests."""
    out = torch.zeros(query.shape, dtype=torch.float64)
    times = query.shape[1] // sources[0][0].shape[1]
    for first, num_queries, *parts in plan.runs.tolist():
        rows = slice(first, first + num_queries)
        keys, values, seen = [], [], []
        for number, part in enumerate(parts):
            if part < 0:
                continue
            source, start, num_keys, _ = plan.segments[part].tolist()
            k, v = (one[start : start + num_keys].double().repeat_interleave(times, 1) for one in sources[source])
            keys.append(k)
            values.append(v)
            seen.append(_seen(num_queries, num_keys, sides if number == MAX_PARTS - 1 else (-1, -1)))
        scores = torch.einsum("qhd,khd->hqk", query[rows].double(), torch.cat(keys)) * scaling
        scores = scores.masked_fill(~torch.cat(seen, 1), float("-inf"))
        weights = torch.softmax(scores, -1).nan_to_num(0.0)
        out[rows] = torch.einsum("hqk,khd->qhd", weights, torch.cat(values))
    return out


def _seen(num_queries: int, num_keys: int, sides: tuple[int, int]) -> torch.Tensor:
    """`[num_queries, num_keys]`, true where a query sees a key."""
    left, right = sides
    offset = max(0, num_keys - num_queries) if right >= 0 else 0
    distance = torch.arange(num_keys) - torch.arange(offset, offset + num_queries)[:, None]
    return ((distance >= -left) | (left < 0)) & ((distance <= right) | (right < 0))
