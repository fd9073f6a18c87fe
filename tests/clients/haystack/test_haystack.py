"""Haystack's embedders for OpenAI: `api_base_url`, and any key."""

import asyncio
from typing import Any

import openai
import pytest
from haystack import Document, Pipeline
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.utils import Secret
from haystack_integrations.components.retrievers.qdrant import QdrantEmbeddingRetriever
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

from tests.clients.client_page import page_client
from tests.clients.plain import DIMENSIONS, MODEL, TEXTS, Plain, assert_same, numbered_texts
from tests.clients.relay import Relay


def settings(url: str, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "api_base_url": f"{url}/v1", "api_key": Secret.from_token("unused")} | more


def documents(texts: list[str]) -> list[Document]:
    return [Document(id=str(i), content=text) for i, text in enumerate(texts)]


def document_embedder(url: str, **more: Any) -> OpenAIDocumentEmbedder:
    return OpenAIDocumentEmbedder(**settings(url, progress_bar=False, **more))


def test_the_pages_line_is_enough(plain: Plain) -> None:
    names = {"OpenAIDocumentEmbedder": OpenAIDocumentEmbedder, "Secret": Secret}
    embedder = page_client("haystack-ai", plain.url, **names)
    answer = embedder.run(documents(TEXTS))
    assert_same([document.embedding for document in answer["documents"]], plain.vectors({"input": TEXTS}))


def test_documents_keep_their_order_and_those_without_content_their_place(relay: Relay, plain: Plain) -> None:
    answer = document_embedder(relay.url).run([*documents(TEXTS), Document(id="none")])
    want = plain.vectors({"input": [*TEXTS, ""]})
    assert_same([document.embedding for document in answer["documents"]], want)
    assert relay.inputs("encoding_format") == ["float"]
    assert relay.inputs("input") == [[*TEXTS, ""]]
    assert answer["meta"]["model"] == MODEL
    assert answer["meta"]["usage"]["total_tokens"] > 0


def test_a_text_is_embedded_with_its_prefix(relay: Relay, plain: Plain) -> None:
    answer = OpenAITextEmbedder(**settings(relay.url, prefix="find: ")).run("a red circle")
    assert_same([answer["embedding"]], plain.vectors({"input": "find: a red circle"}))
    assert relay.inputs("input") == ["find: a red circle"]


def test_many_documents_are_split_by_thirty_two(relay: Relay, plain: Plain) -> None:
    texts = numbered_texts(100)
    answer = document_embedder(relay.url).run(documents(texts))
    assert_same([document.embedding for document in answer["documents"]], plain.vectors({"input": texts}))
    assert [len(batch) for batch in relay.inputs("input")] == [32, 32, 32, 4]


def test_dimensions_shorten_the_vector(plain: Plain) -> None:
    answer = document_embedder(plain.url, dimensions=64).run(documents(TEXTS))
    want = plain.vectors({"input": TEXTS, "dimensions": 64})
    assert_same([document.embedding for document in answer["documents"]], want)


def test_the_async_way_gets_the_same(plain: Plain) -> None:
    answer = asyncio.run(document_embedder(plain.url, batch_size=2).run_async(documents(TEXTS)))
    assert_same([document.embedding for document in answer["documents"]], plain.vectors({"input": TEXTS}))


def test_a_refusal_is_openais_class_with_our_words(plain: Plain) -> None:
    embedder = document_embedder(plain.url, dimensions=4096, raise_on_failure=True)
    with pytest.raises(openai.BadRequestError) as caught:
        embedder.run(documents(TEXTS))
    assert caught.value.code == "invalid_dimensions"
    assert plain.message("/v1/embeddings", {"input": TEXTS, "dimensions": 4096}) in str(caught.value)


def test_a_full_queue_is_waited_for(relay: Relay, plain: Plain) -> None:
    relay.num_busy = 2
    answer = document_embedder(relay.url).run(documents(TEXTS))
    assert_same([document.embedding for document in answer["documents"]], plain.vectors({"input": TEXTS}))
    assert len(relay.sent) == 3


def test_a_pipeline_with_qdrant_finds_a_text_nearest_to_itself(plain: Plain) -> None:
    texts = numbered_texts(20)
    store = QdrantDocumentStore(":memory:", embedding_dim=DIMENSIONS, similarity="cosine", progress_bar=False)
    store.write_documents(document_embedder(plain.url).run([Document(content=text) for text in texts])["documents"])
    pipeline = Pipeline()
    pipeline.add_component("embedder", OpenAITextEmbedder(**settings(plain.url)))
    pipeline.add_component("retriever", QdrantEmbeddingRetriever(store, top_k=2))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    for text in texts:
        found = pipeline.run({"embedder": {"text": text}})["retriever"]["documents"]
        assert found[0].content == text
