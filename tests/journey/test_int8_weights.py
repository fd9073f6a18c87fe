"""`--weights int8` through the whole service: it starts, says what it costs, and its vectors stay near."""

from collections.abc import Callable

import numpy as np

from tests.conftest import LiveServer, image, image_part

BODY = {"inputs": [{"content": [{"type": "text", "text": "two red circles"}]}, {"content": [image_part(image(3))]}]}


def vectors(server: LiveServer) -> np.ndarray:
    answer = server.http.post("/v1/embeddings", json={"model": "builtin", **BODY})
    assert answer.status_code == 200, answer.text
    return np.array([row["embedding"] for row in answer.json()["data"]])


def test_vectors_are_near_those_of_float32(start_server: Callable[..., LiveServer], builtin: LiveServer) -> None:
    int8 = start_server("--model", "builtin", "--weights", "int8").wait_until_ready()
    cosines = (vectors(int8) * vectors(builtin)).sum(axis=1)
    assert (cosines > 0.99).all(), cosines
    assert (cosines < 0.999999).all(), cosines
    assert "int8 weights: cosine of at least 0.99" in int8.log.read_text()
