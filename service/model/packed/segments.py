"""The layout of a batch while the decoder runs: prompts sorted by length, a common beginning only once.

In: token ids on the host. Out: index arrays. numpy only; knows neither the model nor the device.

A causal decoder gives the same hidden states for the same beginning, whatever follows. So tokens of a beginning that
two prompts share are one row of all that works row by row (projections, norms, feed-forward), and stand once per
prompt only in attention. Exact, for any number of instructions in one batch; equal prompts become one.

Source: RadixMLP, Baseten 2026 (text-embeddings-inference #761): "fold" and "unfold".
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]

LEAST_SHARE = 12
"""Sharing starts where it saves one token in so many: spreading rows for attention and back costs about 3 % of a
token's work (8 % in a narrow model)."""


@dataclass(frozen=True, slots=True)
class Group:
    """Prompts of one length that stand one behind the other in attention's order.

    Attributes:
        first: number of the first prompt, in attention's order.
        start: place of its first token.
        stop: place behind its last token.
        num_segments: prompts in the group.
        num_tokens: length of each.
    """

    first: int
    start: int
    stop: int
    num_segments: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class Segments:
    """The row that computes each token of a batch, and its place in attention.

    Attributes:
        tokens: `[num_rows]`, the token of the batch that each row computes.
        row: `[num_tokens]`, the row that computes each token of the batch.
        order: `[num_segments]`, the prompts in attention's order, shortest first.
        groups: the same prompts, equal lengths together.
        unfold: `[num_tokens]`, the row of each place in attention's order; None where rows and places are the same.
        fold: `[num_rows]`, the place whose result each row takes; None with `unfold`.
    """

    tokens: Index
    row: Index
    order: Index
    groups: tuple[Group, ...]
    unfold: Index | None
    fold: Index | None


def plan_segments(token_ids: Index, lengths: Sequence[int], visual_index: Index, *, may_share: bool = True) -> Segments:
    """Sort the prompts of a batch by length, and find what they begin with in common.

    Only text in front of a prompt's first image is shared: there the positions count from 0 in every prompt, and
    equal placeholders may stand for different images.

    Args:
        token_ids: `[num_tokens]`, prompts one behind the other.
        visual_index: `[visual_tokens]`, where placeholders are, ascending.
        may_share: False keeps one row per token.
    """
    starts = np.array([0, *accumulate(lengths)])
    order = np.argsort(lengths, kind="stable")
    by_text, shared = [0], np.zeros(len(lengths), np.int64)
    if may_share and len(lengths) > 1:
        by_text, shared = _common_beginnings(token_ids, starts, visual_index)
    if shared.sum() * LEAST_SHARE < len(token_ids):
        by_text, shared = list(range(len(lengths))), np.zeros(len(lengths), np.int64)
    row, tokens = _rows(starts, order, by_text, shared)
    groups: list[Group] = []
    first = start = 0
    for num_tokens, num_segments in sorted(Counter(lengths).items()):
        stop = start + num_segments * num_tokens
        groups.append(Group(first, start, stop, num_segments, num_tokens))
        first, start = first + num_segments, stop
    unfold = fold = None
    if shared.any():
        unfold = np.concatenate([row[starts[i] : starts[i + 1]] for i in order])
        fold = np.empty(len(tokens), np.int64)
        fold[unfold] = np.arange(len(unfold))
    return Segments(tokens, row, order, tuple(groups), unfold, fold)


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a batch's prompts, as a batch of its own.

    Attributes:
        start: place of its first token in the batch.
        stop: place behind its last token.
        groups: its prompts; their places count from `start`.
    """

    start: int
    stop: int
    groups: tuple[Group, ...]


def cut_parts(groups: Sequence[Group], max_tokens: int) -> list[Part]:
    """Whole prompts of at most so many tokens together, in order; a longer one has a part of its own."""
    parts: list[Part] = []
    start = first = 0
    held: list[Group] = []
    for group in groups:
        num_left = group.num_segments
        while num_left:
            num_held = held[-1].stop if held else 0
            num_fit = (max_tokens - num_held) // group.num_tokens
            if num_fit < 1 and held:
                parts.append(Part(start, start + num_held, tuple(held)))
                start, first, held = start + num_held, 0, []
                continue
            num_fit = max(1, min(num_left, num_fit))
            held.append(Group(first, num_held, num_held + num_fit * group.num_tokens, num_fit, group.num_tokens))
            first, num_left = first + num_fit, num_left - num_fit
    return [*parts, Part(start, start + held[-1].stop, tuple(held))]


def _common_beginnings(token_ids: Index, starts: Index, visual_index: Index) -> tuple[list[int], Index]:
    """The prompts in the order of their text, and how many tokens each shares with the one before it there."""
    texts = [token_ids[start:stop] for start, stop in pairwise(starts)]
    keys = [text.astype(">i4").tobytes() for text in texts]
    by_text = sorted(range(len(texts)), key=keys.__getitem__)
    limits = num_before_image(starts, visual_index)
    shared = np.zeros(len(texts), np.int64)
    for before, index in pairwise(by_text):
        limit = min(limits[before], limits[index])
        unequal = np.flatnonzero(texts[before][:limit] != texts[index][:limit])
        shared[index] = unequal[0] if len(unequal) else limit
    return by_text, shared


def num_before_image(starts: Index, visual_index: Index) -> list[int]:
    """For each prompt how many tokens stand in front of its first placeholder: all of them where there is none."""
    after_last = np.append(visual_index, starts[-1])
    first = after_last[np.searchsorted(visual_index, starts[:-1])]
    limits: list[int] = (np.minimum(first, starts[1:]) - starts[:-1]).tolist()
    return limits


def _rows(starts: Index, order: Index, by_text: Sequence[int], shared: Index) -> tuple[Index, Index]:
    """The row of each token, and the token of each row: rows of one prompt lie together, shortest prompt first."""
    own = starts[1:] - starts[:-1] - shared
    first_row = np.zeros(len(own), np.int64)
    first_row[order] = np.cumsum(own[order]) - own[order]
    row, tokens = np.empty(starts[-1], np.int64), np.empty(own.sum(), np.int64)
    for before, index in pairwise([by_text[0], *by_text]):
        start, stop, num_shared = starts[index], starts[index + 1], shared[index]
        row[start : start + num_shared] = row[starts[before] : starts[before] + num_shared]
        row[start + num_shared : stop] = rows = np.arange(first_row[index], first_row[index] + own[index])
        tokens[rows] = np.arange(start + num_shared, stop)
    return row, tokens
