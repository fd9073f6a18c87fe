"""Haystack's embedders for OpenAI: `api_base_url`, and any key."""

from typing import Any, ClassVar

import openai
from haystack import Document, Pipeline
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.utils import Secret
from haystack_integrations.components.retrievers.qdrant import QdrantEmbeddingRetriever
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

from tests.clients.contract import AsksAtOnce, ShortensVectors, SplitsTexts
from tests.clients.plain import DIMENSIONS, MODEL, TEXTS, Plain, assert_same, numbered_texts
from tests.clients.relay import Relay


def settings(url: str, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "api_base_url": f"{url}/v1", "api_key": Secret.from_token("unused")} | more


def documents(texts: list[str]) -> list[Document]:
    return [Document(id=str(i), content=text) for i, text in enumerate(texts)]


def document_embedder(url: str, **more: Any) -> OpenAIDocumentEmbedder:
    return OpenAIDocumentEmbedder(**settings(url, progress_bar=False, **more))


class TestDocumentEmbedder(SplitsTexts, ShortensVectors, AsksAtOnce):
    package, names = "haystack-ai", {"OpenAIDocumentEmbedder": OpenAIDocumentEmbedder, "Secret": Secret}
    sends: ClassVar = {"encoding_format": "float"}
    batches = (32, 32, 32, 4)
    refusal, refused = openai.BadRequestError, {"raise_on_failure": True}

    def made(self, url: str, **more: Any) -> OpenAIDocumentEmbedder:
        return document_embedder(url, **more)

    def vectors(self, client: OpenAIDocumentEmbedder, texts: list[str]) -> Any:
        return [document.embedding for document in client.run(documents(texts))["documents"]]

    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        answer = await document_embedder(url, batch_size=50).run_async(documents(texts))
        return [document.embedding for document in answer["documents"]]


def test_a_document_without_content_keeps_its_place(plain: Plain) -> None:
    answer = document_embedder(plain.url).run([*documents(TEXTS), Document(id="none")])
    assert_same([document.embedding for document in answer["documents"]], plain.vectors({"input": [*TEXTS, ""]}))
    assert answer["meta"]["model"] == MODEL
    assert answer["meta"]["usage"]["total_tokens"] > 0


def test_a_text_is_embedded_with_its_prefix(relay: Relay, plain: Plain) -> None:
    answer = OpenAITextEmbedder(**settings(relay.url, prefix="find: ")).run("a red circle")
    assert_same([answer["embedding"]], plain.vectors({"input": "find: a red circle"}))
    assert relay.inputs("input") == ["find: a red circle"]


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
