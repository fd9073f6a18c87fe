"""LangChain's `CohereEmbeddings`: only the base URL. It asks `/v1/embed` through Cohere's first client."""

from typing import Any

import pytest
from cohere.errors import BadRequestError, NotFoundError
from langchain_cohere import CohereEmbeddings
from langchain_core.vectorstores import InMemoryVectorStore

from tests.clients.contract import AsksAtOnce, Instructs, SplitsTexts
from tests.clients.plain import MODEL, TEXTS, Plain, numbered_texts


def embeddings(url: str, **settings: Any) -> CohereEmbeddings:
    return CohereEmbeddings(**({"model": MODEL, "base_url": url, "cohere_api_key": "unused"} | settings))


class TestCohereEmbeddings(SplitsTexts, Instructs, AsksAtOnce):
    package, names = "langchain-cohere", {"CohereEmbeddings": CohereEmbeddings}
    field, sends = "texts", {"embedding_types": ["float"], "input_type": "search_document", "truncate": None}
    batches = (96, 96, 8)
    num_busy = 1

    def made(self, url: str, **more: Any) -> CohereEmbeddings:
        return embeddings(url, **more)

    def vectors(self, client: CohereEmbeddings, texts: list[str]) -> Any:
        return client.embed_documents(texts)

    def query(self, client: CohereEmbeddings, text: str) -> Any:
        return client.embed_query(text)

    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        return await embeddings(url).aembed_documents(texts)


def test_refusals_are_coheres_classes_with_our_words(plain: Plain) -> None:
    """It repeats refusals too, four seconds apart, unless told not to."""
    with pytest.raises(NotFoundError) as missing:
        embeddings(plain.url, model="embed-english-v3.0", max_retries=1).embed_documents(TEXTS)
    assert missing.value.body["error"]["code"] == "model_not_found"
    with pytest.raises(BadRequestError) as bad:
        embeddings(plain.url, embedding_types=["float16"], max_retries=1).embed_documents(TEXTS)
    assert bad.value.body["error"]["param"] == "embedding_types[0]"
    assert bad.value.body["message"] == bad.value.body["error"]["message"]


def test_a_store_behind_it_finds_a_document_nearest_to_itself(plain: Plain) -> None:
    """Asked with a document's vector: `embed_query` gives another one, for it is made under another instruction."""
    texts = numbered_texts(20)
    model = embeddings(plain.url)
    store = InMemoryVectorStore.from_texts(texts, model)
    for text in texts:
        (found,) = store.similarity_search_by_vector(model.embed_documents([text])[0], k=1)
        assert found.page_content == text
