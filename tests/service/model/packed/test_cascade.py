"""Attention behind beginnings that stand once, against each whole prompt by the formula in float64."""

import random
from itertools import accumulate

import numpy as np
import pytest
import torch

from service.model.packed.attention import attend, attend_last
from service.model.packed.segments import Segments, plan_segments, select_prefixes

pytestmark = pytest.mark.usefixtures("attention_of_cpu")
HEADS, KV_HEADS, HEAD_DIM = 4, 2, 16
SCALING = 3 * HEAD_DIM**-0.5
"""Scores as large as those of trained models."""


def planned(prompts: list[list[int]]) -> Segments:
    ids = np.array([token for prompt in prompts for token in prompt])
    return plan_segments(ids, list(map(len, prompts)), np.zeros(0, np.int64), may_part=True)


def families(draw: random.Random) -> list[list[int]]:
    """Prompts after two long beginnings with a part in common, equal ones among them, and two of their own."""
    system = [draw.randrange(900) for _ in range(40)]
    heads = [system + [draw.randrange(900) for _ in range(size)] for size in (60, 90)]
    pairs = [heads[draw.randrange(2)] + [draw.randrange(900) for _ in range(draw.randrange(1, 30))] for _ in range(12)]
    alone = [[draw.randrange(900) for _ in range(draw.randrange(1, 120))] for _ in range(2)]
    mixed = [*pairs, *alone, pairs[0], heads[0]]
    draw.shuffle(mixed)
    return mixed


def rows_of(prompts: list[list[int]]) -> tuple[Segments, list[torch.Tensor]]:
    """The plan, and queries, keys and values that depend on what stands in front, as a decoder's do."""
    segments = planned(prompts)
    draw = torch.Generator().manual_seed(len(segments.tokens))
    every = torch.randn(len(segments.tokens), HEADS + 2 * KV_HEADS, HEAD_DIM, generator=draw)
    return segments, list(torch.split(every, [HEADS, KV_HEADS, KV_HEADS], dim=1))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("num_before", [0, 5, 70])
def test_each_prompt_attends_to_all_of_itself_and_to_what_is_kept(seed: int, num_before: int) -> None:
    prompts = families(random.Random(seed))
    segments, (query, key, value) = rows_of(prompts)
    assert len(segments.beginnings) == 2
    assert segments.spread is not None
    before = torch.randn(2, num_before, KV_HEADS, HEAD_DIM)
    prefix = (before[0], before[1])
    places = [one[torch.from_numpy(segments.spread.row_of_place)] for one in (query, key, value)]
    options = {"prefix": prefix, "beginnings": segments.beginnings}
    mixed = attend(*places, segments.groups, SCALING, torch.empty_like(places[0]), **options)
    by_row = mixed[torch.from_numpy(segments.spread.place_of_row)]
    starts = [0, *accumulate(map(len, prompts))]
    lasts = torch.from_numpy(segments.row[np.array(starts[1:])[segments.order] - 1])
    of_last = attend_last(query[lasts], *places[1:], segments.groups, SCALING, **options)
    for place, number in enumerate(segments.order):
        rows = torch.from_numpy(segments.row[starts[number] : starts[number + 1]])
        keys, values = torch.cat([before[0], key[rows]]), torch.cat([before[1], value[rows]])
        queries = torch.cat([query.new_zeros(num_before, HEADS, HEAD_DIM), query[rows]])
        want = exact(queries, keys, values, SCALING)[num_before:]
        torch.testing.assert_close(by_row[rows].double(), want, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(of_last[place].double(), want[-1], atol=1e-5, rtol=1e-5)


def test_a_rest_that_is_no_number_leaves_its_neighbours_and_the_beginning_alone() -> None:
    prompts = [[*range(50), 100 + number, 200 + number] for number in range(4)]
    segments, (query, key, value) = rows_of(prompts)
    poisoned = int(segments.row[52 * 2 + 50])
    for one in (query, key, value):
        one[poisoned] = float("nan")
    unfold, fold = (torch.from_numpy(one) for one in (segments.spread.row_of_place, segments.spread.place_of_row))
    places = [one[unfold] for one in (query, key, value)]
    mixed = attend(*places, segments.groups, SCALING, torch.empty_like(places[0]), beginnings=segments.beginnings)[fold]
    wrong = {int(row) for row in torch.where(mixed.isnan().flatten(1).any(1))[0]}
    assert wrong == {poisoned, int(segments.row[52 * 2 + 51])}


def test_what_stands_once_is_what_saves_most() -> None:
    head, other = list(range(100)), [*range(40), *range(300, 360)]
    segments = planned([[*head, 500 + n, 1] for n in range(5)] + [[*other, 600 + n] for n in range(5)])
    assert [one.stop - one.start for one in segments.beginnings] == [100, 100]
    segments = planned([[*range(80), 500 + n] for n in range(5)] + [[*range(80), 600, 700 + n] for n in range(2)])
    assert [one.stop - one.start for one in segments.beginnings] == [80]


@pytest.mark.parametrize(("num_common", "num_own", "num_apart"), [(31, 5, 0), (32, 5, 1), (40, 300, 0), (300, 300, 1)])
def test_short_beginnings_and_those_of_much_longer_prompts_stand_in_each(
    num_common: int, num_own: int, num_apart: int
) -> None:
    lengths = np.full(4, num_common + num_own)
    common = np.array([0, *[num_common] * 3])
    assert len(select_prefixes(range(4), common, lengths)) == num_apart


def test_equal_prompts_keep_a_last_token_each() -> None:
    segments = planned([list(range(60))] * 3)
    (one,) = segments.beginnings
    assert one.stop - one.start == 59
    assert [(group.num_segments, group.num_tokens) for group in segments.groups] == [(3, 1)]
    assert len(segments.tokens) == 60


def exact(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scaling: float) -> torch.Tensor:
    """``softmax(scaling · Q Kᵀ + causal mask) V`` of one prompt, `[num_tokens, heads, head_dim]`."""
    q, k, v = (tensor.double().transpose(0, 1) for tensor in (query, key, value))
    k, v = (tensor.repeat_interleave(len(q) // len(tensor), dim=0) for tensor in (k, v))
    scores = (scaling * q @ k.transpose(1, 2)).masked_fill_(torch.ones(len(query), len(query)).triu_(1).bool(), -1e300)
    return (scores.softmax(-1) @ v).transpose(0, 1)
