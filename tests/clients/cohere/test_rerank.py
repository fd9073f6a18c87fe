"""Cohere's `rerank`, by both of its clients: only the base URL is set."""

import asyncio
from typing import Any

import cohere
import pytest
from cohere.errors import BadRequestError

from tests.clients.plain import MODEL, Plain, ranks
from tests.clients.relay import Relay

QUERY = "a red circle"
DOCUMENTS = ["two green triangles", "a red circle beside a square", "", "a blue star"]


def assert_ranked(answer: Any, want: dict[int, float]) -> None:
    got = {one.index: one.relevance_score for one in answer.results}
    assert list(got) == list(want)
    assert got == pytest.approx(want, abs=1e-6)


def test_v2_gets_documents_in_the_servers_order(relay: Relay, plain: Plain) -> None:
    client = cohere.ClientV2(base_url=relay.url, api_key="unused")
    answer = client.rerank(model=MODEL, query=QUERY, documents=DOCUMENTS, top_n=3, max_tokens_per_doc=64, priority=1)
    assert_ranked(answer, dict(list(ranks(plain, QUERY, DOCUMENTS).items())[:3]))
    assert answer.meta is not None
    assert answer.meta.api_version is not None
    assert answer.meta.billed_units is not None
    assert answer.meta.tokens is not None
    assert (answer.meta.api_version.version, answer.meta.billed_units.search_units) == ("2", 1)
    assert answer.meta.tokens.input_tokens
    assert [sent.path for sent in relay.sent] == ["/v2/rerank"]


def test_v1_gets_the_same_with_documents(relay: Relay, plain: Plain) -> None:
    client = cohere.Client(base_url=relay.url, api_key="unused")
    documents: list[Any] = [{"text": text} for text in DOCUMENTS]
    how: Any = {"rank_fields": ["text"], "return_documents": True, "max_chunks_per_doc": 10}
    answer = client.rerank(model=MODEL, query=QUERY, documents=documents, **how)
    assert_ranked(answer, ranks(plain, QUERY, DOCUMENTS))
    assert [one.document.text for one in answer.results if one.document] == [
        DOCUMENTS[one.index] for one in answer.results
    ]
    assert [sent.path for sent in relay.sent] == ["/v1/rerank"]


def test_the_async_client_gets_the_same(plain: Plain) -> None:
    async def ask() -> Any:
        async with cohere.AsyncClientV2(base_url=plain.url, api_key="unused") as client:
            return await client.rerank(model=MODEL, query=QUERY, documents=DOCUMENTS)

    assert_ranked(asyncio.run(ask()), ranks(plain, QUERY, DOCUMENTS))


def test_a_refusal_names_the_document(plain: Plain) -> None:
    with pytest.raises(BadRequestError) as caught:
        cohere.ClientV2(base_url=plain.url, api_key="unused").rerank(model=MODEL, query=QUERY, documents=[])
    assert caught.value.body["message"].startswith("`documents`")
