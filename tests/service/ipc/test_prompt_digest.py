"""A prompt's digest covers what decides its vector, and nothing else."""

from typing import Any

import msgspec
import pytest

from service.ipc.messages import Media, PixelSlot, Request
from service.ipc.prompt_digest import prompt_digest
from service.outputs.dense import DenseAsk
from service.outputs.features import FeaturesAsk
from service.outputs.plan import TokenPlan

IMAGE = Media(key=b"k" * 32, grid_thw=(1, 4, 6), offset=2, num_tokens=6, slot=PixelSlot(64, 9))
OTHER = msgspec.structs.replace(IMAGE, key=b"o" * 32, offset=9)
REQUEST = Request(id=1, plan=TokenPlan([1, 2, 3] * 5), media=(IMAGE, OTHER), asks=(DenseAsk(dimensions=8),))


def with_image(**changes: Any) -> dict[str, Any]:
    return {"media": (msgspec.structs.replace(IMAGE, **changes), OTHER)}


@pytest.mark.parametrize(
    "changes",
    [
        {"id": 7},
        {"asks": (DenseAsk(dimensions=4, output_dtypes=("int8", "float16"), normalize=False),)},
        {"tenant": "acme"},
        {"deadline_s": 3.0},
        {"alone": True},
        {"is_fresh": True},
        with_image(slot=None),
        with_image(slot=PixelSlot(0, 9)),
    ],
    ids=str,
)
def test_what_does_not_decide_the_vector_does_not_count(changes: dict[str, Any]) -> None:
    assert prompt_digest(msgspec.structs.replace(REQUEST, **changes)) == prompt_digest(REQUEST)


@pytest.mark.parametrize(
    "changes",
    [
        {"plan": TokenPlan([1, 2, 3] * 4)},
        {"plan": TokenPlan([1, 2, 4] * 5)},
        {"plan": TokenPlan([3, 2, 1] * 5)},
        {"media": ()},
        {"media": (IMAGE,)},
        {"media": (OTHER, IMAGE)},
        {"asks": (FeaturesAsk(dtype="float32", width=8),)},
        {"plan": TokenPlan([1, 2, 3] * 5, spans=((0, 2), (2, 15)))},
        with_image(key=b"l" * 32),
        with_image(key=b"k" * 31),
        with_image(offset=3),
        with_image(grid_thw=(1, 6, 4)),
        with_image(num_tokens=5),
        with_image(dtype="float16"),
    ],
    ids=str,
)
def test_whatever_decides_the_vector_counts(changes: dict[str, Any]) -> None:
    assert prompt_digest(msgspec.structs.replace(REQUEST, **changes)) != prompt_digest(REQUEST)


def test_the_borders_of_chunks_count() -> None:
    spans = [((0, 2), (2, 15)), ((0, 3), (3, 15)), ((0, 2),), ((2, 15),), ()]
    plans = [TokenPlan(REQUEST.plan.ids, spans=one) for one in spans]
    assert len({prompt_digest(msgspec.structs.replace(REQUEST, plan=one)) for one in plans}) == len(spans)


def test_salts_keep_apart_whatever_they_are_made_of() -> None:
    assert len({prompt_digest(REQUEST, salt=salt) for salt in ("", "a", "b", "ab", "a\0", "1")}) == 6


def test_tokens_and_images_do_not_run_together() -> None:
    """A token list that ends in what an image's bytes look like is another prompt."""
    bare = msgspec.structs.replace(REQUEST, media=())
    joined = [msgspec.structs.replace(bare, plan=TokenPlan([*REQUEST.plan.ids, *b"k" * n])) for n in range(40)]
    assert len({prompt_digest(one) for one in (REQUEST, *joined)}) == 41


@pytest.mark.parametrize("num_tokens", range(60))
def test_short_prompts_are_told_from_others_and_from_hashes(num_tokens: int) -> None:
    """No digest is as long as a hash but hashes, and none is long."""
    one = msgspec.structs.replace(REQUEST, plan=TokenPlan([7] * num_tokens), media=())
    other = msgspec.structs.replace(one, plan=TokenPlan([7] * num_tokens + [8]))
    assert prompt_digest(one) != prompt_digest(other)
    assert prompt_digest(one) != prompt_digest(one, salt="t")
    assert 32 <= len(prompt_digest(one)) <= 96
