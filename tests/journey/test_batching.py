"""A vector does not depend on what it was computed beside."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.conftest import TOLERANCE, LiveServer, from_base64, image, image_part, text_part

NUM_MIXED = 32
NUM_CONCURRENT = 64

Item = dict[str, Any]


def item(index: int) -> Item:
    """Text, image, image with text, two images: in turn, each with its own size and content."""
    words = text_part(" ".join(f"word{index + i}" for i in range(1 + 3 * (index % 11))))
    first = image_part(image(index, 64 + 16 * (index % 7), 48 + 16 * (index % 5)))
    second = image_part(image(1000 + index % 3, 160, 64))
    kinds = ([words], [first], [first, words], [first, second])
    return {"content": kinds[index % len(kinds)]}


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return [item(index) for index in range(NUM_CONCURRENT)]


@pytest.fixture(scope="module")
def alone(server: LiveServer, items: list[Item]) -> np.ndarray:
    """Each item's vector from a request of its own, one after the other."""
    vectors = np.stack([server.vectors({"inputs": [one]})[0] for one in items])
    cosines = vectors @ vectors.T
    assert (cosines - 2 * np.eye(len(items)) < 0.9999).all(), "the items must differ, or a swap would go unnoticed"
    return vectors


def test_one_request_of_mixed_items_equals_each_item_alone(
    server: LiveServer, items: list[Item], alone: np.ndarray
) -> None:
    together = server.vectors({"inputs": items[:NUM_MIXED]})
    np.testing.assert_allclose(together, alone[:NUM_MIXED], rtol=0, atol=TOLERANCE)


def test_coheres_form_of_the_same_request_gives_the_same_vectors(
    server: LiveServer, items: list[Item], alone: np.ndarray
) -> None:
    answer = server.ask("/v2/embed", {"inputs": items[:NUM_MIXED], "embedding_types": ["base64", "float"]}).json()
    exact = np.stack([from_base64(text) for text in answer["embeddings"]["base64"]])
    written = np.array(answer["embeddings"]["float"], "<f4")
    np.testing.assert_allclose(exact, alone[:NUM_MIXED], rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(written, exact)


def test_a_batch_that_the_engine_has_never_seen_equals_a_server_without_a_cache(
    server: LiveServer, bare_server: LiveServer
) -> None:
    """Images that are all new, so that one step encodes many of them."""
    fresh = [{"content": [image_part(image(5000 + i, 96, 96)), text_part(f"fresh {i}")]} for i in range(16)]
    together = server.vectors({"inputs": fresh})
    solo = np.stack([bare_server.vectors({"inputs": [one]})[0] for one in reversed(fresh)])[::-1]
    np.testing.assert_allclose(together, solo, rtol=0, atol=TOLERANCE)


def test_concurrent_requests_equal_each_item_alone(server: LiveServer, items: list[Item], alone: np.ndarray) -> None:
    with ThreadPoolExecutor(NUM_CONCURRENT) as pool:
        got = list(pool.map(lambda one: server.vectors({"inputs": [one]})[0], items))
    np.testing.assert_allclose(np.stack(got), alone, rtol=0, atol=TOLERANCE)


def test_concurrent_requests_of_both_forms_do_not_mix(server: LiveServer, items: list[Item], alone: np.ndarray) -> None:
    def ask(index: int) -> np.ndarray:
        if index % 2:
            return server.vectors({"inputs": [items[index], items[index - 1]]})[0]
        body = {"inputs": [items[index]], "embedding_types": ["base64"]}
        return from_base64(server.ask("/v2/embed", body).json()["embeddings"]["base64"][0])

    with ThreadPoolExecutor(NUM_CONCURRENT) as pool:
        got = list(pool.map(ask, range(len(items))))
    np.testing.assert_allclose(np.stack(got), alone, rtol=0, atol=TOLERANCE)


def test_texts_keep_their_order_across_many_forwards(server: LiveServer) -> None:
    """More inputs than one step takes (256), longest first, so that steps end in another order than they began."""
    texts = [f"text {i} " + "long " * (10 - i // 40) for i in range(400)]
    together = server.vectors({"input": texts})
    some = list(range(0, 400, 57))
    solo = np.stack([server.vectors({"input": texts[i]})[0] for i in some])
    np.testing.assert_allclose(together[some], solo, rtol=0, atol=TOLERANCE)
    assert len({row.tobytes() for row in together}) == len(texts)
