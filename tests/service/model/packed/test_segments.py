"""Where tokens are computed: every prompt is whole in attention, and only equal beginnings of text are shared."""

import random
from itertools import pairwise

import numpy as np
import pytest

from service.model.packed.segments import cut_parts, plan_segments

NO_IMAGE = np.zeros(0, np.int64)


def plan(prompts: list[list[int]], visual: list[int] | None = None, **options: bool):
    ids = np.array([token for prompt in prompts for token in prompt])
    index = NO_IMAGE if visual is None else np.array(visual)
    return ids, plan_segments(ids, [len(prompt) for prompt in prompts], index, **options)


def random_prompts(draw: random.Random) -> list[list[int]]:
    """Some that begin alike, some that are alike, one that is the beginning of another."""
    heads = [[draw.randrange(50) for _ in range(draw.randrange(1, 12))] for _ in range(3)]
    return [
        draw.choice(heads) + [draw.randrange(3) for _ in range(draw.randrange(draw.choice((1, 9))))] for _ in range(20)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_each_place_in_attention_reads_the_prompts_own_text(seed: int) -> None:
    prompts = random_prompts(random.Random(seed))
    ids, segments = plan(prompts)
    places = segments.tokens if segments.spread is None else segments.tokens[segments.spread.row_of_place]
    start = 0
    for index in segments.order:
        assert ids[places[start : start + len(prompts[index])]].tolist() == prompts[index]
        start += len(prompts[index])
    assert ids[segments.tokens[segments.row]].tolist() == ids.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_a_row_is_shared_only_behind_the_same_tokens(seed: int) -> None:
    prompts = random_prompts(random.Random(seed))
    _, segments = plan(prompts)
    seen: dict[int, tuple[int, ...]] = {}
    rows = iter(segments.row.tolist())
    for prompt in prompts:
        for end in range(1, len(prompt) + 1):
            assert seen.setdefault(next(rows), tuple(prompt[:end])) == tuple(prompt[:end])
    assert len(seen) == len(segments.tokens) == len({*seen.values()}), "as few rows as there are different beginnings"


@pytest.mark.parametrize("seed", range(5))
def test_fold_takes_each_row_from_a_place_that_reads_it(seed: int) -> None:
    _, segments = plan(random_prompts(random.Random(seed)))
    assert segments.spread is not None
    assert segments.spread.row_of_place[segments.spread.place_of_row].tolist() == list(range(len(segments.tokens)))


def test_groups_cover_the_prompts_by_length() -> None:
    _, segments = plan([[1] * 5, [2] * 3, [3] * 5, [4]])
    assert [(group.num_segments, group.num_tokens) for group in segments.groups] == [(1, 1), (1, 3), (2, 5)]
    assert segments.groups[-1].stop == 14
    assert segments.order.tolist() == [3, 1, 0, 2]


def test_nothing_behind_an_image_is_shared() -> None:
    prompt = [5, 6, 7, 9, 9, 8]
    _, segments = plan([prompt, prompt], visual=[3, 4, 9, 10])
    assert segments.row.tolist()[:3] == segments.row.tolist()[6:9]
    assert not {*segments.row.tolist()[3:6]} & {*segments.row.tolist()[9:]}


def test_a_beginning_that_is_not_worth_it_is_computed_for_each() -> None:
    long = [list(range(200)), [0, *range(300, 500)]]
    assert plan(long)[1].spread is None
    assert plan([long[0], long[0]], may_share=False)[1].spread is None
    assert plan([long[0], long[0]])[1].spread is not None


@pytest.mark.parametrize("max_tokens", [1, 7, 20, 64, 10_000])
def test_parts_hold_whole_prompts_in_order_and_no_more_tokens_than_fit(max_tokens: int) -> None:
    draw = random.Random(max_tokens)
    lengths = [draw.randrange(1, 30) for _ in range(60)]
    _, segments = plan([[1] * length for length in lengths], may_share=False)
    parts = cut_parts(segments.groups, max_tokens)
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    assert parts[-1].stop == sum(lengths)
    found = []
    for part in parts:
        end = first = 0
        for group in part.groups:
            assert (group.start, group.first, group.stop) == (end, first, end + group.num_segments * group.num_tokens)
            end, first = group.stop, first + group.num_segments
            found += [group.num_tokens] * group.num_segments
        assert end == part.stop - part.start
        assert end <= max_tokens or first == 1
    assert found == sorted(lengths)
    assert all(one.stop - one.start + other.groups[0].num_tokens > max_tokens for one, other in pairwise(parts))
