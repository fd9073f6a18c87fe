"""LlamaIndex's `OpenAILikeEmbedding`: `model_name` and `api_base`."""

import asyncio

import openai
import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from tests.clients.client_page import page_client
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same, numbered_texts
from tests.clients.relay import Relay


def embedding(url: str, **settings: object) -> OpenAILikeEmbedding:
    return OpenAILikeEmbedding(model_name=MODEL, api_base=f"{url}/v1", api_key="unused", **settings)


def test_the_pages_line_is_enough(plain: Plain) -> None:
    names = {"OpenAILikeEmbedding": OpenAILikeEmbedding}
    model = page_client("llama-index-embeddings-openai-like", plain.url, **names)
    assert_same(model.get_text_embedding_batch(TEXTS), plain.vectors({"input": TEXTS}))


def test_texts_keep_their_order_and_an_empty_one_its_place(relay: Relay, plain: Plain) -> None:
    assert_same(embedding(relay.url).get_text_embedding_batch(TEXTS), plain.vectors({"input": TEXTS}))
    assert relay.inputs("input") == [TEXTS]
    assert relay.inputs("encoding_format") == ["base64"]


def test_a_query_is_a_list_of_one_on_one_line(relay: Relay, plain: Plain) -> None:
    assert_same([embedding(relay.url).get_query_embedding("red\ncircle")], plain.vectors({"input": "red circle"}))
    assert relay.inputs("input") == [["red circle"]]


def test_many_texts_are_split_by_ten_and_come_back_in_order(relay: Relay, plain: Plain) -> None:
    texts = numbered_texts(25)
    assert_same(embedding(relay.url).get_text_embedding_batch(texts), plain.vectors({"input": texts}))
    assert [len(batch) for batch in relay.inputs("input")] == [10, 10, 5]


def test_dimensions_and_an_instruction_go_in(plain: Plain) -> None:
    model = embedding(plain.url, dimensions=64, additional_kwargs={"extra_body": {"instruction": QUERY}})
    want = plain.vectors({"input": TEXTS, "dimensions": 64, "instruction": QUERY})
    assert_same(model.get_text_embedding_batch(TEXTS), want)


def test_the_async_client_gets_the_same(plain: Plain) -> None:
    texts = numbered_texts(25)
    got = asyncio.run(embedding(plain.url).aget_text_embedding_batch(texts))
    assert_same(got, plain.vectors({"input": texts}))


def test_a_refusal_is_openais_class_and_is_not_repeated(relay: Relay, plain: Plain) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        embedding(relay.url, dimensions=4096).get_text_embedding_batch(TEXTS)
    assert caught.value.code == "invalid_dimensions"
    assert plain.message("/v1/embeddings", {"input": TEXTS, "dimensions": 4096}) in str(caught.value)
    assert len(relay.sent) == 1


def test_a_full_queue_is_waited_for(relay: Relay, plain: Plain) -> None:
    relay.num_busy = 2
    assert_same(embedding(relay.url).get_text_embedding_batch(TEXTS), plain.vectors({"input": TEXTS}))
    assert len(relay.sent) == 3


def test_qdrant_behind_it_finds_a_text_nearest_to_itself(plain: Plain) -> None:
    texts = numbered_texts(20)
    store = QdrantVectorStore("texts", client=QdrantClient(":memory:"))
    index = VectorStoreIndex(
        [TextNode(text=text) for text in texts],
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=embedding(plain.url),
    )
    retriever = index.as_retriever(similarity_top_k=2)
    for text in texts:
        first, _ = retriever.retrieve(text)
        assert (first.text, first.score > 0.9999) == (text, True)
