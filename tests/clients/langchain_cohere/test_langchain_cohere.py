"""LangChain's `CohereEmbeddings`: only the base URL. It asks `/v1/embed` through Cohere's first client."""

import asyncio
from typing import Any

import pytest
from cohere.errors import BadRequestError, NotFoundError
from langchain_cohere import CohereEmbeddings
from langchain_core.vectorstores import InMemoryVectorStore

from tests.clients.client_page import page_client
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same, numbered_texts
from tests.clients.relay import Relay


def embeddings(url: str, **settings: Any) -> CohereEmbeddings:
    return CohereEmbeddings(**({"model": MODEL, "base_url": url, "cohere_api_key": "unused"} | settings))


def test_the_pages_line_is_enough(plain: Plain) -> None:
    model = page_client("langchain-cohere", plain.url, CohereEmbeddings=CohereEmbeddings)
    assert_same(model.embed_documents(TEXTS), plain.vectors({"input": TEXTS}))


def test_documents_keep_their_order_and_an_empty_one_its_place(relay: Relay, plain: Plain) -> None:
    assert_same(embeddings(relay.url).embed_documents(TEXTS), plain.vectors({"input": TEXTS}))
    assert [sent.path for sent in relay.sent] == ["/v1/embed"]
    assert relay.inputs("embedding_types") == [["float"]]
    assert relay.inputs("input_type") == ["search_document"]
    assert relay.inputs("truncate") == [None]


def test_a_query_gets_its_instruction(plain: Plain) -> None:
    want = plain.vectors({"input": "a red circle", "instruction": QUERY})
    assert_same([embeddings(plain.url).embed_query("a red circle")], want)


def test_many_documents_are_split_and_come_back_in_order(relay: Relay, plain: Plain) -> None:
    texts = numbered_texts(200)
    assert_same(embeddings(relay.url).embed_documents(texts), plain.vectors({"input": texts}))
    assert sorted(len(batch) for batch in relay.inputs("texts")) == [8, 96, 96]


def test_the_async_client_gets_the_same(plain: Plain) -> None:
    texts = numbered_texts(100)
    assert_same(asyncio.run(embeddings(plain.url).aembed_documents(texts)), plain.vectors({"input": texts}))


def test_refusals_are_coheres_classes_with_our_words(plain: Plain) -> None:
    """It repeats refusals too, four seconds apart, unless told not to."""
    with pytest.raises(NotFoundError) as missing:
        embeddings(plain.url, model="embed-english-v3.0", max_retries=1).embed_documents(TEXTS)
    assert missing.value.body["error"]["code"] == "model_not_found"
    with pytest.raises(BadRequestError) as bad:
        embeddings(plain.url, embedding_types=["float16"], max_retries=1).embed_documents(TEXTS)
    assert bad.value.body["error"]["param"] == "embedding_types[0]"
    assert bad.value.body["message"] == bad.value.body["error"]["message"]


def test_a_full_queue_is_waited_for(relay: Relay, plain: Plain) -> None:
    relay.num_busy = 1
    assert_same(embeddings(relay.url).embed_documents(TEXTS), plain.vectors({"input": TEXTS}))
    assert len(relay.sent) == 2


def test_a_store_behind_it_finds_a_document_nearest_to_itself(plain: Plain) -> None:
    """Asked with a document's vector: `embed_query` gives another one, for it is made under another instruction."""
    texts = numbered_texts(20)
    model = embeddings(plain.url)
    store = InMemoryVectorStore.from_texts(texts, model)
    for text in texts:
        (found,) = store.similarity_search_by_vector(model.embed_documents([text])[0], k=1)
        assert found.page_content == text
