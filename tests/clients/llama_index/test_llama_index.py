"""LlamaIndex's `OpenAILikeEmbedding`: `model_name` and `api_base`."""

from typing import Any, ClassVar

import openai
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from tests.clients.contract import AsksAtOnce, ShortensVectors, SplitsTexts
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same, numbered_texts
from tests.clients.relay import Relay


def embedding(url: str, **settings: object) -> OpenAILikeEmbedding:
    return OpenAILikeEmbedding(model_name=MODEL, api_base=f"{url}/v1", api_key="unused", **settings)


class TestOpenAILike(SplitsTexts, ShortensVectors, AsksAtOnce):
    package, names = "llama-index-embeddings-openai-like", {"OpenAILikeEmbedding": OpenAILikeEmbedding}
    sends: ClassVar = {"encoding_format": "base64"}
    batches = (10, 10, 5)
    refusal = openai.BadRequestError

    def made(self, url: str, **more: Any) -> OpenAILikeEmbedding:
        return embedding(url, **more)

    def vectors(self, client: OpenAILikeEmbedding, texts: list[str]) -> Any:
        return client.get_text_embedding_batch(texts)

    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        return await embedding(url).aget_text_embedding_batch(texts)


def test_a_query_is_a_list_of_one_on_one_line(relay: Relay, plain: Plain) -> None:
    assert_same([embedding(relay.url).get_query_embedding("red\ncircle")], plain.vectors({"input": "red circle"}))
    assert relay.inputs("input") == [["red circle"]]


def test_an_instruction_goes_in_beside_dimensions(plain: Plain) -> None:
    model = embedding(plain.url, dimensions=64, additional_kwargs={"extra_body": {"instruction": QUERY}})
    want = plain.vectors({"input": TEXTS, "dimensions": 64, "instruction": QUERY})
    assert_same(model.get_text_embedding_batch(TEXTS), want)


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
