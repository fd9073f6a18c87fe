"""The common start of one query's pairs is computed once for all of a batch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from service.media.media_item import MediaItem
from service.model.packed.segments import Segments, plan_segments
from service.model.qwen3_vl import language
from service.prompt.prompt import Prompt
from tests.builders import image_bytes, image_file
from tests.conftest import TOLERANCE
from tests.models.served import Served

ORACLE = Path(__file__).parent / "oracle"
CHECKPOINT = ORACLE / "checkpoint"
QUERY = " ".join(f"word{i}" for i in range(60))
DOCUMENTS = [f"{name} is a document of {i} words and more." for i, name in enumerate("abcdefgh")]


@pytest.fixture(scope="module")
def served() -> Served:
    return Served(CHECKPOINT, "qwen3_vl_reranker")


def picture(seed: int, sides: tuple[int, int] = (96, 64)) -> MediaItem:
    blocks = np.random.default_rng(seed).integers(0, 256, (*sides[::-1], 3), dtype=np.uint8)
    return image_file(image_bytes(Image.fromarray(blocks), "PNG"))


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Segments]:
    """Shared segments of every forward of the decoder."""
    made: list[Segments] = []

    def planned(*arguments: Any, **named: Any) -> Segments:
        made.append(plan_segments(*arguments, **named))
        return made[-1]

    monkeypatch.setattr(language, "plan_segments", planned)
    return made


def test_what_a_query_shows_is_computed_once_and_counts_in_each_score(served: Served, plans: list[Segments]) -> None:
    """Two images, one of them also a document's, and words between: DeepStack's levels are added once to each row."""
    first, second = picture(1), picture(2, (128, 96))
    query = (first, second, QUERY)
    documents: list[Any] = [(one,) for one in DOCUMENTS[:4]]
    documents += [(one, "b") for one in (first, picture(3))]
    prompts = [served.pair(query, document) for document in documents]
    alone = np.concatenate([served.scores([prompt]) for prompt in prompts])
    plans.clear()
    assert np.abs(served.scores(prompts) - alone).max() <= TOLERANCE
    (plan,) = plans
    num_shared = common_length(prompts)
    assert len(plan.tokens) <= num_shared + sum(len(one.plan.ids) - num_shared for one in prompts)
    assert num_shared > max(place.offset + place.length for place in prompts[0].placeholders)
    assert max(one.stop - one.start for one in plan.beginnings) >= num_shared  # it stands once in attention, too
    assert np.ptp(alone) > 100 * TOLERANCE


def test_queries_that_show_other_images_of_one_size_share_none_of_them(served: Served, plans: list[Segments]) -> None:
    prompts = [served.pair((picture(seed), QUERY), one) for seed in (1, 2) for one in DOCUMENTS[:3]]
    assert len({*map(tuple, (prompt.plan.ids[:80] for prompt in prompts))}) == 1
    alone = np.concatenate([served.scores([prompt]) for prompt in prompts])
    plans.clear()
    assert np.abs(served.scores(prompts) - alone).max() <= TOLERANCE
    assert np.abs(alone[:3] - alone[3:]).min() > TOLERANCE
    (plan,) = plans
    assert len(plan.tokens) >= 2 * (common_length(prompts) - prompts[0].placeholders[0].offset)


def common_length(prompts: list[Prompt]) -> int:
    """Number of token ids that the prompts have in common at their start."""
    columns = zip(*(prompt.plan.ids for prompt in prompts), strict=False)
    return next(place for place, column in enumerate(columns) if len({*column}) > 1)
