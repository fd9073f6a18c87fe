"""The built-in model does what it is for, over HTTP, on scenes that its training never saw."""

from typing import Any

import numpy as np
import pytest

from cenote_builtin.scenes.captions import caption
from cenote_builtin.scenes.instructions import CANONICAL
from cenote_builtin.scenes.scenes import ASPECTS, Aspect, Scene, draw, meaning, sample_scene
from service.http.routes.models import BUILTIN_CARD
from tests.builders import image_bytes
from tests.conftest import LiveServer, data_uri, image_part

NUM_SCENES = 200
SIDE_PIXELS = 128
BATCH = 50
FLOOR = {256: 0.90, 64: 0.85}
"""Least recall@1 by number of dimensions."""


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    rng = np.random.default_rng(20270101)
    return [sample_scene(rng, held_out=True) for _ in range(NUM_SCENES)]


@pytest.fixture(scope="module")
def images(scenes: list[Scene]) -> list[str]:
    return [data_uri(image_bytes(draw(scene, SIDE_PIXELS))) for scene in scenes]


def embed_images(server: LiveServer, images: list[str], **asked: Any) -> np.ndarray:
    items = [{"content": [image_part(url)]} for url in images]
    batches = [items[start : start + BATCH] for start in range(0, len(items), BATCH)]
    return np.concatenate([server.vectors({"inputs": batch, **asked}) for batch in batches])


def embed_captions(server: LiveServer, scenes: list[Scene], aspect: Aspect, dimensions: int) -> np.ndarray:
    rng = np.random.default_rng(ASPECTS.index(aspect))
    return server.vectors({"input": [caption(scene, aspect, rng) for scene in scenes], "dimensions": dimensions})


def share_right(
    server: LiveServer, scenes: list[Scene], images: list[str], aspect: Aspect, dimensions: int = 256, **asked: str
) -> float:
    """Of images whose nearest caption means the same under the aspect."""
    queries = embed_images(server, images, dimensions=dimensions, **({"instruction": CANONICAL[aspect]} | asked))
    nearest = (queries @ embed_captions(server, scenes, aspect, dimensions).T).argmax(axis=1)
    keys = [meaning(scene, aspect) for scene in scenes]
    return float(np.mean([keys[found] == keys[place] for place, found in enumerate(nearest)]))


@pytest.mark.parametrize("dimensions", FLOOR)
@pytest.mark.parametrize("aspect", ASPECTS)
def test_two_hundred_way_retrieval(
    builtin: LiveServer, scenes: list[Scene], images: list[str], aspect: Aspect, dimensions: int
) -> None:
    assert share_right(builtin, scenes, images, aspect, dimensions) >= FLOOR[dimensions]


def test_one_image_has_other_neighbors_under_colors_than_under_shapes_and_both_are_right(
    builtin: LiveServer, scenes: list[Scene], images: list[str]
) -> None:
    """One pool of color captions and shape captions together: the instruction alone says which of them is near."""
    aspects: tuple[Aspect, Aspect] = ("colors", "shapes")
    pool = np.concatenate([embed_captions(builtin, scenes, aspect, 256) for aspect in aspects])
    told = [(aspect, meaning(scene, aspect)) for aspect in aspects for scene in scenes]
    nearest, hit = {}, {}
    for aspect in aspects:
        nearest[aspect] = (embed_images(builtin, images, instruction=CANONICAL[aspect]) @ pool.T).argmax(axis=1)
        pairs = zip(scenes, nearest[aspect], strict=True)
        hit[aspect] = np.array([told[found] == (aspect, meaning(scene, aspect)) for scene, found in pairs])
    assert (hit["colors"] & hit["shapes"]).mean() >= 0.9
    assert (nearest["colors"] != nearest["shapes"]).all()


@pytest.mark.slow
def test_a_large_image_is_shrunk_to_what_the_model_knows(builtin: LiveServer, scenes: list[Scene]) -> None:
    large = [data_uri(image_bytes(draw(scene, 512))) for scene in scenes[:BATCH]]
    assert share_right(builtin, scenes, large, "shapes") >= 0.85


def test_the_documents_example_card_is_the_served_one(builtin: LiveServer) -> None:
    live = builtin.http.get("/v1/models/builtin").json()
    ours = {"created": 0, "fingerprint": "", "kernels": ""}
    assert live | ours == BUILTIN_CARD | ours


def test_free_wording_of_an_instruction_is_understood(
    builtin: LiveServer, scenes: list[Scene], images: list[str]
) -> None:
    asked = {"instruction": "Which colors are in the image?"}
    assert share_right(builtin, scenes, images[:BATCH], "colors", **asked) >= 0.8
