"""Voyage's client: the base URL with `/v1`. It always sends `truncation`, and asks for base64 without saying so."""

import asyncio
from typing import Any, ClassVar

import pytest
import voyageai
from voyageai.error import ServiceUnavailableError, VoyageError

from tests.clients.contract import AsksAtOnce, Instructs
from tests.clients.plain import CANDIDATES, LOOKED_FOR, MODEL, TEXTS, Plain, assert_ranked, assert_same
from tests.clients.relay import Relay


def client_of(url: str, max_retries: int = 1) -> voyageai.Client:
    return voyageai.Client(api_key="unused", base_url=f"{url}/v1", max_retries=max_retries)


class TestVoyage(Instructs, AsksAtOnce):
    package, names = "voyageai", {"Client": voyageai.Client}
    sends: ClassVar = {"truncation": True, "output_dtype": None, "output_dimension": None, "encoding_format": "base64"}

    def made(self, url: str, **more: Any) -> voyageai.Client:
        return client_of(url, max_retries=4, **more)

    def vectors(self, client: voyageai.Client, texts: list[str]) -> Any:
        return client.embed(texts, model=MODEL).embeddings

    def query(self, client: voyageai.Client, text: str) -> Any:
        return client.embed([text], model=MODEL, input_type="query").embeddings[0]

    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        client = voyageai.AsyncClient(api_key="unused", base_url=f"{url}/v1", max_retries=1)
        return (await client.embed(texts, model=MODEL)).embeddings


def test_tokens_are_counted(plain: Plain) -> None:
    assert client_of(plain.url).embed(TEXTS, model=MODEL).total_tokens > 0


def test_a_document_has_the_models_own_instruction(plain: Plain) -> None:
    answer = client_of(plain.url).embed(TEXTS, model=MODEL, input_type="document")
    assert_same(answer.embeddings, plain.vectors({"input": TEXTS}))


@pytest.mark.parametrize(("field", "value"), [("output_dimension", 64), ("output_dtype", "int8")])
def test_what_would_change_the_numbers_is_refused_and_named(field: str, value: object, plain: Plain) -> None:
    with pytest.raises(VoyageError, match=field):
        client_of(plain.url).embed(TEXTS, model=MODEL, **{field: value})


def test_a_queue_that_stays_full_is_the_clients_own_class(relay: Relay) -> None:
    relay.num_busy = 1
    with pytest.raises(ServiceUnavailableError):
        client_of(relay.url).embed(TEXTS, model=MODEL)


@pytest.mark.parametrize("top_k", [None, 2])
def test_rerank_gives_the_servers_order(top_k: int | None, relay: Relay, plain: Plain) -> None:
    answer = client_of(relay.url).rerank(LOOKED_FOR, CANDIDATES, model=MODEL, top_k=top_k)
    assert_ranked([(one.index, one.relevance_score) for one in answer.results], plain, top_k)
    assert [one.document for one in answer.results] == [CANDIDATES[one.index] for one in answer.results]
    assert answer.total_tokens > 0
    assert [sent.path for sent in relay.sent] == ["/v1/rerank"]


def test_the_async_rerank_gives_the_same(plain: Plain) -> None:
    client = voyageai.AsyncClient(api_key="unused", base_url=f"{plain.url}/v1", max_retries=1)
    answer = asyncio.run(client.rerank(LOOKED_FOR, CANDIDATES, model=MODEL, truncation=False))
    assert_ranked([(one.index, one.relevance_score) for one in answer.results], plain)
