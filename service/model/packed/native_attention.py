"""Attention on a processor by our own kernel: one call for all prompts, prefixes and beginnings of a batch.

In: what `service.model.packed.attention` is given. Out: the same mixtures. It makes the plan that the kernel reads,
once for all layers.
"""

from collections.abc import Sequence
from functools import lru_cache

import torch

from cenote_kernels.cpu import attention as kernel
from cenote_kernels.cpu.attention import NO_KEYS_VALUES, AttentionPlan, KeySegment, KeysValues, QueryRun
from service.model.packed.segments import Group, SharedPrefix

BATCH, PREFIX = 0, 1
"""Sources of keys and values."""
ALL = (-1, -1)


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    groups: tuple[Group, ...],
    scaling: float,
    out: torch.Tensor,
    sides: tuple[int, int],
    prefix: KeysValues = NO_KEYS_VALUES,
    beginnings: tuple[SharedPrefix, ...] = (),
) -> torch.Tensor:
    """See `service.model.packed.attention.attend`; `sides` are its window's."""
    out[groups[-1].stop :].zero_()
    plan = _plan(groups, beginnings, len(prefix[0]))
    return kernel.attention(query, _sources(key, value, prefix), plan, scaling, sides, out)


def attend_last(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    groups: tuple[Group, ...],
    scaling: float,
    prefix: KeysValues = NO_KEYS_VALUES,
    beginnings: tuple[SharedPrefix, ...] = (),
) -> torch.Tensor:
    """See `service.model.packed.attention.attend_last`."""
    plan = _plan(groups, beginnings, len(prefix[0]), is_of_last=True)
    out = query.new_empty(query.shape)
    return kernel.attention(query, _sources(key, value, prefix), plan, scaling, ALL, out)


def attend_whole(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """See `service.model.packed.attention.attend_whole`."""
    out = query.new_empty(query.shape)
    return kernel.attention(query, [(key, value)], _plan_whole(len(query), len(key)), query.shape[-1] ** -0.5, ALL, out)


def _sources(key: torch.Tensor, value: torch.Tensor, prefix: KeysValues) -> list[KeysValues]:
    return [(key, value), prefix] if len(prefix[0]) else [(key, value)]


@lru_cache(maxsize=16)
def _plan(
    groups: tuple[Group, ...], beginnings: tuple[SharedPrefix, ...], num_before: int, *, is_of_last: bool = False
) -> AttentionPlan:
    """For all queries of prompts and of their beginnings; or for one query of each prompt, that of its last token."""
    shared, numbers = _shared_segments(beginnings, num_before)
    before = (0,) if num_before else ()
    own, runs = list[KeySegment](), list[QueryRun]()
    for one, number in zip(beginnings, numbers, strict=True):
        if not is_of_last:
            runs.append(QueryRun(one.start, one.stop - one.start, number, before))
    for group in groups:
        seen = before + _numbers_before(group, beginnings, numbers)
        for index, start in enumerate(range(group.start, group.stop, group.num_tokens)):
            place, num_queries = (group.first + index, 1) if is_of_last else (start, group.num_tokens)
            runs.append(QueryRun(place, num_queries, len(shared) + len(own), seen))
            own.append(KeySegment(BATCH, start, group.num_tokens if is_of_last else group.num_keys))
    return AttentionPlan.of([*shared, *own], runs)


@lru_cache(maxsize=8)
def _plan_whole(num_queries: int, num_keys: int) -> AttentionPlan:
    return AttentionPlan.of([KeySegment(BATCH, 0, num_keys)], [QueryRun(0, num_queries, 0)])


def _shared_segments(beginnings: Sequence[SharedPrefix], num_before: int) -> tuple[list[KeySegment], list[int]]:
    """Segments that several prompts attend to, the kept prefix first, and the number of each beginning among them."""
    prefix = [KeySegment(PREFIX, 0, num_before)] if num_before else []
    shared = [KeySegment(BATCH, one.start, one.stop - one.start) for one in beginnings]
    return prefix + shared, list(range(len(prefix), len(prefix) + len(shared)))


def _numbers_before(group: Group, beginnings: Sequence[SharedPrefix], numbers: Sequence[int]) -> tuple[int, ...]:
    """The number of the beginning that a group's prompts have, if they have one."""
    return tuple(
        number for one, number in zip(beginnings, numbers, strict=True) if one.stop <= group.start < one.suffix_stop
    )
