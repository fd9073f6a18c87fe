"""Keys and values of what prompts begin with, kept from one forward to the next: an instruction is computed once.

A causal decoder gives the same keys and values for the same first tokens, whatever follows. Prompts of one batch share
them anyway (`segments.py`); this is for those that come one after the other: a pipeline's queries, each after the same
system turn, or pairs of a query that fill several batches. A beginning is kept once several prompts had it, in one
batch or in turn, and never shared by tenants: how long an answer takes would tell one what another asks.

Source: automatic prefix caching of vLLM (docs.vllm.ai, design/prefix_caching), here for the decoder's input alone and
without blocks: a system turn is often shorter than one.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch

from cenote_kernels.cpu.attention import NO_KEYS_VALUES, KeysValues
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.segments import Index, common_lengths

K = TypeVar("K")
V = TypeVar("V")

LEAST_SHARE = 24
"""A beginning is used where it is one token in so many of the batch: without a kernel every layer merges it in."""
LEAST_TOKENS = 8
"""Shorter beginnings are not kept, nor longer ones that save no more than this."""
MAX_TOKENS = 1024
"""Of a beginning; prompts are compared so far."""
NUM_RECENT = 4
"""Prompts of a tenant that a new one is compared with."""
NUM_TENANTS = 256
"""Tenants whose prompts are remembered."""
NUM_COUNTED = 256
"""Common beginnings whose times are counted."""
TIMES = 2
"""A beginning is kept when it was common so often: by then three prompts or more have had it."""
LEAST_ALIKE = 4
"""Prompts of a batch whose beginning is kept at once."""

Key = tuple[str, bytes]
"""The tenant, and the tokens."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """Prefix of prompts.

    Attributes:
        layers: of each layer keys and values, `[num_tokens, 2 · kv_heads, head_dim]`: all keys, then all values.
    """

    num_tokens: int
    layers: tuple[torch.Tensor, ...]

    @property
    def num_bytes(self) -> int:
        """Memory that it takes."""
        return sum(layer.nbytes for layer in self.layers)


NO_PREFIX = Prefix(0, ())


@dataclass(frozen=True, slots=True)
class PrefixUse:
    """Use of the cache by a forward.

    Attributes:
        found: the beginning of all prompts of the batch, which need not be computed; without tokens there is none.
        num_to_keep: first tokens of the batch's first prompt that are to be kept; 0: none. Never with `found`.
        key: of those.
    """

    found: Prefix = NO_PREFIX
    num_to_keep: int = 0
    key: Key = ("", b"")


NO_USE = PrefixUse()


@dataclass(frozen=True, slots=True)
class CommonPrefix:
    """Start of a batch's prompts that may be kept.

    Attributes:
        first: the head of the first prompt.
        num_alike: of these tokens, how many the heads of all prompts begin with.
    """

    first: Index
    num_alike: int


class PrefixCache:
    """The beginnings that are kept; the least recently used are given up first.

    Args:
        tenant_share: part of `max_bytes` for one tenant by name.

    Attributes:
        max_bytes: as given; 0 keeps nothing.
        num_bytes: of those that are kept.
        num_reused: tokens that did not have to be computed since somebody has set it to 0.
    """

    def __init__(self, max_bytes: int, tenant_share: float = 1.0) -> None:
        self.max_bytes = max_bytes
        self._max_tenant_bytes = int(max_bytes * tenant_share)
        self.num_bytes = self.num_reused = 0
        self._kept: OrderedDict[Key, Prefix] = OrderedDict()
        self._recent: OrderedDict[str, deque[Index]] = OrderedDict()
        self._times: OrderedDict[Key, int] = OrderedDict()

    def look(self, batch: PackedBatch) -> PrefixUse:
        """The longest kept beginning of all prompts of a batch where it is worth using, or one worth keeping now.

        Of several tenants each must have had it kept. A batch without tenants is none of a client.
        """
        if not batch.tenants:
            return NO_USE
        (tenant, *_), head, num_prompts = batch.tenants, _head(batch), len(batch.segment_lengths)
        found = self._find(head, list(dict.fromkeys(batch.tenants)))
        least = found.num_tokens + LEAST_TOKENS
        if num_to_keep := max(self._learn(tenant, head.first, least), self._alike(batch, head, least)):
            return PrefixUse(NO_PREFIX, num_to_keep, (tenant, head.first[:num_to_keep].tobytes()))
        if found.num_tokens * num_prompts * LEAST_SHARE < len(batch.token_ids):
            return NO_USE
        self.num_reused += found.num_tokens * num_prompts
        return PrefixUse(found)

    def keep(self, key: Key, prefix: Prefix) -> None:
        """Keep a beginning, if there is room for it at all."""
        tenant, _ = key
        most = self._max_tenant_bytes if tenant else self.max_bytes
        if prefix.num_bytes > most or key in self._kept:
            return
        while self._held(tenant) + prefix.num_bytes > most:
            self._give_up(next(one for one in self._kept if one[0] == tenant))
        while self.num_bytes + prefix.num_bytes > self.max_bytes:
            self._give_up(next(iter(self._kept)))
        self._kept[key] = prefix
        self.num_bytes += prefix.num_bytes

    def _held(self, tenant: str) -> int:
        return sum(one.num_bytes for key, one in self._kept.items() if key[0] == tenant)

    def _give_up(self, key: Key) -> None:
        self.num_bytes -= self._kept.pop(key).num_bytes

    def _find(self, head: CommonPrefix, tenants: Sequence[str]) -> Prefix:
        for length in sorted({one.num_tokens for one in self._kept.values()}, reverse=True):
            if length > head.num_alike:
                continue
            tokens = head.first[:length].tobytes()
            keys = [(tenant, tokens) for tenant in tenants]
            if all(key in self._kept for key in keys):
                for key in keys:
                    self._kept.move_to_end(key)
                return self._kept[keys[0]]
        return NO_PREFIX

    def _learn(self, tenant: str, head: Index, least: int) -> int:
        """Compare a prompt with the tenant's recent ones: the length of a beginning to keep now, or 0."""
        recent = self._recent.pop(tenant, None) or deque(maxlen=NUM_RECENT)
        common = {_num_common(head, other) for other in recent}
        recent.append(head.copy())  # a view would hold its whole batch
        _put_last(self._recent, tenant, recent, NUM_TENANTS)
        for length in sorted(common, reverse=True):
            if length < least:
                break
            key = (tenant, head[:length].tobytes())
            times = self._times.pop(key, 0) + 1
            _put_last(self._times, key, times, NUM_COUNTED)
            if times >= TIMES and key not in self._kept:
                return length
        return 0

    def _alike(self, batch: PackedBatch, head: CommonPrefix, least: int) -> int:
        """Length of the common start of all prompts of one tenant's batch that is to be kept now, or 0."""
        if len(batch.segment_lengths) < LEAST_ALIKE or len(set(batch.tenants)) > 1 or head.num_alike < least:
            return 0
        is_kept = (batch.tenants[0], head.first[: head.num_alike].tobytes()) in self._kept
        return 0 if is_kept else head.num_alike


class LayerPrefixes:
    """Keys and values that one forward reads from the cache, or makes for it, layer by layer.

    Args:
        use: what the cache said.
        rows: `[num_to_keep]`, the rows that compute the beginning that is to be kept.
    """

    def __init__(self, use: PrefixUse, rows: torch.Tensor) -> None:
        self._use = use
        self._rows = rows
        self._made: list[torch.Tensor] = []
        self._found = iter(use.found.layers)

    def next(self, own: torch.Tensor) -> KeysValues:
        """Keys and values in front of those of the next layer's rows, `own` `[rows, 2 · kv_heads, head_dim]`."""
        if self._use.num_to_keep:
            self._made.append(own.index_select(0, self._rows))
        if not self._use.found.num_tokens:
            return NO_KEYS_VALUES
        keys, values = next(self._found).chunk(2, dim=1)
        return keys, values

    def keep_in(self, cache: PrefixCache) -> None:
        """Hand what was made to the cache."""
        if self._made:
            cache.keep(self._use.key, Prefix(self._use.num_to_keep, tuple(self._made)))


NO_PREFIXES = LayerPrefixes(NO_USE, torch.zeros(0, dtype=torch.int64))


def without(batch: PackedBatch, num_tokens: int) -> PackedBatch:
    """A batch whose prompts lack their first tokens; those that are left keep their positions."""
    lengths = np.array(batch.segment_lengths)
    places = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    left, visual = np.flatnonzero(places >= num_tokens), batch.visual
    return replace(
        batch,
        token_ids=batch.token_ids[left],
        position_ids=batch.position_ids[:, left],
        segment_lengths=(lengths - num_tokens).tolist(),
        visual=replace(visual, index=torch.from_numpy(np.searchsorted(left, visual.index.numpy()))),
    )


def _head(batch: PackedBatch) -> CommonPrefix:
    """Where a prompt's head ends: in front of its first image, and of its last token."""
    token_ids, lengths = batch.token_ids.numpy(), np.array(batch.segment_lengths)
    starts = np.cumsum(lengths) - lengths
    limits = np.minimum(np.minimum(_num_before_image(starts, lengths, batch), lengths - 1), MAX_TOKENS)
    first = token_ids[: limits[0]]
    if len(lengths) == 1:
        return CommonPrefix(first, len(first))
    num_common = common_lengths(token_ids, np.zeros_like(starts), starts, np.minimum(limits, limits[0]))
    return CommonPrefix(first, int(num_common.min()))


def _num_before_image(starts: Index, lengths: Index, batch: PackedBatch) -> Index:
    """For each prompt how many tokens stand in front of its first placeholder: all of them where there is none."""
    visual_index = batch.visual.index.numpy()
    after_last = np.append(visual_index, starts[-1] + lengths[-1])
    return np.minimum(after_last[np.searchsorted(visual_index, starts)] - starts, lengths)


def _num_common(one: Index, other: Index) -> int:
    """Number of tokens that two texts, `[num_tokens]` each, have in common at their start."""
    limit = min(len(one), len(other))
    unequal = np.flatnonzero(one[:limit] != other[:limit])
    return int(unequal[0]) if len(unequal) else limit


def _put_last(store: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    store[key] = value
    if len(store) > most:
        store.popitem(last=False)
