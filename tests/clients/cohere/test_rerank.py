"""Cohere's `rerank`, by both of its clients: only the base URL is set."""

import asyncio
from typing import Any

import cohere
import pytest
from cohere.errors import BadRequestError

from tests.clients.plain import CANDIDATES, LOOKED_FOR, MODEL, Plain, assert_ranked
from tests.clients.relay import Relay


def ranking(answer: Any) -> list[tuple[int, float]]:
    return [(one.index, one.relevance_score) for one in answer.results]


def test_v2_gets_documents_in_the_servers_order(relay: Relay, plain: Plain) -> None:
    client = cohere.ClientV2(base_url=relay.url, api_key="unused")
    how: Any = {"top_n": 3, "max_tokens_per_doc": 64, "priority": 1}
    answer = client.rerank(model=MODEL, query=LOOKED_FOR, documents=CANDIDATES, **how)
    assert_ranked(ranking(answer), plain, top_n=3)
    assert answer.meta is not None
    assert answer.meta.api_version is not None
    assert answer.meta.billed_units is not None
    assert answer.meta.tokens is not None
    assert (answer.meta.api_version.version, answer.meta.billed_units.search_units) == ("2", 1)
    assert answer.meta.tokens.input_tokens
    assert [sent.path for sent in relay.sent] == ["/v2/rerank"]


def test_v1_gets_the_same_with_documents(relay: Relay, plain: Plain) -> None:
    client = cohere.Client(base_url=relay.url, api_key="unused")
    documents: list[Any] = [{"text": text} for text in CANDIDATES]
    how: Any = {"rank_fields": ["text"], "return_documents": True, "max_chunks_per_doc": 10}
    answer = client.rerank(model=MODEL, query=LOOKED_FOR, documents=documents, **how)
    assert_ranked(ranking(answer), plain)
    assert [one.document.text for one in answer.results if one.document] == [
        CANDIDATES[one.index] for one in answer.results
    ]
    assert [sent.path for sent in relay.sent] == ["/v1/rerank"]


def test_the_async_client_gets_the_same(plain: Plain) -> None:
    async def ask() -> Any:
        async with cohere.AsyncClientV2(base_url=plain.url, api_key="unused") as client:
            return await client.rerank(model=MODEL, query=LOOKED_FOR, documents=CANDIDATES)

    assert_ranked(ranking(asyncio.run(ask())), plain)


def test_a_refusal_names_the_document(plain: Plain) -> None:
    with pytest.raises(BadRequestError) as caught:
        cohere.ClientV2(base_url=plain.url, api_key="unused").rerank(model=MODEL, query=LOOKED_FOR, documents=[])
    assert caught.value.body["message"].startswith("`documents`")
