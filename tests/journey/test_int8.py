"""int8 and uint8 on the wire are the documented rule, with the checkpoint's ranges or the fixed one."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from cenote_builtin.scenes.captions import caption
from cenote_builtin.scenes.scenes import ASPECTS, sample_scene
from service.checkpoint.hub import CALIBRATION_FILE
from service.checkpoint.hub import CHECKPOINT as BUILTIN
from tests.conftest import LiveServer, image, image_part

V2 = "/v2/embed"
LENGTHS = (32, 64, 128, 256)


def sentence_transformers_uint8(vectors: np.ndarray, minimum: np.ndarray, maximum: np.ndarray) -> np.ndarray:
    """Its `quantize_embeddings` for uint8, with a clip where it would wrap."""
    steps = (maximum - minimum) / 255
    return np.clip(np.floor((vectors - minimum) / steps), 0, 255).astype(int)


def shipped(length: int) -> tuple[np.ndarray, np.ndarray]:
    own = json.loads((BUILTIN / CALIBRATION_FILE).read_text())["ranges"][str(length)]
    return np.array(own["minimum"], np.float32), np.array(own["maximum"], np.float32)


def fixed(length: int) -> tuple[np.ndarray, np.ndarray]:
    bound = np.full(length, 4 / np.sqrt(length), np.float32)
    return -bound, bound


def texts() -> list[str]:
    rng = np.random.default_rng(5)
    return [caption(sample_scene(rng, held_out=True), aspect, rng) for aspect in ASPECTS for _ in range(10)]


def by_type(server: LiveServer, body: dict[str, Any], length: int) -> Iterator[np.ndarray]:
    wanted = body | {"output_dimension": length, "embedding_types": ["float", "uint8", "int8"]}
    embeddings = server.ask(V2, wanted).json()["embeddings"]
    return (np.array(embeddings[kind]) for kind in ("float", "uint8", "int8"))


@pytest.mark.parametrize("length", LENGTHS)
def test_the_builtin_model_uses_the_ranges_that_it_ships(builtin: LiveServer, length: int) -> None:
    vectors, uint8, int8 = by_type(builtin, {"texts": texts()}, length)
    want = sentence_transformers_uint8(vectors.astype(np.float32), *shipped(length))
    np.testing.assert_array_equal(uint8, want)
    np.testing.assert_array_equal(int8, want - 128)
    assert (uint8 != sentence_transformers_uint8(vectors.astype(np.float32), *fixed(length))).mean() > 0.5


@pytest.mark.parametrize("length", [64, 100, 128])
def test_a_checkpoint_without_ranges_has_the_fixed_one(server: LiveServer, length: int) -> None:
    vectors, uint8, int8 = by_type(server, {"texts": texts()[:20]}, length)
    np.testing.assert_array_equal(uint8, sentence_transformers_uint8(vectors.astype(np.float32), *fixed(length)))
    np.testing.assert_array_equal(int8, uint8 - 128)


def test_calibrated_integers_give_the_vector_back_within_a_step(builtin: LiveServer) -> None:
    """The ranges hold for scenes that they were not taken from: one component in a hundred is clipped at most."""
    vectors, uint8, _ = by_type(builtin, {"texts": texts()}, 256)
    minimum, maximum = shipped(256)
    steps = (maximum - minimum) / 255
    off = np.abs(minimum + (uint8 + 0.5) * steps - vectors)
    assert (off <= 0.51 * steps).mean() > 0.99


def test_a_vector_does_not_depend_on_its_neighbors(builtin: LiveServer) -> None:
    image_item = {"content": [image_part(image(95))]}
    alone = builtin.ask(V2, {"inputs": [image_item], "embedding_types": ["int8"]}).json()["embeddings"]["int8"][0]
    crowd = [{"content": text} for text in texts()]
    body = {"inputs": [*crowd, image_item], "embedding_types": ["int8"]}
    among = builtin.ask(V2, body).json()["embeddings"]["int8"][-1]
    assert np.abs(np.array(alone) - np.array(among)).max() <= 1  # packed otherwise, floats may differ in the last bit


def test_the_model_card_says_which_lengths_are_calibrated(builtin: LiveServer, server: LiveServer) -> None:
    cards = [one.http.get("/v1/models").json()["data"][0] for one in (builtin, server)]
    assert [card["calibrated_dimensions"] for card in cards] == [list(LENGTHS), []]


BODY = {"inputs": [{"content": [{"type": "text", "text": "two red circles"}]}, {"content": [image_part(image(3))]}]}


def vectors(server: LiveServer) -> np.ndarray:
    answer = server.http.post("/v1/embeddings", json={"model": "builtin", **BODY})
    assert answer.status_code == 200, answer.text
    return np.array([row["embedding"] for row in answer.json()["data"]])


@pytest.mark.slow
def test_vectors_are_near_those_of_float32(start_server: Callable[..., LiveServer], builtin: LiveServer) -> None:
    int8 = start_server("--model", "builtin", "--weights", "int8").wait_until_ready()
    cosines = (vectors(int8) * vectors(builtin)).sum(axis=1)
    assert (cosines > 0.99).all(), cosines
    assert (cosines < 0.999999).all(), cosines
    assert "int8 weights: cosine of at least 0.99" in int8.log.read_text()
