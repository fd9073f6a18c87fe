"""Pydantic AI's embedder by its three providers that can be pointed here: OpenAI's, Cohere's and Voyage's."""

from collections.abc import Callable

import pytest
from cohere import AsyncClientV2
from pydantic_ai import Embedder
from pydantic_ai.embeddings.cohere import CohereEmbeddingModel
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.embeddings.voyageai import VoyageAIEmbeddingModel
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.providers.cohere import CohereProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.voyageai import VoyageAIProvider
from voyageai import AsyncClient

from tests.clients.client_page import page_client
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same


def by_openai(url: str, model: str = MODEL) -> Embedder:
    return Embedder(OpenAIEmbeddingModel(model, provider=OpenAIProvider(base_url=f"{url}/v1", api_key="unused")))


def by_cohere(url: str, model: str = MODEL) -> Embedder:
    client = AsyncClientV2(base_url=url, api_key="unused")
    return Embedder(CohereEmbeddingModel(model, provider=CohereProvider(cohere_client=client)))


def by_voyage(url: str, model: str = MODEL) -> Embedder:
    client = AsyncClient(base_url=f"{url}/v1", api_key="unused", max_retries=1)
    return Embedder(VoyageAIEmbeddingModel(model, provider=VoyageAIProvider(voyageai_client=client)))


each_provider = pytest.mark.parametrize("embedder_of", [by_openai, by_cohere, by_voyage])
Making = Callable[..., Embedder]


def test_the_pages_line_is_enough(plain: Plain) -> None:
    names = {"OpenAIEmbeddingModel": OpenAIEmbeddingModel, "OpenAIProvider": OpenAIProvider}
    embedder = Embedder(page_client("pydantic-ai", plain.url, **names))
    assert_same(embedder.embed_documents_sync(TEXTS).embeddings, plain.vectors({"input": TEXTS}))


@each_provider
def test_documents_keep_their_order_and_an_empty_one_its_place(embedder_of: Making, plain: Plain) -> None:
    answer = embedder_of(plain.url).embed_documents_sync(TEXTS)
    assert_same(answer.embeddings, plain.vectors({"input": TEXTS}))
    assert answer.usage.input_tokens > 0


@each_provider
def test_a_query_gets_the_models_instruction_where_the_provider_says_so(embedder_of: Making, plain: Plain) -> None:
    answer = embedder_of(plain.url).embed_query_sync("a red circle")
    more = {} if embedder_of is by_openai else {"instruction": QUERY}
    assert_same(answer.embeddings, plain.vectors({"input": "a red circle"} | more))


@each_provider
def test_a_refusal_is_its_own_class_with_our_words(embedder_of: Making, plain: Plain) -> None:
    with pytest.raises(ModelHTTPError, match="not served here") as caught:
        embedder_of(plain.url, model="none").embed_query_sync("x")
    assert caught.value.status_code == 404


def test_dimensions_shorten_the_vector(plain: Plain) -> None:
    answer = by_openai(plain.url).embed_documents_sync(TEXTS, settings={"dimensions": 64})
    assert_same(answer.embeddings, plain.vectors({"input": TEXTS, "dimensions": 64}))
