"""Chroma's embedding functions: its own collection, filled and asked through OpenAI's and Cohere's clients."""

import chromadb
import pytest
from chromadb.config import Settings
from chromadb.utils.embedding_functions import CohereEmbeddingFunction, OpenAIEmbeddingFunction

from tests.clients.client_page import page_client
from tests.clients.plain import LONG_TEXTS, MINILM, MODEL, TEXTS, Plain, assert_cut, assert_same, numbered_texts
from tests.clients.relay import Relay


def openai_function(url: str) -> OpenAIEmbeddingFunction:
    return OpenAIEmbeddingFunction(model_name=MODEL, api_base=f"{url}/v1", api_key="unused")


def test_the_pages_line_is_enough(plain: Plain) -> None:
    embed = page_client("chromadb", plain.url, OpenAIEmbeddingFunction=OpenAIEmbeddingFunction)
    assert_same([list(vector) for vector in embed(TEXTS)], plain.vectors({"input": TEXTS}))


def test_coheres_function_takes_its_address_from_the_environment(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_API_URL", plain.url)
    embed = CohereEmbeddingFunction(api_key="unused", model_name=MODEL)
    assert_same([list(vector) for vector in embed(TEXTS)], plain.vectors({"input": TEXTS}))


def test_a_collection_finds_each_text_nearest_to_itself(plain: Plain) -> None:
    store = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    collection = store.create_collection("texts", embedding_function=openai_function(plain.url))
    texts = numbered_texts(30)
    collection.add(ids=[str(i) for i in range(len(texts))], documents=texts)
    found = collection.query(query_texts=texts, n_results=1)
    assert [ids[0] for ids in found["ids"]] == [str(i) for i in range(len(texts))]
    assert max(distances[0] for distances in found["distances"]) < 1e-5


def test_texts_over_the_limit_are_added_where_the_server_cuts_them(texts: Plain) -> None:
    embed = OpenAIEmbeddingFunction(model_name=MINILM, api_base=f"{texts.url}/v1", api_key="unused")
    collection = chromadb.EphemeralClient(Settings(anonymized_telemetry=False)).create_collection(
        "long", embedding_function=embed
    )
    ids = [str(i) for i in range(len(LONG_TEXTS))]
    collection.add(ids=ids, documents=LONG_TEXTS)
    assert_cut(collection.get(ids=ids, include=["embeddings"])["embeddings"], texts)


def test_a_full_queue_is_waited_for(relay: Relay, plain: Plain) -> None:
    relay.num_busy = 1
    got = openai_function(relay.url)(["a red circle"])
    assert_same([list(vector) for vector in got], plain.vectors({"input": "a red circle"}))
    assert len(relay.sent) == 2
