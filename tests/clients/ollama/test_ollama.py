"""Ollama's own client for Python: the address is all that is set."""

import asyncio
from typing import Any

import numpy as np
import ollama
import pytest

from tests.clients.client_page import page_client
from tests.clients.plain import MODEL, TEXTS, Plain, assert_same, image, numbered_texts
from tests.clients.relay import Relay

NAMES: dict[str, Any] = {"ollama": ollama}


def test_the_pages_line_is_enough(plain: Plain) -> None:
    answer = page_client("ollama", plain.url, **NAMES).embed(MODEL, TEXTS)
    assert_same(answer.embeddings, plain.vectors({"input": TEXTS}))
    assert answer.model == MODEL
    assert answer.prompt_eval_count > 0


def test_texts_keep_their_order_in_one_request(relay: Relay, plain: Plain) -> None:
    texts = numbered_texts(200)
    answer = ollama.Client(host=relay.url).embed(MODEL, texts, keep_alive="5m", options={"num_thread": 2})
    assert_same(answer.embeddings, plain.vectors({"input": texts}))
    assert [sent.path for sent in relay.sent] == ["/api/embed"]


def test_dimensions_shorten_the_vector(plain: Plain) -> None:
    answer = ollama.Client(host=plain.url).embed(MODEL, TEXTS[0], dimensions=64)
    assert_same(answer.embeddings, plain.vectors({"input": TEXTS[0], "dimensions": 64}))


def test_a_data_uri_is_an_image(plain: Plain) -> None:
    answer = ollama.Client(host=plain.url).embed(MODEL, [image(), "a red circle"])
    parts = [{"type": "image_url", "image_url": {"url": image()}}]
    assert_same(answer.embeddings, plain.vectors({"inputs": [{"content": parts}, {"content": "a red circle"}]}))


def test_the_older_way_gives_the_same(plain: Plain) -> None:
    answer = ollama.Client(host=plain.url).embeddings(f"{MODEL}:latest", TEXTS[0])
    assert_same([answer.embedding], plain.vectors({"input": TEXTS[0]}))


def test_the_async_way_gives_the_same(plain: Plain) -> None:
    async def ask() -> list[Any]:
        client = ollama.AsyncClient(host=plain.url)
        return await asyncio.gather(*(client.embed(MODEL, text) for text in TEXTS))

    got = [answer.embeddings[0] for answer in asyncio.run(ask())]
    assert_same(np.array(got, "<f4"), plain.vectors({"input": TEXTS}))


def test_a_refusal_is_the_clients_own_class_with_our_words(relay: Relay, plain: Plain) -> None:
    with pytest.raises(ollama.ResponseError) as caught:
        ollama.Client(host=relay.url).embed(MODEL, TEXTS, dimensions=4096)
    assert caught.value.error == plain.message("/v1/embeddings", {"input": TEXTS, "dimensions": 4096})
    assert (caught.value.status_code, len(relay.sent)) == (400, 1)
    with pytest.raises(ollama.ResponseError, match="which is not served here"):
        ollama.Client(host=plain.url).embed("nobody", TEXTS)
