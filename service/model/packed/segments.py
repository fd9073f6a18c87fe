"""The layout of a batch while the decoder runs: prompts sorted by length, a common beginning only once.

In: token ids on the host. Out: index arrays. numpy only; knows neither the model nor the device.

A causal decoder gives the same hidden states for the same beginning, whatever follows. So tokens of a beginning that
two prompts share are one row of all that works row by row (projections, norms, feed-forward), and stand once per
prompt only in attention. Exact, for any number of instructions in one batch; equal prompts become one.

In attention a beginning that is worth it stands once, too: as a prompt of its own, and after it what is left of the
prompts that have it. A prompt attends to it in a part of its own, and the parts are merged, which pays where several
prompts share a long one: a query and its candidates, texts after one instruction.

Source: RadixMLP, Baseten 2026 (text-embeddings-inference #761): "fold" and "unfold".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from service.outputs.plan import TokenPlan

Index = NDArray[np.int64]

NO_NUMBERS: Final[Index] = np.zeros(0, np.int64)
LEAST_SHARE = 12
"""Sharing starts where it saves one token in so many: spreading rows for attention and back costs about 3 % of a
token's work (8 % in a narrow model)."""
LEAST_PREFIX: Final = 32
"""Of a beginning that stands once."""
LEAST_SAVED: Final = 8
"""It has to save one place in so many of its prompts': merging reads and writes all of them once more."""


@dataclass(frozen=True, slots=True)
class Group:
    """Prompts of one length, or rests of prompts, that stand one after the other in attention's order.

    Attributes:
        first: number of the first prompt, in attention's order.
        start: place of its first token.
        stop: place after its last token.
        num_tokens: length of each.
        num_keys: tokens of each that are attended to, from the first on; the rest attend to them.
    """

    first: int
    start: int
    stop: int
    num_segments: int
    num_tokens: int
    num_keys: int


@dataclass(frozen=True, slots=True)
class SharedPrefix:
    """Common start of some prompts. After it stand their rests, in groups.

    Attributes:
        start: place of its first token.
        stop: place after its last token, where the rests start.
        suffix_stop: place after the last rest.
    """

    start: int
    stop: int
    suffix_stop: int


@dataclass(frozen=True, slots=True)
class Shared:
    """Prompts, by their numbers, and how many tokens at their beginning are the same."""

    num_tokens: int
    prompts: tuple[int, ...]

    @property
    def num_saved(self) -> int:
        """Places that need not stand in attention's order."""
        return self.num_tokens * (len(self.prompts) - 1)


@dataclass(frozen=True, slots=True)
class Spread:
    """Between rows, where a shared token is computed once, and places, where prompts stand whole or after a beginning.

    Attributes:
        row_of_place: `[num_places]`.
        place_of_row: `[num_rows]`, the place whose result each row takes.
    """

    row_of_place: Index
    place_of_row: Index


@dataclass(frozen=True, slots=True)
class Segments:
    """The row that computes each token of a batch, and its place in attention.

    Attributes:
        tokens: `[num_rows]`, the token of the batch that each row computes.
        row: `[num_tokens]`, the row that computes each token of the batch.
        order: `[num_segments]`, the prompts in attention's order: after each beginning, then others, shortest first.
        groups: the same prompts, those of equal length and as many hidden tokens together.
        beginnings: that stand once in attention's order, with places of their own between the groups.
        spread: between rows and places in attention's order; None where they are the same.
    """

    tokens: Index
    row: Index
    order: Index
    groups: tuple[Group, ...]
    beginnings: tuple[SharedPrefix, ...]
    spread: Spread | None


def plan_segments(
    token_ids: Index,
    lengths: Sequence[int],
    visual_index: Index,
    visual_numbers: Index = NO_NUMBERS,
    *,
    may_share: bool = True,
    may_part: bool = False,
    plans: Sequence[TokenPlan] = (),
) -> Segments:
    """Sort the prompts of a batch by length, and find what they begin with in common.

    Equal placeholders may stand for different images: those are common that have the same number. Positions count from
    0 in every prompt and follow from tokens and images in front, so they are equal in what is common.

    Args:
        token_ids: `[num_tokens]`, prompts one after the other.
        visual_index: `[visual_tokens]`, where placeholders are, ascending.
        visual_numbers: `[visual_tokens]`, equal where two are the same token of the same image; empty: no two are.
        may_share: False keeps one row per token.
        may_part: attention knows beginnings.
        plans: of each prompt; empty: no token is hidden from the others.
    """
    sizes = np.array(lengths)
    starts = np.cumsum(sizes) - sizes
    by_text, shared = [0], np.zeros(len(sizes), np.int64)
    if may_share and len(sizes) > 1:
        numbers = visual_numbers if len(visual_numbers) else np.arange(len(visual_index))
        what = token_ids.copy()
        what[visual_index] = token_ids.max() + 1 + numbers
        by_text, shared = _common_beginnings(what, starts, sizes)
    if shared.sum() * LEAST_SHARE < len(token_ids):
        by_text, shared = list(range(len(sizes))), np.zeros(len(sizes), np.int64)
    apart = select_prefixes(by_text, shared[by_text], sizes) if may_part and shared.any() else []
    held = {prompt for one in apart for prompt in one.prompts}
    parts = [*apart, Shared(0, tuple(prompt for prompt in range(len(sizes)) if prompt not in held))]
    hidden = [plan.num_masked for plan in plans] or [0] * len(sizes)
    order, groups, beginnings = _attention_order(parts, lengths, hidden)
    own = sizes - shared
    first_row = np.empty_like(own)  # rows of one prompt lie together, shortest prompt first
    first_row[order] = np.cumsum(own[order]) - own[order]
    row, computed = ragged_arange(first_row - shared, sizes), np.arange(sizes.sum())
    if shared.any():
        same = _first_alike(starts, sizes, by_text, shared)
        row, computed = row[same], np.flatnonzero(same == computed)
    tokens, spread = np.empty(len(computed), np.int64), None
    tokens[row[computed]] = computed
    if shared.any():
        row_of_place = row[_places(parts, order, starts, sizes)]
        place_of_row = np.empty(len(tokens), np.int64)
        place_of_row[row_of_place] = np.arange(len(row_of_place))
        spread = Spread(row_of_place, place_of_row)
    return Segments(tokens, row, order, groups, beginnings, spread)


def _attention_order(
    parts: Sequence[Shared], lengths: Sequence[int], hidden: Sequence[int]
) -> tuple[Index, tuple[Group, ...], tuple[SharedPrefix, ...]]:
    """The prompts in attention's order, and where they and their beginnings stand there."""
    order, groups, beginnings = list[int](), list[Group](), list[SharedPrefix]()
    start = 0
    for one in parts:
        begin, start = start, start + one.num_tokens
        first_rest = start
        alike: dict[tuple[int, int], list[int]] = {}
        for prompt in one.prompts:
            alike.setdefault((lengths[prompt], hidden[prompt]), []).append(prompt)
        for (num_whole, num_unseen), prompts in sorted(alike.items()):
            num_tokens = num_whole - one.num_tokens
            stop = start + len(prompts) * num_tokens
            groups.append(Group(len(order), start, stop, len(prompts), num_tokens, num_tokens - num_unseen))
            order += prompts
            start = stop
        if one.num_tokens:
            beginnings.append(SharedPrefix(begin, first_rest, start))
    return np.array(order, np.int64), tuple(groups), tuple(beginnings)


def _places(parts: Sequence[Shared], order: Index, starts: Index, lengths: Index) -> Index:
    """The tokens of the batch in attention's order: each beginning once, and after it the rests of its prompts."""
    begins, sizes = list[Index](), list[Index]()
    first = 0
    for one in parts:
        own = order[first : first + len(one.prompts)]
        first += len(own)
        begins += [starts[own[:1]], starts[own] + one.num_tokens]
        sizes += [np.full(len(own[:1]), one.num_tokens), lengths[own] - one.num_tokens]
    return ragged_arange(np.concatenate(begins), np.concatenate(sizes))


@dataclass(frozen=True, slots=True)
class BatchPart:
    """Some of a batch's prompts, as a batch of its own.

    Attributes:
        start: place of its first token in the batch.
        stop: place after its last token.
        groups: its prompts; their places count from `start`.
    """

    start: int
    stop: int
    groups: tuple[Group, ...]


def cut_parts(groups: Sequence[Group], max_tokens: int) -> list[BatchPart]:
    """Whole prompts of at most so many tokens together, in order; a longer one has a part of its own."""
    parts: list[BatchPart] = []
    start = first = 0
    held: list[Group] = []
    for group in groups:
        num_left = group.num_segments
        while num_left:
            num_held = held[-1].stop if held else 0
            num_fit = (max_tokens - num_held) // group.num_tokens
            if num_fit < 1 and held:
                parts.append(BatchPart(start, start + num_held, tuple(held)))
                start, first, held = start + num_held, 0, []
                continue
            num_fit = max(1, min(num_left, num_fit))
            stop = num_held + num_fit * group.num_tokens
            held.append(Group(first, num_held, stop, num_fit, group.num_tokens, group.num_keys))
            first, num_left = first + num_fit, num_left - num_fit
    return [*parts, BatchPart(start, start + held[-1].stop, tuple(held))]


def _common_beginnings(what: Index, starts: Index, lengths: Index) -> tuple[list[int], Index]:
    """The prompts in the order of what they hold, and how many tokens each shares with the one before it there."""
    written = what.astype(">i4").tobytes()
    stops = (4 * (starts + lengths)).tolist()
    keys = [written[start:stop] for start, stop in pairwise([0, *stops])]
    by_text = sorted(range(len(keys)), key=keys.__getitem__)
    before, behind = np.array(by_text[:-1]), np.array(by_text[1:])
    shared = np.zeros(len(keys), np.int64)
    shared[behind] = common_lengths(what, starts[before], starts[behind], np.minimum(lengths[before], lengths[behind]))
    return by_text, shared


def _first_alike(starts: Index, lengths: Index, by_text: Sequence[int], shared: Index) -> Index:
    """Of each token the one whose row computes it: itself, unless its prompt shares it.

    Then it is that of the nearest prompt before, in the order of what they hold, that does not share its token at that
    place. All prompts between the two have one there, so in the order of places the two follow each other, but for
    those that are shared too.
    """
    sizes = lengths[by_text]
    place = ragged_arange(np.zeros_like(sizes), sizes)
    by_place = np.argsort(place.astype(np.min_scalar_type(int(sizes.max()))), kind="stable")
    tokens = ragged_arange(starts[by_text], sizes)[by_place]
    is_own = (place >= np.repeat(shared[by_text], sizes))[by_place]
    nearest = np.maximum.accumulate(np.where(is_own, np.arange(len(tokens)), 0))
    same = np.empty_like(tokens)
    same[tokens] = tokens[nearest]
    return same


def select_prefixes(by_text: Sequence[int], common: Index, lengths: Index) -> list[Shared]:
    """Beginnings that save most, no prompt in two of them. Behind each of its prompts a token is left.

    Args:
        by_text: prompts in the order of what they hold.
        common: `[prompts]`, tokens that each of `by_text` shares with the one before it.
        lengths: `[prompts]`, by number.
    """
    found = _best(by_text, common, lengths)
    return [one for one in found if one.num_saved * LEAST_SAVED >= lengths[list(one.prompts)].sum()]


def _best(by_text: Sequence[int], common: Index, lengths: Index) -> list[Shared]:
    """All with what they have in common, or parts of them with more each, whichever saves more."""
    if len(by_text) < 2 or common[1:].max() < LEAST_PREFIX:
        return []
    least = int(common[1:].min())
    whole = Shared(min(least, int(lengths[list(by_text)].min()) - 1), tuple(by_text))
    cuts = [0, *(np.flatnonzero(common[1:] == least) + 1), len(by_text)]
    ranges = [slice(*one) for one in pairwise(cuts)]
    parts = [part for one in ranges for part in _best(by_text[one], common[one], lengths)]
    if whole.num_tokens >= LEAST_PREFIX and whole.num_saved >= sum(part.num_saved for part in parts):
        return [whole]
    return parts


def ragged_arange(starts: Index, lengths: Index) -> Index:
    """``concat(arange(start, start + length) for start, length in zip(starts, lengths))``; lengths may be 0."""
    places: Index = np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return places


def common_lengths(values: Index, ones: Index, others: Index, limits: Index) -> Index:
    """Number of values that each of some pairs of stretches has in common at its start, `[num_pairs]`.

    Args:
        values: of which they are stretches.
        ones: `[num_pairs]`, the start of the one of each pair.
        others: `[num_pairs]`, the start of the other.
        limits: `[num_pairs]`, the length of the shorter.
    """
    pair = np.repeat(np.arange(len(limits)), limits)
    place = ragged_arange(np.zeros_like(limits), limits)
    unequal = np.flatnonzero(values[ones[pair] + place] != values[others[pair] + place])[::-1]
    common = limits.copy()
    common[pair[unequal]] = place[unequal]  # backwards: the first of each pair is written last, and stays
    return common
