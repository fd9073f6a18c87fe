"""LlamaIndex's embedding for NVIDIA NIM: the base URL with `/v1`. It always sends `input_type` and `truncate`."""

import asyncio
from typing import Any

import openai
import pytest
from llama_index.embeddings.nvidia import NVIDIAEmbedding

from tests.clients.client_page import page_client
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same, numbered_texts
from tests.clients.relay import Relay

NEVER_BLANK = [text for text in TEXTS if text.strip()]


def embedding_of(url: str, **more: Any) -> NVIDIAEmbedding:
    return NVIDIAEmbedding(model=MODEL, base_url=f"{url}/v1", api_key="unused", **more)


def test_the_pages_line_is_enough(plain: Plain) -> None:
    embedding = page_client("llama-index-embeddings-nvidia", plain.url, NVIDIAEmbedding=NVIDIAEmbedding)
    assert_same(embedding.get_text_embedding_batch(NEVER_BLANK), plain.vectors({"input": NEVER_BLANK}))


def test_a_query_is_a_passage_unless_it_is_asked_for_asynchronously(relay: Relay, plain: Plain) -> None:
    """As their source has it: the synchronous way sends `passage` for a query too."""
    embedding = embedding_of(relay.url)
    assert_same([embedding.get_query_embedding("a red circle")], plain.vectors({"input": "a red circle"}))
    query = asyncio.run(embedding.aget_query_embedding("a red circle"))
    assert_same([query], plain.vectors({"input": "a red circle", "instruction": QUERY}))
    assert relay.inputs("input_type") == ["passage", "query"]
    assert relay.inputs("truncate") == ["NONE", "NONE"]


def test_without_a_name_the_first_model_listed_is_taken(plain: Plain) -> None:
    with pytest.warns(UserWarning, match=MODEL):
        embedding = NVIDIAEmbedding(base_url=f"{plain.url}/v1", api_key="unused")
    assert_same(embedding.get_text_embedding_batch(NEVER_BLANK), plain.vectors({"input": NEVER_BLANK}))


def test_dimensions_shorten_the_vector_and_batches_keep_their_order(plain: Plain) -> None:
    texts = numbered_texts(30)
    got = embedding_of(plain.url, dimensions=64, truncate="END").get_text_embedding_batch(texts)
    assert_same(got, plain.vectors({"input": texts, "dimensions": 64}))


def test_a_refusal_is_openais_class_with_our_words(plain: Plain) -> None:
    with pytest.raises(openai.BadRequestError, match="dimensions"):
        embedding_of(plain.url, dimensions=4096).get_text_embedding("a red circle")


def test_a_full_queue_is_waited_for(relay: Relay, plain: Plain) -> None:
    relay.num_busy = 2
    assert_same([embedding_of(relay.url).get_text_embedding("x")], plain.vectors({"input": "x"}))
    assert len(relay.sent) == 3
