"""The built-in models as two stages: one vision tower for both, and an order that is better behind the second."""

import io
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from service.model.builtin.scenes.captions import caption
from service.model.builtin.scenes.scenes import Scene, draw
from service.model.builtin.scenes.variants import hard_family
from tests.conftest import LiveServer, data_uri

BOTH = ("--model", "search=builtin", "--model", "rank=builtin-reranker")
NUM_FAMILIES, NUM_OTHERS = 24, 3
SIZE_PX = 128


@pytest.fixture(scope="module")
def both(start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    server = start_server(*BOTH).wait_until_ready()
    yield server
    assert server.stop() == 0


def shown(scene: Scene) -> str:
    file = io.BytesIO()
    draw(scene, SIZE_PX).save(file, "PNG")
    return data_uri(file.getvalue())


def order(server: LiveServer, query: str, documents: list[dict[str, str]], model: str) -> list[int]:
    body = {"query": query, "documents": documents, "model": model}
    return [entry["index"] for entry in server.ask("/v2/rerank", body).json()["results"]]


def test_of_scenes_that_differ_in_a_size_the_second_stage_finds_the_wanted_one_more_often(both: LiveServer) -> None:
    rng, before = np.random.default_rng(31), both.metric("cenote_vision_encodes_total")
    firsts: dict[str, list[bool]] = {"search": [], "rank": []}
    for _ in range(NUM_FAMILIES):
        scenes = hard_family("sizes", NUM_OTHERS, rng, held_out=True)
        documents = [{"image": shown(scene)} for scene in scenes]
        query = caption(scenes[0], "whole", rng)
        for model, found in firsts.items():
            found.append(order(both, query, documents, model)[0] == 0)
    embedder, reranker = (float(np.mean(found)) for found in firsts.values())
    assert reranker >= 0.7
    assert reranker > embedder
    # one tower for both: each image was encoded once
    assert both.metric("cenote_vision_encodes_total") - before == NUM_FAMILIES * (1 + NUM_OTHERS)
